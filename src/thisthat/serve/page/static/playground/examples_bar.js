// The examples' buttons, and one that swaps an example's state for its twin and back.

import { byId, element } from "../elements.js";
import { EXAMPLES } from "./examples.js";

/**
 * @param {(play: import("./play.js").Play) => void} load hears of an example that was picked
 * @param {(state: import("./play.js").State) => void} change hears of a new state for its questions
 */
export function examplesBar(load, change) {
  const other = element("button", { type: "button", className: "twin", hidden: true });
  let picked = EXAMPLES[0];
  let swapped = false;

  function label() {
    other.textContent = swapped ? "Back to the example" : `What if: ${picked.twin.name}`;
  }

  for (const example of EXAMPLES) {
    const start = () => {
      load(example.play());
      follow(example);
    };
    byId("examples").append(element("button", { type: "button", textContent: example.name, on: { click: start } }));
  }
  byId("examples").append(other);
  other.addEventListener("click", () => {
    swapped = !swapped;
    change(structuredClone(swapped ? picked.twin.state : picked.play().state));
    label();
  });

  /** @param {import("./examples.js").Example | null} example what is shown; null: something else */
  function follow(example) {
    picked = example ?? picked;
    swapped = false;
    other.hidden = example === null;
    label();
  }

  return { follow };
}
