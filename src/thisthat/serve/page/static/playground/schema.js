// A schema file, questions.json, as questions of the page. What the page has no field for is told, never
// left out. Plain data.

import { MOST_OPTIONS, question } from "./play.js";

const KINDS = { boolean: "boolean", noul: "boolean", choice: "choice", score: "score" };
const KEYS = ["type", "instructions", "criteria"];
const MOST_TOLD = 10;
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** A schema that cannot be shown; the message has a line for each fault. */
export class WrongSchema extends Error {
  constructor(faults) {
    const left = faults.length - MOST_TOLD;
    super([...faults.slice(0, MOST_TOLD), ...(left > 0 ? [`And ${left} more.`] : [])].join("\n"));
  }
}

/**
 * The questions in the text of a schema file. Throws WrongSchema, which names the fields.
 * @param {string} text
 * @returns {import("./play.js").Question[]}
 */
export function questionsIn(text) {
  const schema = members(parsed(text));
  if (schema === null || schema.length === 0) throw new WrongSchema(["It must be an object of named questions."]);
  const faults = [];
  const questions = schema.map(([name, spec]) =>
    questionFrom(name, spec, (field, message) => faults.push(`${name}${field}: ${message}`)));
  if (faults.length > 0) throw new WrongSchema(faults);
  return questions;
}

// Every key gets a letter before it: JavaScript would move keys that look like numbers to the front.
function parsed(text) {
  try {
    JSON.parse(text);
  } catch (error) {
    throw new WrongSchema([`Not valid JSON: ${error.message}`]);
  }
  return JSON.parse(text.replace(STRING, (string, colon) => (colon === undefined ? string : `"_${string.slice(1)}`)));
}

/** The members of an object in their order, or null. */
function members(value) {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? Object.entries(value).map(([key, each]) => [key.slice(1), each]) : null;
}

function questionFrom(name, spec, wrong) {
  if (typeof spec === "string") return question("boolean", name, { instructions: spec });
  const fields = members(spec);
  if (fields === null) {
    wrong("", "must be an object or a text");
    return null;
  }
  const { type, instructions = null, criteria = null, abstain = null } = Object.fromEntries(fields);
  const unknown = fields.map(([key]) => key).find((key) => ![...KEYS, "abstain"].includes(key));
  if (unknown !== undefined) wrong(`.${unknown}`, `is not known; a question has ${KEYS.join(", ")}`);
  if (abstain !== null && abstain !== false) wrong(".abstain", "this page has no question that abstains");
  if (instructions !== null && typeof instructions !== "string") wrong(".instructions", "must be a text on this page");
  const kind = Object.hasOwn(KINDS, type) ? KINDS[type] : null;
  if (kind === null) {
    wrong(".type", `is ${JSON.stringify(type) ?? "missing"}; it must be one of boolean, choice, score`);
    return null;
  }
  const read = { boolean: meanings, choice: options, score: levels }[kind];
  return question(kind, name, { instructions: instructions ?? "", ...read(criteria, (at, message) => wrong(`.criteria${at}`, message)) });
}

function meanings(criteria, wrong) {
  const given = criteria === null ? [] : members(criteria);
  if (given === null || given.some(([key]) => !["true", "false"].includes(key))) {
    wrong("", 'must be an object with "true" and "false" at most');
    return {};
  }
  given.forEach(([key, text]) => isTextOrNull(text) || wrong(`.${key}`, "must be a text on this page"));
  const { true: yes, false: no } = Object.fromEntries(given);
  return { yes: yes ?? "", no: no ?? "" };
}

function options(criteria, wrong) {
  const given = Array.isArray(criteria) ? criteria.map((name) => [name, null]) : members(criteria);
  if (!counted(given, "an object of options or a list of their names", wrong)) return {};
  given.forEach(([name, description], at) => {
    if (typeof name !== "string") wrong(`[${at}]`, "must be a text on this page");
    else if (!isTextOrNull(description)) wrong(`.${name}`, "must be a text or null on this page");
  });
  return { options: given.map(([name, description]) => ({ name, description: description ?? "" })) };
}

function levels(criteria, wrong) {
  const given = Array.isArray(criteria) ? criteria : null;
  if (!counted(given, "a list of levels in order", wrong)) return {};
  given.forEach((text, at) => typeof text === "string" || wrong(`[${at}]`, "must be a text on this page"));
  return { levels: given };
}

function counted(given, what, wrong) {
  const fits = given !== null && given.length >= 1 && given.length <= MOST_OPTIONS;
  if (!fits) wrong("", `must be ${what}, 1 to ${MOST_OPTIONS}`);
  return fits;
}

function isTextOrNull(value) {
  return value === null || typeof value === "string";
}
