// One row at a time: its state, and the options of every question to click or to press.

import { element, freshId } from "../elements.js";
import { percent } from "../playground/answers.js";
import { labelNames, rowNames } from "../playground/play.js";
import { hint } from "../views/drawing.js";
import { isLabelled, shownState } from "./labels.js";

/**
 * @param {() => import("./labels.js").Row[]} rows
 * @param {() => import("../playground/play.js").Question[]} questions
 * @param {() => void} changed hears of every label
 */
export function labeller(rows, questions, changed) {
  const node = element("section", { className: "labeller", aria: { label: "Label rows" } });
  let at = 0;

  function draw(focus = false) {
    const given = rows();
    at = Math.min(Math.max(at, 0), Math.max(given.length - 1, 0));
    node.hidden = given.length === 0;
    if (node.hidden) return;
    const heading = element("h3", { tabIndex: -1, textContent: `Row ${at + 1} of ${given.length}` });
    node.replaceChildren(
      heading,
      element("pre", { className: "code row-state", tabIndex: 0, role: "region", aria: { label: "The row's state" }, textContent: shownState(given[at]) }),
      ...questions().map((question) => group(question, given[at])),
      moves(given),
    );
    if (focus) heading.focus();
  }

  function moves(given) {
    const go = (to) => () => {
      at = to;
      draw(true);
    };
    const button = (textContent, to, disabled) => element("button", { type: "button", className: "small", textContent, disabled, on: { click: go(to) } });
    const open = nextOpen(given);
    return element("div", { className: "actions" },
      button("Back", at - 1, at === 0),
      button("Next", at + 1, at === given.length - 1),
      button("Next unlabelled", open, open < 0),
      element("button", {
        type: "button", className: "small", textContent: "Remove",
        on: {
          click() {
            given.splice(at, 1);
            changed();
            draw(true);
          },
        },
      }));
  }

  function nextOpen(given) {
    const open = (number) => !isLabelled(given[number], questions(), true);
    const order = [...given.keys()].map((step) => (at + 1 + step) % given.length);
    return order.find((number) => number !== at && open(number)) ?? -1;
  }

  function group(question, row) {
    const name = freshId("label");
    const labels = labelNames(question);
    const suggested = row.suggested?.[question.name];
    const inputs = labels.map((label, index) => element("label", { className: "option" },
      element("input", {
        type: "radio", name, value: label, checked: row.answers[question.name] === label,
        on: { change: () => choose(question, label) },
      }),
      element("span", { textContent: rowNames(question)[index] })));
    const words = suggested ? [hint(`Current answer: ${suggested.answer}, ${percent(suggested.probability)}`)] : [];
    const field = element("fieldset", {},
      element("legend", {}, element("code", { textContent: question.name }), ` ${question.instructions}`),
      element("div", { className: "options" }, ...inputs), ...words);
    return field;

    function choose(asked, label) {
      row.answers[asked.name] = label;
      changed();
    }
  }

  // In a question a digit is for that one, elsewhere in the row for the first without a label.
  node.addEventListener("keydown", (/** @type {any} */ event) => {
    const digit = Number(event.key);
    if (event.altKey || event.ctrlKey || event.metaKey || !(digit >= 1)) return;
    const fields = [...node.querySelectorAll("fieldset")];
    const field = event.target.closest("fieldset") ?? fields.find((each) => !each.querySelector(":checked"))
      ?? (fields.length === 1 ? fields[0] : null);
    const input = field?.querySelectorAll("input")[digit - 1];
    if (!input) return;
    event.preventDefault();
    input.click();
    if (field.contains(event.target)) input.focus();
  });

  return {
    node,
    draw,
    /** Go to the row that is shown. */
    focus: () => draw(true),
    /** Show a row, if it is still there, and go to it. */
    look(row) {
      if (!rows().includes(row)) return;
      at = rows().indexOf(row);
      draw(true);
    },
    /** Show a row; negative: the first without a label. */
    show(number) {
      at = number;
      draw();
    },
  };
}
