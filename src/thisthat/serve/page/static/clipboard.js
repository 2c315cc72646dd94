// Puts a text on the clipboard, also where the newer interface is missing: it needs HTTPS.

import { element } from "./elements.js";

/** Whether the text was copied. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyThroughSelection(text);
  }
}

function copyThroughSelection(text) {
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  const area = element("textarea", { value: text, readOnly: true, className: "unseen" });
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
