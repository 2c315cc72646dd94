// The prompt as the model reads it: the shared text, then each branch, with its slots marked.

import { element } from "../elements.js";
import { promptOf } from "../playground/server.js";
import { hint, results } from "./drawing.js";

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const found = results(
    context,
    (play, signal) => promptOf(play, context.key(), signal),
    ({ rows, tokens }) => [...rows.map(drawRow), hint(`${tokens} tokens`)],
  );
  found.node.id = "prompt";
  place.append(
    hint("One pass, nothing generated: each answer is read at a marked slot. Branches do not see each other."),
    found.node,
  );
  return { refresh: found.refresh };
}

function drawRow({ shared, branches }) {
  const shownBranches = branches.map((pieces) =>
    element("pre", { className: "code prompt-branch" }, ...trimmed(pieces).map(drawPiece)));
  const start = element("pre", { className: "code", textContent: shared.trimEnd() });
  return element("div", { className: "prompt-row" }, ...(shared.trim() ? [start] : []), ...shownBranches);
}

// The blank line between context and question is drawn as the gap between the boxes.
function trimmed([first, ...rest]) {
  return [typeof first === "string" ? first.replace(/^\n+/, "") : first, ...rest];
}

function drawPiece(piece) {
  if (typeof piece === "string") return document.createTextNode(piece);
  return element("mark", {
    className: "slot", textContent: piece.question, title: `One of ${piece.options} options is read here`,
  });
}
