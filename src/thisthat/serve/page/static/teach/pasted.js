// Labelled rows from pasted text: lines of labels or of states, or a table. A wrong row is never left
// out in silence: nothing is taken, and every fault is told with its place. Plain data.

import { labelNames } from "../playground/play.js";

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/g;
const KEYS = ["id", "state", "answers"];
const BOOLEANS = { true: "yes", false: "no", yes: "yes", no: "no" };
const HEAD = /^[\p{L}\p{N}_-]+(\s*,\s*[\p{L}\p{N}_-]+)+$/u;
const OTHER_HEAD = /^[\p{L}\p{N}_-]+(\s*[;\t]\s*[\p{L}\p{N}_-]+)+$/u;
const MOST_TOLD = 10;

/** Rows that cannot be taken; the message has a line for each fault. */
export class WrongRows extends Error {
  constructor(faults) {
    const told = faults.slice(0, MOST_TOLD);
    const left = faults.length - told.length;
    super(["Nothing is added.", ...told, ...(left ? [`And ${left} more.`] : [])].join("\n"));
  }
}

/**
 * The rows in a text. Throws WrongRows.
 * @param {string} text
 * @param {import("../playground/play.js").Question[]} questions
 * @param {string[]} taken ids that other rows have
 * @returns {import("./labels.js").Row[]}
 */
export function rowsIn(text, questions, taken) {
  const faults = [];
  const found = read(text.replace(/^\uFEFF/, ""), questions, faults);
  const ids = new Set(taken);
  const rows = found.flatMap(({ place, id, state, answers }) => {
    const wrong = (field, message) => faults.push(`${place}${field}: ${message}`);
    if (id !== null && ids.has(id)) wrong(", id", `${quoted(id)} is another row's already`);
    if (id !== null) ids.add(id);
    const labels = labelsOf(answers, questions, wrong);
    return [{ id, state, answers: labels }];
  });
  if (faults.length > 0) throw new WrongRows(faults);
  if (rows.length === 0) throw new WrongRows(["There are no rows."]);
  return rows;
}

function read(text, questions, faults) {
  const [first = ""] = text.trimStart().split(/\r?\n/, 1);
  const json = /^\s*["[{]/.test(first) && !first.startsWith('"state"');
  if (!json && (cells(first)[0]?.includes("state") || HEAD.test(first.trim()))) return table(text, questions, faults);
  if (OTHER_HEAD.test(first.trim())) {
    faults.push("Line 1: the cells of a table must be separated by commas");
    return [];
  }
  return text.split(/\r?\n/).flatMap((line, index) => {
    const place = `Line ${index + 1}`;
    if (!line.trim()) return [];
    return lineRow(line.trim(), place, (field, message) => faults.push(`${place}${field}: ${message}`));
  });
}

function lineRow(line, place, wrong) {
  const alone = (state) => [{ place, id: null, state, answers: {} }];
  if (!/^["[{]/.test(line)) return alone(JSON.stringify(line));
  let value;
  try {
    value = JSON.parse(line);
  } catch (error) {
    wrong("", `is not JSON: ${error.message}`);
    return [];
  }
  const keys = Array.isArray(value) || typeof value === "string" ? [] : Object.keys(value);
  if (!keys.includes("answers") && !keys.every((key) => KEYS.includes(key))) return alone(line);
  if (keys.length === 0) return alone(line);
  const unknown = keys.find((key) => !KEYS.includes(key));
  if (unknown !== undefined) wrong(`, ${unknown}`, "is not known; a row has answers, id, state");
  if (!keys.includes("state")) {
    wrong("", "has no state");
    return [];
  }
  const { id = null, state, answers = {} } = value;
  if (typeof state !== "string" && !isObject(state) && !Array.isArray(state)) {
    wrong(", state", `must be a text, an object or a list, not ${JSON.stringify(state)}`);
  }
  if (!isObject(answers)) {
    wrong(", answers", "must be an object of labels by question name");
    return [];
  }
  return [{ place, id: id === null ? null : String(id), state: memberText(line, "state"), answers }];
}

/** The text of a member of a JSON object, as it is written there. */
function memberText(text, key) {
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

function table(text, questions, faults) {
  const [names, ...lines] = cells(text);
  const head = names.map((name) => name.trim());
  const known = questions.map(({ name }) => name);
  if (!head.includes("state")) faults.push(`The table has no column “state”; its columns are ${head.join(", ")}`);
  head.forEach((column, at) => {
    if (head.indexOf(column) < at) faults.push(`The column ${quoted(column)} stands twice`);
    else if (![...known, "id", "state"].includes(column)) {
      faults.push(`The column ${quoted(column)} is not a question; known are ${known.join(", ")}`);
    }
  });
  if (faults.length > 0) return [];
  return lines.flatMap((line, index) => {
    const place = `Row ${index + 1} of the table`;
    if (line.length !== head.length) {
      faults.push(`${place}: has ${line.length} cells, not ${head.length}`);
      return [];
    }
    const pairs = head.map((name, column) => [name, line[column]]).filter(([name, cell]) => known.includes(name) && cell !== "");
    if (!line[head.indexOf("state")].trim()) faults.push(`${place}: has a blank state; fill it in or remove the row`);
    const id = line[head.indexOf("id")] || null;
    return [{ place, id, state: JSON.stringify(line[head.indexOf("state")]), answers: Object.fromEntries(pairs) }];
  });
}

/** The cells of comma-separated lines, quoted where they hold commas, quotes or line breaks. */
function cells(text) {
  const rows = [[]];
  let cell = "";
  let quote = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (quote && letter === '"' && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (letter === '"' && (quote || cell === "")) {
      quote = !quote;
    } else if (!quote && (letter === "," || letter === "\n")) {
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

function labelsOf(answers, questions, wrong) {
  const pairs = [];
  for (const [name, label] of Object.entries(answers)) {
    const question = questions.find((each) => each.name === name);
    if (question === undefined) {
      wrong(`, answers.${name}`, `is not a question; known are ${questions.map((each) => each.name).join(", ")}`);
    } else if (label !== null) {
      const found = labelOf(question, label);
      if (found === null) wrong(`, answers.${name}`, `${quoted(label)} is not an option; ${instead(question, label)}`);
      else pairs.push([name, found]);
    }
  }
  return Object.fromEntries(pairs);
}

/** What the page calls the option that a label means, or null. */
function labelOf(question, label) {
  if (question.kind === "boolean") {
    return typeof label === "boolean" || typeof label === "string" ? BOOLEANS[String(label).toLowerCase()] ?? null : null;
  }
  const names = labelNames(question);
  if (question.kind === "score" && typeof label === "number") return names[label] ?? null;
  if (typeof label !== "string") return null;
  if (question.kind === "choice") return names.includes(label) ? label : null;
  const worded = question.levels.indexOf(label);
  const named = names.indexOf(label);
  if (worded >= 0 && named >= 0 && worded !== named) return null;
  return names[Math.max(worded, named)] ?? null;
}

function instead(question, label) {
  if (question.kind === "boolean") return "write yes or no";
  const known = question.kind === "choice" ? labelNames(question) : [...labelNames(question), ...question.levels];
  const near = known.find((name) => plain(name) === plain(String(label)));
  if (near !== undefined && near !== label) return `it differs from ${quoted(near)} only in case or blanks`;
  return near === undefined ? `known are ${known.join(", ")}` : "it is the number of one level and the text of another";
}

const plain = (text) => text.trim().replace(/\s+/g, " ").toLowerCase();
const quoted = (label) => (typeof label === "string" ? `“${label}”` : JSON.stringify(label));
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
