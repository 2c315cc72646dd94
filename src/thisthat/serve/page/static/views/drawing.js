// What the views are drawn with: bars, tables, and a place that shows the newest result.

import { element } from "../elements.js";
import { percent } from "../playground/answers.js";
import { latest } from "../playground/latest.js";

const WAIT = 200;

/**
 * A place for results: `refresh` loads them anew, the newest wins; what went wrong is said.
 * While there is nothing to ask, it says what is missing.
 * @template T
 * @param {import("../playground/tabs.js").Context} context
 * @param {(play: import("../playground/play.js").Play, signal: AbortSignal) => Promise<T>} load
 * @param {(found: T) => (Node | string)[]} draw
 */
export function results(context, load, draw) {
  const node = element("div", { className: "results" });
  const said = (text) => node.replaceChildren(element("p", { className: "hint", textContent: text }));
  const work = latest(async (signal) => (context.play() === null ? null : load(context.play(), signal)), {
    wait: WAIT,
    done(found) {
      node.setAttribute("aria-busy", "false");
      if (found === null) said(context.missing());
      else node.replaceChildren(...draw(found));
    },
    failed(error) {
      node.setAttribute("aria-busy", "false");
      said(error.status === undefined && error instanceof TypeError ? "The server cannot be reached." : error.message);
    },
  });
  return {
    node,
    say: (text) => {
      work.cancel();
      said(text);
    },
    refresh() {
      if (node.childElementCount === 0) said("Asking the server …");
      node.setAttribute("aria-busy", "true");
      work.schedule();
    },
  };
}

/** @param {string} text */
export function hint(text) {
  return element("p", { className: "hint", textContent: text });
}

/** A share of 1 as a bar and a number. */
export function share(value, { className = "", text = percent(value) } = {}) {
  const bar = element("span", { className: `bar ${className}`, aria: { hidden: "true" } });
  bar.style.setProperty("--share", String(Math.min(1, Math.max(0, value))));
  return element("span", { className: "bar-and-share" }, bar, element("span", { className: "share", textContent: text }));
}

/**
 * A table; the first cell of a row names it. Cells are texts or nodes.
 * @param {string} caption
 * @param {string[]} head
 * @param {{cells: (string | Node)[], className?: string}[]} rows
 */
export function table(caption, head, rows) {
  const cell = (tag, scope, content) => element(tag, scope ? { scope } : {}, content);
  const body = rows.map(({ cells: [first, ...rest], className = "" }) =>
    element("tr", { className }, cell("th", "row", first), ...rest.map((each) => cell("td", null, each))));
  const drawn = element("table", {},
    element("caption", { textContent: caption }),
    element("thead", {}, element("tr", {}, ...head.map((each) => cell("th", "col", each)))),
    element("tbody", {}, ...body));
  return element("div", { className: "table", tabIndex: 0, role: "region", aria: { label: caption } }, drawn);
}

/** A labelled choice from a list of [value, text]. */
export function picker(label, choices, chosen, pick) {
  const select = element("select", { aria: { label }, on: { change: () => pick(select.value) } },
    ...choices.map(([value, text]) => element("option", { value, textContent: text, selected: value === chosen })));
  return select;
}

/** A word that stands out: `kind` is "same", "differs" or "quiet". */
export function badge(text, kind) {
  return element("span", { className: `badge ${kind}`, textContent: text });
}

/** Hand a text or a blob to the browser as a file. */
export function save(content, name, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
