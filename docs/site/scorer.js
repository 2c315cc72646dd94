// Ranks what a search finds: pages that are named so come first, pages that list everything and notes for
// developers last.
const KINDS = [
  [/^decisions\//, -100],
  [/^(command-line|library|http|results|performance|architecture|contributing|changelog|release-notes|decisions)$/, -20],
  [/^(start|decide|teach|thresholds|check|testing-decisions|audit|loop|serve|client|running|mcp|scale|checkpoints|models|measuring)$/, 10],
];
const EXACT = 15;
const stems = (text) => {
  const stemmer = new Stemmer();
  return splitQuery(text.toLowerCase()).map((word) => stemmer.stemWord(word));
};
var Scorer = {
  score: ([page, title, , , found, , kind]) => {
    if (kind !== "text" && found >= EXACT) return found + 30;
    const known = found + (KINDS.find(([pages]) => pages.test(page))?.[1] ?? 0);
    if (kind !== "text") return known;
    const words = stems(title);
    const names = [...words, ...stems(page)];
    const wanted = stems(new URLSearchParams(location.search).get("q"));
    return wanted.every((word) => names.includes(word)) ? known + 40 + 10 / words.length : known;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: EXACT,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
