// Talks to the server: one request for the answers, one for the prompt. Does not touch the DOM.

import { requestText } from "./request.js";

/** The server said no. `problems` name fields; `retryAfter` is in milliseconds, or null. */
export class Refusal extends Error {
  constructor(status, message, problems = [], retryAfter = null) {
    super(message);
    this.status = status;
    this.problems = problems;
    this.retryAfter = retryAfter;
  }
}

/** The answers to a play: what the server sent, and how long it took from here. */
export async function answersTo(play, key, signal) {
  const started = performance.now();
  const payload = await post("v1/systemone", play, key, signal);
  return { ...payload, milliseconds: performance.now() - started };
}

/** The prompt of a play: `{rows, tokens}`. */
export function promptOf(play, key, signal) {
  return post("page/prompt", play, key, signal);
}

async function post(path, play, key, signal) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { method: "POST", headers, body: requestText(play), signal });
  const payload = await response.json().catch(() => null);
  if (response.ok && payload !== null) return payload;
  throw refusal(response, payload, play);
}

function refusal(response, payload, play) {
  const detail = payload?.detail;
  const listed = Array.isArray(detail) ? detail : [];
  const problems = listed.map(({ loc, msg }) => ({ path: pathOf(loc ?? [], play), message: msg }));
  const said = typeof detail === "string" ? detail : payload?.error?.message;
  const message = said ?? problems[0]?.message ?? `The server answered ${response.status}.`;
  return new Refusal(response.status, message, problems, retryAfter(response));
}

function retryAfter(response) {
  const milliseconds = Number(response.headers.get("retry-after-ms"));
  const seconds = Number(response.headers.get("retry-after"));
  return milliseconds || seconds * 1000 || null;
}

/** The place on the page that a server's location means: ["body", "questions", name, …]. */
export function pathOf(location, play) {
  const [top, name, part, which] = location[0] === "body" ? location.slice(1) : location;
  if (top === "state") return ["state"];
  const index = play.questions.findIndex((question) => question.name === name);
  if (top !== "questions" || index < 0) return ["questions"];
  if (part !== "criteria") return ["questions", index, "instructions"];
  const row = rowOf(play.questions[index], which);
  return row < 0 ? ["questions", index, "instructions"] : ["questions", index, "rows", row];
}

function rowOf(question, which) {
  if (question.kind === "boolean") return ["true", "false"].indexOf(which);
  if (Number.isInteger(which)) return which;
  return question.options.findIndex((option) => option.name === which);
}
