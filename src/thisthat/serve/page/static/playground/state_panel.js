// The state: text or JSON, and what is wrong with it.

import { byId, fitHeight, say, segments } from "../elements.js";
import { looksLikeJson } from "./json_text.js";

/** @type {[string, string][]} */
const KINDS = [["text", "Text"], ["json", "JSON"]];

/** `changed` hears of every edit; `show` puts a new state in. */
export function statePanel(changed) {
  const [field, problem, offer, printed] = ["state", "state-problem", "state-offer", "state-print"].map(byId);
  let state = { kind: "text", text: "" };
  const kinds = segments("What the state is", KINDS, state.kind, choose);
  byId("state-kind").append(kinds.node);

  function choose(kind) {
    state.kind = kind;
    refresh();
    changed();
  }

  function refresh() {
    fitHeight(field);
    printed.textContent = state.text;
    offer.hidden = state.kind === "json" || !looksLikeJson(state.text);
  }

  field.addEventListener("input", () => {
    state.text = field.value;
    refresh();
    changed();
  });
  byId("state-as-json").addEventListener("click", () => {
    kinds.choose("json");
    choose("json");
    field.focus();
  });

  return {
    show(newState) {
      state = newState;
      field.value = state.text;
      kinds.choose(state.kind);
      refresh();
    },
    complain(message) {
      say(problem, message);
      field.setAttribute("aria-invalid", String(Boolean(message)));
    },
    fit: () => fitHeight(field),
  };
}
