// The if-statement under a card: a slider for its threshold, and the way it goes now.

import { branchOf, mostThreshold, thresholdText } from "./answers.js";
import { element, freshId } from "../elements.js";

/** `moved` hears of a new threshold. */
export function drawBranch(question, moved) {
  const slider = element("input", { type: "range", id: freshId("threshold"), min: 0, step: 0.01 });
  const label = element("label", { htmlFor: slider.id });
  const value = element("output", { className: "share" });
  const track = element("div", { className: "track" }, slider);
  const then = way("then");
  const otherwise = way("otherwise");
  const lines = element("div", { className: "ways" }, then.node, otherwise.node);
  const node = element("div", { className: "branch" },
    element("div", { className: "threshold" }, label, track, value), lines);

  slider.addEventListener("input", () => {
    question.threshold = Number(slider.value);
    moved();
  });

  return {
    node,
    show(answer) {
      const branch = branchOf(question, answer);
      slider.max = String(mostThreshold(question));
      slider.value = String(question.threshold);
      value.textContent = thresholdText(question);
      const expected = answer?.expected ?? null;
      label.textContent = expected === null ? "Threshold" : `Expected level ${expected.toFixed(3)}, threshold`;
      track.classList.toggle("marked", expected !== null);
      track.style.setProperty("--expected", String((expected ?? 0) / mostThreshold(question)));
      then.show(`if ${branch.condition}`, branch.then, answer !== null && branch.taken);
      otherwise.show("else", branch.otherwise, answer !== null && !branch.taken);
    },
  };
}

function way(className) {
  const condition = element("code", { className: "condition" });
  const target = element("span", { className: "target" });
  const verdict = element("span", { className: "verdict" });
  const node = element("p", { className: `way ${className}` }, condition, target, verdict);
  return {
    node,
    show(conditionText, targetText, taken) {
      condition.textContent = conditionText;
      target.textContent = targetText;
      verdict.textContent = taken ? "goes here" : "";
      node.classList.toggle("taken", taken);
    },
  };
}
