// Says things to people who do not see the page change, never twice.

import { byId } from "./elements.js";

let timer;

/**
 * Say a text at once.
 * @param {string} text
 */
export function announce(text) {
  clearTimeout(timer);
  byId("announcer").textContent = text;
}

/**
 * Say what `text` gives once nothing else was said for a while.
 * @param {() => string} text
 * @param {number} wait milliseconds
 */
export function announceLater(text, wait) {
  clearTimeout(timer);
  timer = setTimeout(() => announce(text()), wait);
}
