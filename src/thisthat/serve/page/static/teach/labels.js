// Labelled rows: read from pasted text, written as the one label format. Plain data.

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

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
const WRITTEN = { true: "yes", false: "no" };

/**
 * The rows in a text: lines of labels or of states, or a table with a column "state".
 * Throws an Error that names the line.
 * @param {string} text
 * @returns {Row[]}
 */
export function rowsIn(text) {
  const [first = ""] = text.trimStart().split(/\r?\n/, 1);
  if (cells(first)[0]?.includes("state")) return tableRows(text);
  return text.split(/\r?\n/).flatMap((line, index) => (line.trim() ? [lineRow(line.trim(), index + 1)] : []));
}

function lineRow(line, number) {
  if (!/^["[{]/.test(line)) return row(JSON.stringify(line));
  let value;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new Error(`Line ${number} is not JSON: ${error.message}`);
  }
  const labelled = typeof value === "object" && !Array.isArray(value) && "state" in value && "answers" in value;
  if (!labelled) return row(line);
  if (typeof value.answers !== "object" || value.answers === null) throw new Error(`Line ${number}: answers is not an object.`);
  const answers = Object.entries(value.answers).filter(([, label]) => label !== null);
  return row(memberText(line, "state"), Object.fromEntries(answers.map(([name, label]) => [name, labelText(label)])), value.id ?? null);
}

function row(state, answers = {}, id = null) {
  return { id: id === null ? null : String(id), state, answers };
}

function labelText(label) {
  return WRITTEN[String(label)] ?? String(label);
}

/** The text of a member of a JSON object, as it is written there. */
export function memberText(text, key) {
  let depth = 0;
  let start = null;
  let named = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (start !== null && depth === 1 && (token === "," || token === "}")) return text.slice(start, index).trim();
    if (depth === 1 && token === ":" && named) start = index + 1;
    if (start === null && depth === 1) named = token === ":" ? named : token === JSON.stringify(key);
    if ("{[".includes(token)) depth += 1;
    if ("}]".includes(token)) depth -= 1;
  }
  throw new Error(`there is no ${key}`);
}

function tableRows(text) {
  const [head, ...lines] = cells(text);
  const at = head.indexOf("state");
  return lines.map((line, index) => {
    if (line.length !== head.length) throw new Error(`Row ${index + 1} of the table has ${line.length} cells, not ${head.length}.`);
    if (!line[at].trim()) throw new Error(`Row ${index + 1} of the table has a blank state: fill it in or remove the row.`);
    const labels = head.map((name, column) => [name, line[column]])
      .filter(([name, label]) => !["id", "state"].includes(name) && label !== "");
    const id = head.includes("id") ? line[head.indexOf("id")] : null;
    return row(JSON.stringify(line[at]), Object.fromEntries(labels.map(([name, label]) => [name, labelText(label.toLowerCase() in WRITTEN ? label.toLowerCase() : label)])), id);
  });
}

/** The cells of comma-separated lines, quoted where they hold commas, quotes or line breaks. */
function cells(text) {
  const rows = [[]];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quoted && letter === '"' && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (letter === '"' && (quoted || cell === "")) {
      quoted = !quoted;
    } else if (!quoted && (letter === "," || letter === "\n")) {
      rows.at(-1).push(cell.replace(/\r$/, ""));
      cell = "";
      if (letter === "\n") rows.push([]);
    } else {
      cell += letter;
    }
  }
  rows.at(-1).push(cell.replace(/\r$/, ""));
  return rows.filter((each) => each.length > 1 || each[0] !== "");
}

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
