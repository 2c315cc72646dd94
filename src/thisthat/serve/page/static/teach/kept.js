// Keeps rows over a reload of this tab: labels are work. Gone when the tab is closed.

const KEY = "thisthat.labels";

/** @param {import("./labels.js").Row[]} rows */
export function keepRows(rows) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(rows));
  } catch {
    // switched off or full: the page works without it, and the rows can be downloaded
  }
}

/** @returns {import("./labels.js").Row[]} */
export function keptRows() {
  try {
    const rows = JSON.parse(sessionStorage.getItem(KEY));
    return rows.every(({ state, answers }) => typeof state === "string" && typeof answers === "object") ? rows : [];
  } catch {
    return []; // nothing kept, or by another version of the page
  }
}
