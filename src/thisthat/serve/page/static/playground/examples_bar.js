// The examples' buttons, and one that swaps an example's state for its twin and back.

import { byId, element } from "../elements.js";
import { EXAMPLES } from "./examples.js";

/**
 * @param {(play: import("./play.js").Play) => void} load hears of an example that was picked
 * @param {(state: import("./play.js").State) => void} change hears of a new state for its questions
 */
export function examplesBar(load, change) {
  const other = element("button", { type: "button", className: "twin", hidden: true });
  let picked = null;
  let swapped = false;

  for (const example of EXAMPLES) {
    const start = () => {
      picked = example;
      load(example.play());
    };
    byId("examples").append(element("button", { type: "button", textContent: example.name, on: { click: start } }));
  }
  byId("examples").append(other);
  other.addEventListener("click", () => change(structuredClone(swapped ? picked.play().state : picked.twin.state)));

  return {
    /** @param {import("./examples.js").Example | null} example what is shown next; null: something else */
    follow(example) {
      picked = example;
    },
    /**
     * Offer the twin of the example, unless this state is somebody's own.
     * @param {import("./play.js").State} state
     */
    look(state) {
      const is = (known) => known.kind === state.kind && known.text === state.text;
      swapped = picked !== null && is(picked.twin.state);
      other.hidden = picked === null || !(swapped || is(picked.play().state));
      if (!other.hidden) other.textContent = swapped ? "Back to the example" : `What if: ${picked.twin.name}`;
    },
  };
}
