// Talks to the server. Does not touch the DOM.

import { requestText } from "./request.js";

const TIMING = /decide;dur=([\d.]+)/;

/** The server said no. `problems` name fields; `retryAfter` is in milliseconds, or null. */
export class Refusal extends Error {
  constructor(status, message, problems = [], retryAfter = null) {
    super(message);
    this.status = status;
    this.problems = problems;
    this.retryAfter = retryAfter;
  }
}

/**
 * The answers to a play: what the server sent, how long it took from here (`milliseconds`) and in
 * the server (`decided`), and the names of questions that a taught checkpoint was not taught
 * (`untaught`).
 */
export async function answersTo(play, key, signal) {
  const started = performance.now();
  const response = await sent("v1/systemone", requestText(play), key, signal, play);
  const payload = await response.json();
  const decided = Number(TIMING.exec(response.headers.get("server-timing") ?? "")?.[1]);
  const untaught = response.headers.get("x-thisthat-untaught")?.split(", ").map(decodeURIComponent) ?? [];
  return { ...payload, milliseconds: performance.now() - started, decided, untaught };
}

/** The prompt of a play: `{rows, tokens}`. */
export async function promptOf(play, key, signal) {
  return (await sent("page/prompt", requestText(play), key, signal, play)).json();
}

/**
 * What /v1/decide says about the first state of a body.
 * @param {string} body
 * @param {string | null} key
 * @param {AbortSignal} signal
 */
export async function decided(body, key, signal) {
  const response = await sent("v1/decide", body, key, signal);
  const line = JSON.parse((await response.text()).split("\n", 1)[0]);
  if (line.error) throw new Refusal(422, onThisPage(line.error.message));
  return line;
}

/**
 * What the server has loaded and allows.
 * @typedef {{model: string, checkpoint: string, version: string, lambda: number,
 *   lambdas: number[] | null}} Served `lambdas` null: any from 0 to 1
 * @typedef {{rows: number, states: number, seconds: number, admin: boolean}} TeachLimits
 * @typedef {{checkpoints: Served[], teach: TeachLimits | null, loop: boolean}} About `loop`: its
 *   page has something to show
 */

/** @returns {Promise<About>} */
export async function about(key, signal) {
  return (await sent("page/about", null, key, signal)).json();
}

/**
 * Lines of JSON from an endpoint that takes its time; `heard` gets each as it comes.
 * @param {(line: any) => void} heard
 */
export async function stream(path, body, key, signal, heard) {
  const response = await sent(path, body, key, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (rest + next.value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const told = JSON.parse(line);
      if (told.error) throw new Refusal(told.error.status, told.error.message);
      heard(told);
    }
  }
}

/** A file of the server, as a blob. */
export async function file(path, key) {
  return (await sent(path, null, key)).blob();
}

async function sent(path, body, key, signal, play = null) {
  const headers = { "X-Thisthat-Playground": "1" };
  if (body !== null) headers["Content-Type"] = "application/json";
  if (key) headers.Authorization = `Bearer ${key}`;
  const method = body === null ? "GET" : "POST";
  const response = await fetch(path, { method, headers, body, signal });
  if (response.ok) return response;
  throw refusal(response, await response.json().catch(() => null), play);
}

// What the library and the API advise, where this page has another way or none.
const ADVICE = [
  [/ or ask for a cut with keep=.*$/, ""],
  [/ \(policy\.force\(\).*\)$/, ": tick the box above"],
];

function onThisPage(message) {
  return ADVICE.reduce((text, [theirs, ours]) => text.replace(theirs, ours), message);
}

function refusal(response, payload, play) {
  const detail = payload?.detail;
  const listed = Array.isArray(detail) ? detail : [];
  const problems = play === null
    ? []
    : listed.map(({ loc, msg }) => ({ path: pathOf(loc ?? [], play), message: onThisPage(msg) }));
  const said = typeof detail === "string" ? detail : payload?.error?.message;
  const message = onThisPage(said ?? `The server answered ${response.status}.`);
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
