// Says answers to people who do not see the bars: once typing has paused, and never twice.

import { branchOf, percent } from "./answers.js";
import { byId } from "./elements.js";
import { rowNames } from "./play.js";

const WAIT = 900;

let timer = null;

/** Say a text at once. */
export function announce(text) {
  clearTimeout(timer);
  byId("announcer").textContent = text;
}

/** Say the answers of (question, answer) pairs after a pause. */
export function announceAnswers(pairs) {
  clearTimeout(timer);
  timer = setTimeout(() => announce(pairs.map(([question, answer]) => spoken(question, answer)).join(" ")), WAIT);
}

function spoken(question, answer) {
  const branch = branchOf(question, answer);
  const best = `${rowNames(question)[answer.best]} ${percent(answer.probabilities[answer.best])}`;
  return `${question.name}: ${best}, goes to ${branch.taken ? branch.then : branch.otherwise}.`;
}
