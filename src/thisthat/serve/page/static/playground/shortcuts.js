// Keys for what people do most, and the list of them. All need a modifier, so that none of them
// gets in the way of typing or of a screen reader.

import { byId, element } from "../elements.js";

/**
 * @param {[string, string, string, () => void][]} entries code of the key, its name, what it does,
 *   and the deed; with Alt and Shift, or with Ctrl or Command for Enter
 */
export function shortcuts(entries) {
  const dialog = byId("keys-dialog");
  addEventListener("keydown", (event) => {
    const enter = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    const chord = event.altKey && event.shiftKey && !event.ctrlKey && !event.metaKey;
    const found = entries.find(([code]) => (code === "Enter" ? enter : chord && event.code === code));
    if (!found) return;
    event.preventDefault();
    found[3]();
  });
  const fixed = [
    ["Enter", "in an option or a level: add one below"],
    ["← →", "move between views, and along a slider"],
    ["1 to 9", "while labelling: choose that option"],
  ];
  const named = entries.map(([code, name, what]) => [code === "Enter" ? "Ctrl + Enter" : `Alt + Shift + ${name}`, what]);
  for (const [name, what] of [...named, ...fixed]) {
    byId("keys-list").append(
      element("dt", {}, element("kbd", { textContent: name })), element("dd", { textContent: what }));
  }
  byId("keys").addEventListener("click", () => dialog.showModal());
}
