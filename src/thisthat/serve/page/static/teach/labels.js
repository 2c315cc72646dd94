// Labelled rows, written as the one label format. Plain data.

import { ordered, raw, write } from "../playground/json_text.js";
import { labelNames } from "../playground/play.js";

/**
 * A row: its state as JSON text, and by question name what a label calls the right option.
 * `suggested` is what the checkpoint says now: the answer and how sure it is.
 * @typedef {Object} Row
 * @property {string | null} id
 * @property {string} state
 * @property {Record<string, string>} answers
 * @property {Record<string, {answer: string, probability: number}>} [suggested]
 */

/** The labels of a row that questions of the page have, as JSON. */
function answersOf(given, questions) {
  const pairs = questions.flatMap((question) => {
    const label = given.answers[question.name];
    if (label === undefined || !labelNames(question).includes(label)) return [];
    if (question.kind === "boolean") return [[question.name, label === "yes"]];
    return [[question.name, question.kind === "score" ? Number(label) : label]];
  });
  return ordered(pairs);
}

/** Whether a row has a label that fits, for every question or for any. */
export function isLabelled(given, questions, every = false) {
  const fits = (question) => labelNames(question).includes(given.answers[question.name]);
  return every ? questions.every(fits) : questions.some(fits);
}

/** A row of the label format. */
export function rowValue(given, questions) {
  const id = given.id === null ? [] : [["id", given.id]];
  return ordered([...id, ["state", raw(given.state)], ["answers", answersOf(given, questions)]]);
}

/** Rows as lines of the label format. */
export function linesOf(rows, questions) {
  return rows.map((each) => `${write(rowValue(each, questions))}\n`).join("");
}

/** A row's state for people. */
export function shownState(given) {
  const value = JSON.parse(given.state);
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
