// One question on the page: its fields, a bar beside every possible answer, and its branch.

import { mostThreshold } from "./answers.js";
import { drawBranch } from "./branch.js";
import { element, fitHeight, freshId, say, segments } from "../elements.js";
import { firstThreshold, KINDS, MOST_OPTIONS } from "./play.js";
import { drawRows, listEdits } from "./rows.js";

/** `changed` hears of edits that need a new answer, `tuned` of a new threshold alone. */
export function questionCard(question, { changed, tuned, removed }) {
  const name = textField("input", "name", "Name", question, changed);
  const instructions = textField("textarea", "instructions", "Question", question, changed);
  instructions.field.rows = 1;
  instructions.field.addEventListener("input", () => fitHeight(instructions.field));
  const list = element("ol", { className: "rows", role: "list", aria: { label: "Answers" } });
  const add = element("button", { type: "button", className: "link add-row" });
  const footer = element("div");
  const below = element("p", {
    className: "hint", hidden: true, textContent: "Untaught in this wording: the checkpoint below answers.",
  });
  const node = element("article", { className: "card" },
    element("div", { className: "card-head" }, name.node, kindPicker(), removeButton()),
    instructions.node, list, add, below, footer);

  let rows = [];
  let branch = null;
  let answer = null;

  function draw(focusRow = null) {
    rows = drawRows(question, edited, redraw);
    list.replaceChildren(...rows.map((row) => row.node));
    const options = question.kind === "choice" ? question.options : question.levels;
    add.hidden = question.kind === "boolean" || options.length >= MOST_OPTIONS;
    add.textContent = question.kind === "choice" ? "Add an option" : "Add a level";
    add.onclick = () => listEdits(options, question.kind === "choice", redraw).add(options.length);
    branch = drawBranch(question, () => {
      show(answer);
      tuned();
    });
    footer.replaceChildren(branch.node);
    node.dataset.kind = question.kind;
    show(null);
    fit();
    if (focusRow !== null) rows[focusRow].field.focus();
  }

  function fit() {
    fitHeight(instructions.field);
    rows.forEach((row) => row.fit());
  }

  function edited() {
    branch.show(answer);
    changed();
  }

  function redraw(focusRow) {
    question.threshold = Math.min(question.threshold, mostThreshold(question));
    draw(focusRow);
    changed();
  }

  function show(newAnswer) {
    answer = newAnswer;
    rows.forEach((row, index) => row.show(answer ? answer.probabilities[index] : null, answer?.best === index));
    node.style.setProperty("--threshold", question.threshold);
    branch.show(answer);
  }

  function complain(problems) {
    const messageAt = (...path) =>
      problems.find((problem) => path.every((step, index) => problem.path[index] === step))?.message;
    name.complain(messageAt("name"));
    instructions.complain(messageAt("instructions"));
    rows.forEach((row, index) => row.complain(messageAt("rows", index)));
  }

  function kindPicker() {
    return segments("Kind of question", KINDS, question.kind, (kind) => {
      question.kind = kind;
      question.threshold = firstThreshold(question);
      draw();
      changed();
    }).node;
  }

  function removeButton() {
    return element("button", {
      type: "button", className: "remove", textContent: "×", title: "Remove this question",
      aria: { label: "Remove this question" }, on: { click: removed },
    });
  }

  function nameCard() {
    node.setAttribute("aria-label", `Question ${question.name}`);
  }

  name.field.addEventListener("input", () => {
    nameCard();
    branch.show(answer);
  });
  nameCard();
  draw();
  return { node, question, show, untaught: (is) => { below.hidden = !is; }, complain, focus: () => name.field.select(), fit };
}

function textField(tag, key, label, question, changed) {
  const problem = element("p", { className: "problem", id: freshId("problem"), hidden: true });
  const field = element(tag, {
    className: key, value: question[key], spellcheck: tag === "textarea", autocomplete: "off",
    placeholder: key === "name" ? "name" : "What do you want to know?",
    aria: { label, describedby: problem.id },
    on: {
      input: () => {
        question[key] = field.value;
        changed();
      },
    },
  });
  return {
    node: element("div", { className: `field ${key}-field` }, field, problem),
    field,
    complain(message) {
      say(problem, message);
      field.setAttribute("aria-invalid", String(Boolean(message)));
    },
  };
}
