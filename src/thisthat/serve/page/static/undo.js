// One step back, offered after work was replaced or removed, until something else changes.

import { element } from "./elements.js";

export function undoLine() {
  const said = element("span");
  const back = element("button", { type: "button", className: "small", textContent: "Undo" });
  const node = element("p", { className: "undo", role: "status", hidden: true }, said, " ", back);
  const forget = () => { node.hidden = true; };
  return {
    node,
    forget,
    /**
     * Say what happened, with a way back; `focus` where the button that did it is gone.
     * @param {string} what
     * @param {() => void} undo
     */
    offer(what, undo, focus = false) {
      said.textContent = what;
      back.onclick = () => {
        forget();
        undo();
      };
      node.hidden = false;
      if (focus) back.focus();
    },
  };
}
