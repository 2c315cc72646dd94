// Keeps the play over a reload of this tab. The browser forgets it when the tab is closed.

import { playFrom } from "./play.js";

const KEY = "thisthat.draft";

/** Remember a play; does nothing where storage is switched off or full. */
export function keepDraft(play) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(play));
  } catch {
    // the draft is a convenience: the page works without it
  }
}

/** The play that was kept, or null. */
export function keptDraft() {
  try {
    return playFrom(JSON.parse(sessionStorage.getItem(KEY)));
  } catch {
    return null; // nothing kept, or by another version of the page
  }
}
