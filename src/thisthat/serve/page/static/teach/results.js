// What a teach came to: before and after with intervals, in a table and in words.

import { element } from "../elements.js";
import { percent } from "../playground/answers.js";
import { badge, hint, table } from "../views/drawing.js";

/**
 * Labels that may be wrong, each with a way to its row.
 * @param {{judged: string[], labels: {row: number, question: string, label: string, answer: string, probability: number}[]}} doubts
 * @param {(name: string, label: string) => string} told an option as the page calls it
 * @param {(row: number) => HTMLElement} link
 */
export function drawDoubts({ judged, labels }, told, link) {
  const verdict = labels.length === 0
    ? `No label of ${judged.join(", ")} seems wrong.`
    : `${labels.length === 1 ? "1 label" : `${labels.length} labels`} may be wrong. Look again:`;
  const rows = labels.map(({ row, question, label, answer, probability }) => ({
    cells: [link(row), question, told(question, label), told(question, answer), percent(probability)],
  }));
  return [
    element("p", { className: "strong", textContent: verdict }),
    ...(rows.length === 0 ? [] : [table("Labels that may be wrong", ["row", "question", "label", "rather", "how sure"], rows)]),
    hint("By heads that did not see the label; questions with fewer than 20 labelled states are not judged."),
  ];
}

const two = (value) => (value < 0 ? `−${Math.abs(value).toFixed(2)}` : value.toFixed(2));
const interval = ({ value, low, high }) => `${two(value)} [${two(low)}, ${two(high)}]`;

/** @param {{learned: any[], lines: string[], model: string | null, bytes?: number}} taught */
export function drawTaught(taught) {
  const rows = taught.learned.map(({ question, rows: count, before, after, gain, supported }) => ({
    cells: [question, String(count), interval(before), interval(after), interval(gain),
      supported ? badge("gain shown", "same") : badge("no gain shown", "quiet")],
  }));
  const verdict = taught.model === null
    ? "Nothing was kept, so nothing was loaded."
    : `${taught.model} is loaded beside the served checkpoint (${Math.ceil(taught.bytes / 1000)} kB). λ 0 is its parent.`;
  return [
    element("p", { className: "strong", textContent: verdict }),
    table("Right answers on rows that were not fitted on, with 95 % intervals",
      ["question", "labels", "before", "after", "gain", "verdict"], rows),
    hint("Shares of right answers on rows that were not fitted on, with 95 % intervals."),
    ...taught.lines.map((line) => element("p", { className: "told", textContent: line.trim() })),
  ];
}
