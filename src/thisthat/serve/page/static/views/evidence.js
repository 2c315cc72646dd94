// Evidence: which parts of the state each answer rests on. Every part is left out in turn.

import { element } from "../elements.js";
import { percent } from "../playground/answers.js";
import { labelNames, rowNames } from "../playground/play.js";
import { decideText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { badge, hint, results, share } from "./drawing.js";

const FIRST = 5;

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const found = results(
    context,
    async (play, signal) => ({ play, found: await decided(decideText(play, [["explain", true]]), context.key(), signal) }),
    draw,
  );
  place.append(
    hint("Each answer is taken again without one part of the state. The longer the bar, the more the answer rests on that part."),
    found.node,
  );
  return { refresh: found.refresh };
}

function draw({ play, found: { evidence, usage, answers } }) {
  const drawn = play.questions.map((question) => drawQuestion(question, evidence[question.name], answers[question.name]));
  return [...drawn, hint(`${usage.input_tokens - usage.extra_tokens} tokens for the answers, ${usage.extra_tokens} more to explain them.`)];
}

function drawQuestion(question, parts, answer) {
  const called = callerOf(question);
  const best = called(answer.type === "boolean" ? (answer.best ? "yes" : "no") : String(answer.best));
  const [first, rest] = [parts.slice(0, FIRST), parts.slice(FIRST)];
  const more = rest.length === 0 ? [] : [
    element("details", {},
      element("summary", { textContent: rest.length === 1 ? "One part that matters less" : `${rest.length} parts that matter less` }), list(question.name, rest, best, called)),
  ];
  return element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: question.name }), ` ${best}`), list(question.name, first, best, called), ...more);
}

function list(name, parts, best, called) {
  return element("ol", { className: "parts", role: "list", aria: { label: `What ${name} rests on` } },
    ...parts.map((part) => drawPart(part, best, called)));
}

function drawPart({ where, text, moved, fall, best_without: other }, best, called) {
  const without = called(other);
  const turns = without === best
    ? badge(fall < 0 ? "speaks against it" : "speaks for it", "quiet")
    : badge(`without it: ${without}`, "differs");
  // A field at the top of the state starts with its own name.
  const place = text.includes(where) ? [] : [element("span", { className: "hint", textContent: where })];
  return element("li", {},
    element("p", { className: "part" }, text),
    element("p", { className: "about" }, share(moved, { text: `moves ${percent(moved)}` }), turns, ...place));
}

/** What the page calls an answer that the server names: a level with its text. */
function callerOf(question) {
  return (name) => rowNames(question)[labelNames(question).indexOf(name)];
}
