// What an answer says, whichever kind it is, and which way its branch goes. Plain data.

import { labelNames } from "./play.js";

/**
 * Probabilities in the order of the card's rows, the best row, and a score's mean level.
 * @typedef {{probabilities: number[], best: number, expected: number | null}} Reading
 */

/**
 * An answer of /v1/systemone.
 * @param {import("./play.js").Question} question
 * @returns {Reading}
 */
export function readAnswer(question, sent) {
  if (question.kind === "boolean") {
    return reading([sent.noul, 1 - sent.noul]);
  }
  return reading(labelNames(question).map((key) => sent.probabilities[key]), sent.score);
}

/**
 * An answer of /v1/decide.
 * @param {import("./play.js").Question} question
 * @returns {Reading}
 */
export function readDecided(question, { probabilities }) {
  const shares = labelNames(question).map((key) => probabilities[key]);
  const expected = shares.reduce((sum, share, level) => sum + share * level, 0);
  return reading(shares, question.kind === "score" ? expected : null);
}

function reading(probabilities, expected = null) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  return { probabilities, best, expected };
}

/**
 * The if-statement under a card: its condition, both ways out, and which of them is taken.
 * @param {import("./play.js").Question} question
 * @param {Reading | null} answer
 */
export function branchOf(question, answer) {
  const name = question.name || "it";
  const at = thresholdText(question);
  if (question.kind === "boolean") {
    return fork(`${name} > ${at}`, "yes", "no", answer?.probabilities[0] > question.threshold);
  }
  if (question.kind === "score") {
    return fork(`${name}.expected > ${at}`, "above", "below", answer?.expected > question.threshold);
  }
  const best = answer ? question.options[answer.best].name : "the best one";
  const taken = answer?.probabilities[answer.best] > question.threshold;
  return fork(`max(${name}) > ${at}`, best, "ask a person", taken);
}

function fork(condition, then, otherwise, taken) {
  return { condition, then, otherwise, taken };
}

/** The highest threshold that makes sense: a probability's, or the last level's. */
export function mostThreshold(question) {
  return question.kind === "score" ? Math.max(question.levels.length - 1, 1) : 1;
}

/** The threshold as people and programs write it. */
export function thresholdText(question) {
  return question.threshold.toFixed(2);
}

/** A probability for people: "83 %", never a false 0 or 100. */
export function percent(probability) {
  const rounded = Math.round(probability * 100);
  if (rounded === 0 && probability > 0) return "< 1 %";
  if (rounded === 100 && probability < 1) return "> 99 %";
  return `${rounded} %`;
}
