// Policy: what a policy file would do with the answers. The file stays in this tab.

import { element, freshId } from "../elements.js";
import { percent } from "../playground/answers.js";
import { raw } from "../playground/json_text.js";
import { decideText, schemaText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { badge, hint, results, save } from "./drawing.js";

const KINDS = { act: "same", escalate: "differs", abstain: "quiet" };
const MEANINGS = { act: "act", escalate: "ask a person", abstain: "do nothing" };

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const text = element("textarea", {
    id: freshId("policy"), className: "code", rows: 5, spellcheck: false, placeholder: '{"format": "thisthat policy 1", …}',
    on: { input: refresh },
  });
  const file = element("input", {
    type: "file", accept: ".json,application/json", aria: { label: "Policy file" },
    on: {
      async change() {
        text.value = file.files.length > 0 ? await file.files[0].text() : "";
        refresh();
      },
    },
  });
  const force = element("input", { type: "checkbox", id: freshId("force"), on: { change: refresh } });
  const found = results(context, (play, signal) => load(context, play, text.value, force.checked, signal), draw);

  function refresh() {
    if (text.value.trim() === "") found.say("No policy yet. The command above fits one to your labels.");
    else found.refresh();
  }

  place.append(
    hint("A policy has cut-offs fitted on your labels, and says when to act on an answer and when to ask a person."),
    element("div", { className: "actions" },
      file,
      element("button", {
        type: "button", textContent: "Download schema.json",
        on: { click: () => context.play() && save(schemaText(context.play()), "schema.json", "application/json") },
      })),
    element("pre", {
      className: "code", tabIndex: 0, role: "region", aria: { label: "How to fit a policy" },
      textContent: `thisthat threshold fit labelled.jsonl --schema schema.json \\\n  --target "error<=0.05" --server ${new URL(".", location.href).href.replace(/\/$/, "")}`,
    }),
    element("label", { htmlFor: text.id, textContent: "Or paste its content" }),
    text,
    element("p", { className: "check" }, force, element("label", {
      htmlFor: force.id, textContent: "Apply it to other questions or another checkpoint too; its guarantee does not hold there",
    })),
    found.node,
  );
  return { refresh };
}

async function load(context, play, text, force, signal) {
  const names = Object.keys(read(text).questions ?? {});
  // A policy may be asked about some of its questions, but not about others.
  const questions = play.questions.filter(({ name }) => names.includes(name));
  if (questions.length === 0) throw new Error(`None of these questions is in the policy, which has ${names.join(", ") || "none"}.`);
  /** @type {[string, unknown][]} */
  const more = [["policy", raw(text)], ["force_policy", force]];
  const { answers } = await decided(decideText({ ...play, questions }, more), context.key(), signal);
  return play.questions.map(({ name }) => ({ name, outcome: answers[name]?.outcome }));
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Not valid JSON: ${error.message}`);
  }
}

function draw(outcomes) {
  return outcomes.map(({ name, outcome }) => element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: name }), " ",
      outcome ? badge(MEANINGS[outcome.action], KINDS[outcome.action]) : badge("not in the policy", "quiet"),
      outcome?.option ? ` ${outcome.option}` : ""),
    ...(outcome ? told(outcome) : [])));
}

function told({ reason, options, coverage, level, forced }) {
  const lines = [reason];
  if (options) lines.push(`Prediction set: ${options.join(", ")}. On average over states, ${percent(coverage)} of such sets or more hold the right option.`);
  if (level !== null && level !== undefined) lines.push(`Calibrated level ${level.toFixed(2)}.`);
  if (forced?.length) lines.push(`Not fitted for this: ${forced.join("; ")}`);
  return lines.map(hint);
}
