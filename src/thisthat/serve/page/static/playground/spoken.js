// The answers in words, for people who do not see the bars: once typing has paused.

import { announceLater } from "../announcer.js";
import { branchOf, percent } from "./answers.js";
import { rowNames } from "./play.js";

const WAIT = 900;

/**
 * Say the answers of (question, answer) pairs after a pause.
 * @param {[import("./play.js").Question, import("./answers.js").Reading][]} pairs
 */
export function announceAnswers(pairs) {
  announceLater(() => pairs.map(([question, answer]) => spoken(question, answer)).join(" "), WAIT);
}

function spoken(question, answer) {
  const branch = branchOf(question, answer);
  const best = `${rowNames(question)[answer.best]} ${percent(answer.probabilities[answer.best])}`;
  return `${question.name}: ${best}, goes to ${branch.taken ? branch.then : branch.otherwise}.`;
}
