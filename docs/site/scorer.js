// Ranks what a search finds: pages that are named so or looked for so come first, then pages that use the words
// most; pages that list everything and notes for developers come last. `words.js` has PAGES, USES and KEYWORDS.
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
    const names = [...words, ...stems(page), ...stems(KEYWORDS[page] ?? "")];
    const wanted = stems(new URLSearchParams(location.search).get("q"));
    const used = wanted.reduce((sum, word) => sum + (USES[word]?.[PAGES.indexOf(page)] ?? 0), 0) / wanted.length;
    return known + used + (wanted.every((word) => names.includes(word)) ? 40 + 10 / words.length : 0);
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
