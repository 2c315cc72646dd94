// A play as the body of /v1/systemone, and what keeps it from being one.
// A problem is {path, message}; its path is ["state"], ["questions"] or
// ["questions", index, "name" | "instructions" | "rows", row].

import { ordered, problemOfState, raw, write } from "./json_text.js";

const NO_QUESTION = "Add a question to get an answer.";

/** What must be put right before the server can be asked. */
export function problemsOf(play) {
  const problems = [];
  const found = (path, message) => problems.push({ path, message });
  const wrongState = play.state.kind === "json" && problemOfState(play.state.text);
  if (wrongState) found(["state"], wrongState);
  if (play.questions.length === 0) found(["questions"], NO_QUESTION);
  const names = play.questions.map((question) => question.name);
  play.questions.forEach((question, index) => {
    const wrongName = problemOfName(question.name, names.slice(0, index), "question");
    if (wrongName) found(["questions", index, "name"], wrongName);
    problemsOfRows(question).forEach((message, row) => {
      if (message) found(["questions", index, "rows", row], message);
    });
  });
  return problems;
}

/** What to do before a play can be asked; null when it can be. */
export function missingFrom(play) {
  if (problemsOf(play).length === 0) return null;
  return play.questions.length === 0 ? NO_QUESTION : "Fix the marked fields first.";
}

function problemsOfRows(question) {
  if (question.kind === "score") {
    return question.levels.map((level) => (level.trim() ? null : "A level needs a text."));
  }
  if (question.kind === "boolean") return [];
  const names = question.options.map((option) => option.name);
  return names.map((name, row) => problemOfName(name, names.slice(0, row), "option"));
}

function problemOfName(name, before, what) {
  if (!name.trim()) return `Every ${what} needs a name.`;
  return before.includes(name) ? `There is already one called “${name}”.` : null;
}

/** The body for `play`: on one line, or over several when `margin` is "". */
export function requestText(play, margin = null) {
  const body = [
    ["model", "default"],
    ["state", stateOf(play)],
    ["questions", questionsOf(play)],
  ];
  return write(ordered(body), margin);
}

/**
 * The body of /v1/decide for one play: its state, its questions and `more` settings.
 * @param {import("./play.js").Play} play
 * @param {[string, unknown][]} more
 */
export function decideText(play, more = []) {
  return write(ordered([["states", [stateOf(play)]], ["questions", questionsOf(play)], ...more]));
}

/** The questions alone, as `--schema` takes them. */
export function schemaText(play) {
  return `${write(questionsOf(play, "boolean"), "")}\n`;
}

/** The state as JSON: what was typed when that is JSON, else a text. */
export function stateOf(play) {
  return play.state.kind === "json" ? raw(play.state.text) : play.state.text;
}

/** The questions as JSON, by name; `boolean` is what the format calls a yes or no. */
export function questionsOf(play, boolean = "noul") {
  return ordered(play.questions.map((question) => [question.name, questionOf(question, boolean)]));
}

function questionOf(question, boolean) {
  const type = question.kind === "boolean" ? boolean : question.kind;
  const pairs = [["type", type]];
  if (question.instructions) pairs.push(["instructions", question.instructions]);
  const criteria = criteriaOf(question);
  if (criteria) pairs.push(["criteria", criteria]);
  return ordered(pairs);
}

/** The criteria as JSON; null for a boolean whose yes and no have no meanings. */
export function criteriaOf(question) {
  if (question.kind === "score") return question.levels;
  if (question.kind === "choice") {
    return ordered(question.options.map(({ name, description }) => [name, description || null]));
  }
  const meanings = meaningsOf(question);
  return meanings.length ? ordered(meanings) : null;
}

/** What yes and no mean, where that is said. */
export function meaningsOf(question) {
  return [["true", question.yes], ["false", question.no]].filter(([, text]) => text);
}
