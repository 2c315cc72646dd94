// The views beside the questions: one tab each. The code is there from the start; any other view is
// fetched when it is first opened, and told of new answers while it is open.

import { byId, element } from "../elements.js";

/**
 * What a view is given.
 * @typedef {Object} Context
 * @property {() => import("./play.js").Play | null} play null while it cannot be asked
 * @property {() => string | null} missing what to do before it can be asked
 * @property {() => string | null} key
 * @property {() => import("./timings.js").Timing[]} timings of the calls so far, oldest first
 * @property {() => void} ask ask the server again
 * @property {(play: import("./play.js").Play) => import("./play.js").Play} load show another play;
 *   gives the one that it replaces
 * @property {(id: string, wish?: unknown) => void} open another view, with a wish for it
 *
 * What a view gives: `refresh` is called when it is opened and after every new answer, `wish` with
 * what another view asked for.
 * @typedef {{refresh: () => void, wish?: (wish: any) => void}} View
 */

/** @type {[string, string, (() => Promise<{open: (place: HTMLElement, context: Context) => View}>) | null][]} */
const VIEWS = [
  ["code", "Code", null],
  ["evidence", "Evidence", () => import("../views/evidence.js")],
  ["order", "Order", () => import("../views/order.js")],
  ["policy", "Policy", () => import("../views/policy.js")],
  ["lambda", "λ", () => import("../views/lambda.js")],
  ["timing", "Time", () => import("../views/timing.js")],
  ["compare", "Compare", () => import("../views/compare.js")],
  ["prompt", "Prompt", () => import("../views/prompt.js")],
  ["teach", "Teach", () => import("../teach/panel.js")],
];

/** @param {Omit<Context, "open">} context */
export function tabs(context) {
  const place = byId("tabs");
  const shown = new Map(VIEWS.map(([id, label]) => [id, drawTab(id, label)]));
  const opened = new Map();
  let current = "code";

  function drawTab(id, label) {
    const tab = element("button", {
      type: "button", id: `tab-${id}`, role: "tab", textContent: label, aria: { controls: `view-${id}` },
      on: { click: () => choose(id) },
    });
    const panel = byId(`view-${id}`) ?? element("div", { className: "view", id: `view-${id}`, role: "tabpanel" });
    panel.setAttribute("aria-labelledby", tab.id);
    place.append(tab);
    place.parentElement.append(panel);
    return { tab, panel };
  }

  function mark() {
    for (const [id, { tab, panel }] of shown) {
      tab.setAttribute("aria-selected", String(id === current));
      tab.tabIndex = id === current ? 0 : -1;
      panel.hidden = id !== current;
    }
  }

  async function choose(id, wish) {
    current = id;
    mark();
    if (!opened.has(id)) opened.set(id, fetched(id));
    const view = await opened.get(id);
    if (wish !== undefined) view?.wish?.(wish);
    view?.refresh();
  }

  async function fetched(id) {
    const [, , load] = VIEWS.find(([each]) => each === id);
    if (load === null) return null;
    const { panel } = shown.get(id);
    panel.setAttribute("aria-busy", "true");
    const { open } = await load();
    panel.setAttribute("aria-busy", "false");
    return open(panel, { ...context, open: choose });
  }

  place.addEventListener("keydown", (event) => {
    const ids = [...shown.keys()];
    const at = ids.indexOf(current);
    const next = {
      ArrowRight: ids[(at + 1) % ids.length],
      ArrowLeft: ids.at(at - 1),
      Home: ids[0],
      End: ids.at(-1),
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
    shown.get(next).tab.focus();
  });
  mark();

  return {
    ids: [...shown.keys()],
    open: choose,
    focus: () => shown.get(current).tab.focus(),
    async refresh() {
      (await opened.get(current))?.refresh();
    },
  };
}
