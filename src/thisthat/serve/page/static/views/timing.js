// Time: how long the last call took, what it read, and what it did not need to read again.

import { element } from "../elements.js";
import { hint, share, table } from "./drawing.js";

const MORE = 10;

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const drawn = element("div", { className: "results" });
  const again = element("button", {
    type: "button", textContent: `Ask ${MORE} more times`,
    on: {
      click() {
        left = MORE - 1;
        context.ask();
      },
    },
  });
  let left = 0;
  place.append(
    hint("One pass over the tokens, nothing generated. Tokens that are kept from an earlier call are not read again."),
    drawn, element("div", { className: "actions" }, again),
  );

  return {
    refresh() {
      drawn.replaceChildren(...draw(context.timings()));
      again.disabled = left > 0;
      if (left > 0) {
        left -= 1;
        context.ask();
      }
    },
  };
}

/** @param {import("../playground/timings.js").Timing[]} calls */
function draw(calls) {
  if (calls.length === 0) return [hint("No call yet.")];
  const last = calls.at(-1);
  const totals = calls.map(({ total }) => total).sort((one, other) => one - other);
  const half = totals.length >> 1;
  const middle = totals.length % 2 ? totals[half] : (totals[half - 1] + totals[half]) / 2;
  const written = (value, unit) => (Number.isFinite(value) ? `${Math.round(value)} ${unit}` : "unknown");
  const rows = [
    ["This call, in the browser", written(last.total, "ms")],
    ["The decision, in the server", written(last.decided, "ms")],
    ["Network and browser", written(last.total - last.decided, "ms")],
    ["Tokens read", String(last.read)],
    ["of them kept from before", String(last.kept)],
    ["Tokens written", "0"],
    [`Median of the last ${calls.length}`, written(middle, "ms")],
    ["Fastest and slowest", `${written(totals[0], "ms")}, ${written(totals.at(-1), "ms")}`],
  ].map((cells) => ({ cells }));
  const slowest = totals.at(-1);
  const bars = calls.map(({ total }, number) => element("li", {},
    element("span", { className: "hint", textContent: number === calls.length - 1 ? "last" : `${number - calls.length + 1}` }),
    share(total / slowest, { text: written(total, "ms") })));
  return [
    table("Time and tokens", ["what", "how much"], rows),
    element("ol", { className: "shares", role: "list", aria: { label: "The last calls, oldest first" } }, ...bars),
  ];
}
