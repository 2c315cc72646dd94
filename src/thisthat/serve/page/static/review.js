// The review queue: decisions whose right option nobody knows yet, with the options as buttons.

import { announce } from "./announcer.js";
import { byId, element, freshId, say } from "./elements.js";

const REASONS = {
  unsure: "unsure",
  disagreeing: "two checkpoints disagree",
  drifting: "answers have drifted",
};

const shown = new Map();
const answered = new Set();

/** Show what the server would have reviewed; `post` records an outcome. Rows that stay keep focus. */
export function showReview({ queue, without_states: hidden }, post) {
  const wanted = queue.filter(({ decision }) => !answered.has(decision));
  const list = byId("review");
  const ids = new Set(wanted.map(({ decision }) => decision));
  for (const [decision, node] of shown) {
    if (!ids.has(decision) && !node.contains(document.activeElement)) drop(decision);
  }
  for (const found of wanted) {
    if (shown.has(found.decision)) continue;
    shown.set(found.decision, row(found, post));
    list.append(shown.get(found.decision));
  }
  const empty = hidden
    ? `Nothing to review: ${hidden} decisions have no stored state (serve with --log-states).`
    : "Nothing to review.";
  say(byId("review-empty"), shown.size ? null : empty);
}

function row(found, post) {
  const title = freshId("review");
  const fault = element("p", { className: "fault", role: "alert", hidden: true });
  const said = Math.round(100 * found.probabilities[found.said]);
  const meanings = Object.entries(found.options).filter(([, meaning]) => meaning !== null);
  const asks = [found.asks, ...meanings.map(([name, meaning]) => `${name}: ${meaning}`)].filter((each) => each !== null);
  const buttons = Object.keys(found.probabilities).map((option) => element("button", {
    type: "button", textContent: option, on: { click: () => choose(found, option, post, fault) },
  }));
  return element("li", { className: "reviewed" },
    element("h3", { id: title, textContent: found.question }),
    element("p", { className: "asks", hidden: !asks.length, textContent: asks.join("\n") }),
    element("p", {
      className: "hint",
      textContent: `said ${found.said}, ${said} % · ${found.reasons.map((each) => REASONS[each] ?? each).join(", ")}`,
    }),
    element("pre", { className: "state", textContent: found.state, tabIndex: 0, role: "region", aria: { label: "State" } }),
    element("div", { className: "actions", role: "group", aria: { labelledby: title } },
      element("span", { className: "hint", textContent: "Right answer:" }), ...buttons),
    fault);
}

async function choose(found, option, post, fault) {
  const node = shown.get(found.decision);
  const buttons = [...node.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await post({ decision: found.decision, option, source: "review page" });
  } catch (error) {
    buttons.forEach((button) => { button.disabled = false; });
    buttons.find((button) => button.textContent === option).focus();
    say(fault, `Not recorded: ${error.message}`);
    return;
  }
  answered.add(found.decision);
  const next = node.nextElementSibling ?? node.previousElementSibling;
  drop(found.decision);
  (next?.querySelector("button") ?? byId("review-heading")).focus();
  if (!shown.size) say(byId("review-empty"), "Nothing to review.");
  announce(`${found.question}: ${option} is recorded, ${shown.size} left`);
}

function drop(decision) {
  shown.get(decision).remove();
  shown.delete(decision);
}
