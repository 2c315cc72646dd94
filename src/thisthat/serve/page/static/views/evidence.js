// Evidence: which parts of the state each answer rests on. Every part is left out in turn.

import { element } from "../elements.js";
import { percent } from "../playground/answers.js";
import { decideText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { badge, hint, results, share } from "./drawing.js";

const FIRST = 5;

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const found = results(
    (signal) => context.play() && decided(decideText(context.play(), [["explain", true]]), context.key(), signal),
    draw,
  );
  place.append(
    hint("Each answer is taken again without one part of the state. The longer the bar, the more the answer rests on that part."),
    found.node,
  );
  return { refresh: found.refresh };
}

function draw({ evidence, answers, usage }) {
  const drawn = Object.entries(evidence).map(([name, parts]) => drawQuestion(name, parts, answers[name]));
  return [...drawn, hint(`${usage.input_tokens - usage.extra_tokens} tokens for the answers, ${usage.extra_tokens} more to explain them.`)];
}

function drawQuestion(name, parts, answer) {
  const best = bestName(answer);
  const [first, rest] = [parts.slice(0, FIRST), parts.slice(FIRST)];
  const more = rest.length === 0 ? [] : [
    element("details", {},
      element("summary", { textContent: rest.length === 1 ? "One part that matters less" : `${rest.length} parts that matter less` }), list(name, rest, best)),
  ];
  return element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: name }), ` ${best}`), list(name, first, best), ...more);
}

function list(name, parts, best) {
  return element("ol", { className: "parts", role: "list", aria: { label: `What ${name} rests on` } },
    ...parts.map((part) => drawPart(part, best)));
}

function drawPart({ where, text, moved, fall, best_without: without }, best) {
  const turns = without === best
    ? badge(fall < 0 ? "speaks against it" : "speaks for it", "quiet")
    : badge(`without it: ${without}`, "differs");
  // A field at the top of the state starts with its own name.
  const place = text.includes(where) ? [] : [element("span", { className: "hint", textContent: where })];
  return element("li", {},
    element("p", { className: "part" }, text),
    element("p", { className: "about" }, share(moved, { text: `moves ${percent(moved)}` }), turns, ...place));
}

function bestName({ type, best }) {
  if (type === "boolean") return best ? "yes" : "no";
  return String(best);
}
