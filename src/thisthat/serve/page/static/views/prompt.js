// The prompt as the model reads it: the shared text, then each branch, with its slots marked.

import { byId, element } from "./elements.js";

/** `opened` hears when the panel is opened and wants its text. */
export function promptPanel(opened) {
  const panel = byId("prompt-panel");
  const place = byId("prompt");
  panel.addEventListener("toggle", () => panel.open && opened());

  return {
    get open() {
      return panel.open;
    },
    show({ rows, tokens }) {
      const count = element("p", { className: "hint", textContent: `${tokens} tokens` });
      place.replaceChildren(...rows.map(drawRow), count);
    },
    complain(message) {
      place.replaceChildren(element("p", { className: "hint", textContent: message }));
    },
  };
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
