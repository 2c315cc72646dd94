// What the page holds: one state and its questions. Plain data, apart from the DOM and the wire.

/**
 * @typedef {{kind: "text" | "json", text: string}} State
 * @typedef {"boolean" | "choice" | "score"} Kind
 * @typedef {{name: string, description: string}} Option
 * @typedef {Object} Question
 * @property {Kind} kind
 * @property {string} name
 * @property {string} instructions
 * @property {string} yes what yes means, of a boolean
 * @property {string} no
 * @property {Option[]} options of a choice
 * @property {string[]} levels of a score
 * @property {number} threshold from which on its branch is taken
 * @typedef {{state: State, questions: Question[]}} Play
 */

/** @type {[Kind, string][]} */
export const KINDS = [["boolean", "Yes or no"], ["choice", "Choice"], ["score", "Score"]];
export const MOST_OPTIONS = 255;

const FIRST_THRESHOLD = { boolean: 0.5, choice: 0.5 };

/**
 * A question of any kind. What the other kinds hold is kept, so that switching loses nothing.
 * @param {Kind} kind
 * @param {string} name
 * @param {Partial<Question>} fields
 * @returns {Question}
 */
export function question(kind, name, fields = {}) {
  /** @type {Question} */
  const made = {
    threshold: undefined,
    kind,
    name,
    instructions: "",
    yes: "",
    no: "",
    options: [{ name: "", description: "" }, { name: "", description: "" }],
    levels: ["", ""],
    ...fields,
  };
  made.threshold ??= firstThreshold(made);
  return made;
}

/** Halfway: 0.5, or the middle of the levels. */
export function firstThreshold(asked) {
  return FIRST_THRESHOLD[asked.kind] ?? (asked.levels.length - 1) / 2;
}

/** A name like "choice 2" that no question has yet. */
export function freshName(kind, questions) {
  const stem = { boolean: "is_it_so", choice: "which_one", score: "how_much" }[kind];
  const taken = new Set(questions.map((each) => each.name));
  let name = stem;
  for (let number = 2; taken.has(name); number += 1) name = `${stem}_${number}`;
  return name;
}

/**
 * What the rows of a question's card are called: its answers, in the order shown.
 * @param {Question} asked
 * @returns {string[]}
 */
export function rowNames(asked) {
  if (asked.kind === "boolean") return ["yes", "no"];
  if (asked.kind === "choice") return asked.options.map((option) => option.name);
  return asked.levels.map((level, index) => `${index}: ${level}`);
}

/**
 * What labels call the rows of a question's card, in the same order.
 * @param {Question} asked
 * @returns {string[]}
 */
export function labelNames(asked) {
  return asked.kind === "score" ? asked.levels.map((_, index) => String(index)) : rowNames(asked);
}

/**
 * The play in `value`, checked field by field. Throws a TypeError that names the wrong one.
 * @param {any} value
 * @returns {Play}
 */
export function playFrom(value) {
  const state = value?.state;
  if (!["text", "json"].includes(state?.kind)) throw new TypeError("state.kind");
  expectText(state.text, "state.text");
  if (!Array.isArray(value.questions)) throw new TypeError("questions");
  return {
    state: { kind: state.kind, text: state.text },
    questions: value.questions.map((each, index) => questionFrom(each, `questions[${index}]`)),
  };
}

function questionFrom(value, field) {
  if (!KINDS.some(([kind]) => kind === value?.kind)) throw new TypeError(`${field}.kind`);
  for (const text of ["name", "instructions", "yes", "no"]) expectText(value[text], `${field}.${text}`);
  for (const list of ["options", "levels"]) {
    const length = value[list]?.length;
    if (!Array.isArray(value[list]) || length < 1 || length > MOST_OPTIONS) {
      throw new TypeError(`${field}.${list}`);
    }
  }
  value.levels.forEach((level) => expectText(level, `${field}.levels`));
  const options = value.options.map((option) => {
    expectText(option?.name, `${field}.options`);
    expectText(option?.description, `${field}.options`);
    return { name: option.name, description: option.description };
  });
  if (!Number.isFinite(value.threshold)) throw new TypeError(`${field}.threshold`);
  const { kind, name, instructions, yes, no, levels, threshold } = value;
  return { kind, name, instructions, yes, no, options, levels: [...levels], threshold };
}

function expectText(value, field) {
  if (typeof value !== "string") throw new TypeError(field);
}
