// Compare: two checkpoints, or one at two λ, on the same questions; differences are marked.

import { element } from "../elements.js";
import { percent, readDecided } from "../playground/answers.js";
import { rowNames } from "../playground/play.js";
import { decideText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { fieldsOf, loaded, settingName, settingsOf } from "./checkpoints.js";
import { badge, hint, picker, results, share, table } from "./drawing.js";

const CLEAR = 0.05;
const HOW = "thisthat serve --also-checkpoint REF\nthisthat serve --also-lambda 0";

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  /** @type {(string | null)[]} */
  const chosen = [null, null];
  const found = results(context, (play, signal) => load(context, play, chosen, signal), draw);

  function draw({ settings, pair, play, answers }) {
    if (settings.length === 1) {
      return [
        hint(`Only ${settingName(settings[0])} is loaded. Load another checkpoint or another λ, or teach in this page and compare what it learned:`),
        element("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "The commands" }, textContent: HOW }),
      ];
    }
    const names = settings.map((each) => [settingName(each), settingName(each)]);
    const pickers = pair.map((setting, side) => element("p", { className: `side ${side ? "b" : "a"}` },
      element("span", { className: "letter", textContent: "AB"[side], aria: { hidden: "true" } }),
      picker(`Checkpoint ${"AB"[side]}`, names, settingName(setting), (picked) => {
        // The other side stays what it is, also where nobody has chosen it.
        pair.forEach((each, other) => { chosen[other] = other === side ? picked : settingName(each); });
        found.refresh();
      })));
    return [...pickers, ...drawAnswers(play, answers)];
  }

  place.append(hint("The same state and questions, answered twice."), found.node);
  return {
    refresh: found.refresh,
    wish({ model }) {
      chosen[0] = null;
      chosen[1] = model;
    },
  };
}

async function load(context, play, chosen, signal) {
  const settings = settingsOf(await loaded(context, signal));
  const named = (wanted) => settings.find((each) => settingName(each) === wanted || each.served.model === wanted);
  const first = named(chosen[0]) ?? settings[0];
  const pair = [first, named(chosen[1]) ?? settings.find((each) => each !== first) ?? first];
  const answers = [];
  if (settings.length > 1) {
    for (const setting of pair) {
      answers.push((await decided(decideText(play, fieldsOf(setting)), context.key(), signal)).answers);
    }
  }
  return { settings, pair, play, answers };
}

function drawAnswers(play, [one, other]) {
  const compared = play.questions.map((question) => ({
    question,
    pair: [one, other].map((answers) => readDecided(question, answers[question.name])),
  }));
  const same = compared.filter(({ pair: [a, b] }) => a.best === b.best).length;
  return [
    element("p", { className: "strong", textContent: `${same} of ${compared.length} answers are the same.` }),
    ...compared.map(drawQuestion),
  ];
}

function drawQuestion({ question, pair: [a, b] }) {
  const names = rowNames(question);
  const verdict = a.best === b.best
    ? badge(`both ${names[a.best]}`, "same")
    : badge(`${names[a.best]} becomes ${names[b.best]}`, "differs");
  const rows = names.map((name, row) => {
    const moved = b.probabilities[row] - a.probabilities[row];
    return {
      cells: [name, share(a.probabilities[row]), share(b.probabilities[row], { className: "b" }), signed(moved)],
      className: Math.abs(moved) >= CLEAR ? "moved" : "",
    };
  });
  return element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: question.name }), " ", verdict),
    table(`${question.name}: A and B`, ["option", "A", "B", "B − A"], rows));
}

/** A difference of two shares; one that is too small to tell has no sign. */
export function signed(value) {
  const shown = percent(Math.abs(value));
  return Math.round(Math.abs(value) * 100) === 0 ? shown : `${value < 0 ? "−" : "+"}${shown}`;
}
