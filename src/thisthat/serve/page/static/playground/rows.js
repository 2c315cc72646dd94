// One row of a card for each possible answer: what it is called, what it means, its bar.

import { percent } from "./answers.js";
import { element, fitHeight, freshId, say } from "../elements.js";
import { MOST_OPTIONS } from "./play.js";

/** The rows of a question. `changed` hears of every edit, `redraw` of rows that come and go. */
export function drawRows(question, changed, redraw) {
  if (question.kind === "boolean") return booleanRows(question, changed);
  const list = question.kind === "choice" ? question.options : question.levels;
  const edits = listEdits(list, question.kind === "choice", redraw);
  return list.map((_, index) =>
    question.kind === "choice"
      ? optionRow(list, index, changed, edits)
      : levelRow(list, index, changed, edits));
}

/** Adding to and removing from a list of options or levels, with the row to look at afterwards. */
export function listEdits(list, named, redraw) {
  return {
    canRemove: list.length > 1,
    add(index) {
      if (list.length >= MOST_OPTIONS) return;
      list.splice(index, 0, named ? { name: "", description: "" } : "");
      redraw(index);
    },
    remove(index) {
      list.splice(index, 1);
      redraw(Math.min(index, list.length - 1));
    },
  };
}

function booleanRows(question, changed) {
  return [["yes", "Yes"], ["no", "No"]].map(([field, label]) => {
    const description = longInput(`What ${field} means`, "what it means (optional)", question[field]);
    description.addEventListener("input", () => {
      question[field] = description.value;
      changed();
    });
    return row([element("span", { className: `fixed ${field}`, textContent: label }), description], description);
  });
}

function optionRow(options, index, changed, edits) {
  const option = options[index];
  const place = `option ${index + 1}`;
  const name = textInput(`Name of ${place}`, "name", option.name);
  const description = longInput(`Description of ${place}`, "what it means (optional)", option.description);
  name.classList.add("name");
  name.addEventListener("input", () => {
    option.name = name.value;
    changed();
  });
  description.addEventListener("input", () => {
    option.description = description.value;
    changed();
  });
  return row([name, description], name, place, index, edits);
}

function levelRow(levels, index, changed, edits) {
  const place = `level ${index}`;
  const text = longInput(`Text of ${place}`, "what this level means", levels[index]);
  text.addEventListener("input", () => {
    levels[index] = text.value;
    changed();
  });
  const number = element("span", { className: "fixed level", textContent: index });
  return row([number, text], text, place, index, edits);
}

function textInput(label, placeholder, value) {
  return element("input", {
    type: "text", placeholder, value, autocomplete: "off", spellcheck: false, aria: { label },
  });
}

// Grows with its text; line breaks would tell the model nothing, so Enter is free for other things.
function longInput(label, placeholder, value) {
  const field = element("textarea", { rows: 1, placeholder, value, spellcheck: false, aria: { label } });
  field.addEventListener("input", () => fitHeight(field));
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.isComposing) event.preventDefault();
  });
  return field;
}

function row(fields, checked, place = null, index = 0, edits = null) {
  const bar = element("div", { className: "bar", aria: { hidden: "true" } });
  const share = element("output", { className: "share", textContent: "–" });
  const problem = element("p", { className: "problem", id: freshId("problem"), hidden: true });
  const node = element("li", { className: "row" }, ...fields, bar, share);
  if (edits) {
    node.append(removeButton(place, index, edits));
    node.addEventListener("keydown", (/** @type {any} */ event) => {
      if (event.key !== "Enter" || event.isComposing || event.target.type === "button") return;
      event.preventDefault();
      edits.add(index + 1);
    });
  }
  node.append(problem);
  checked.setAttribute("aria-describedby", problem.id);
  return {
    node,
    field: checked,
    fit: () => fields.filter((field) => field.type === "textarea").forEach(fitHeight),
    show(probability, best) {
      bar.style.setProperty("--share", probability ?? 0);
      node.classList.toggle("best", best);
      share.textContent = probability === null ? "–" : percent(probability);
    },
    complain(message) {
      say(problem, message);
      checked.setAttribute("aria-invalid", String(Boolean(message)));
    },
  };
}

function removeButton(place, index, edits) {
  return element("button", {
    type: "button", className: "remove", textContent: "×", disabled: !edits.canRemove,
    title: `Remove ${place}`, aria: { label: `Remove ${place}` }, on: { click: () => edits.remove(index) },
  });
}
