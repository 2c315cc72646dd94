// λ: the answers at several λ, from the parent at 0 to the whole of what was taught at 1.

import { chart } from "../charts.js";
import { element, freshId } from "../elements.js";
import { percent, readDecided } from "../playground/answers.js";
import { rowNames } from "../playground/play.js";
import { decideText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { fieldsOf, lambdasOf, loaded, nameOf } from "./checkpoints.js";
import { badge, hint, picker, results, share } from "./drawing.js";

const HOW = "thisthat serve --also-lambda 0 --also-lambda 0.5";

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  let model = null;
  let at = null;
  const found = results(context, (play, signal) => load(context, play, model, signal), (data) => draw(data));

  function draw({ checkpoints, served, answers, play }) {
    const lambdas = answers.map(({ lam }) => lam);
    at = at !== null && lambdas.includes(at) ? at : served.lambda;
    const pick = picker("Checkpoint", checkpoints.map((each) => [each.model, nameOf(each)]), served.model, (chosen) => {
      model = chosen;
      found.refresh();
    });
    const parts = checkpoints.length > 1 ? [pick] : [];
    if (lambdas.length === 1) {
      return [...parts, hint(`Only λ ${lambdas[0]} of ${nameOf(served)} is loaded. For the dial, load others too:`),
        element("pre", { className: "code", tabIndex: 0, role: "region", aria: { label: "The command" }, textContent: HOW })];
    }
    return [...parts, ...drawDial(play, answers, at, (chosen) => { at = chosen; })];
  }

  place.append(
    hint("θ = parent + λ · Δ. At λ 0 the parent answers, bit for bit; at λ 1 everything that was taught counts."),
    found.node,
  );
  return {
    refresh: found.refresh,
    wish: (wished) => { model = wished; },
  };
}

async function load(context, play, model, signal) {
  const checkpoints = await loaded(context, signal);
  const served = checkpoints.find((each) => each.model === model) ?? checkpoints[0];
  const answers = [];
  for (const lam of lambdasOf(served)) {
    const body = decideText(play, fieldsOf({ served, lam }));
    answers.push({ lam, answers: (await decided(body, context.key(), signal)).answers });
  }
  return { play, checkpoints, served, answers };
}

function drawDial(play, answers, at, turned) {
  const id = freshId("dial");
  const dial = element("input", { type: "range", id, min: 0, max: answers.length - 1, step: 1 });
  const label = element("label", { htmlFor: id, textContent: "λ" });
  const shown = element("output", { htmlFor: id });
  const bars = element("div", { className: "dial-answers" });
  const lambdas = answers.map(({ lam }) => lam);

  function show(place) {
    const { lam, answers: given } = answers[place];
    turned(lam);
    shown.textContent = lam;
    dial.setAttribute("aria-valuetext", `λ ${lam}`);
    bars.replaceChildren(...play.questions.map((question) => {
      const now = readDecided(question, given[question.name]);
      const first = readDecided(question, answers[0].answers[question.name]);
      return drawQuestion(question, now, first, lambdas[0]);
    }));
  }

  dial.value = String(lambdas.indexOf(at));
  dial.addEventListener("input", () => show(Number(dial.value)));
  show(lambdas.indexOf(at));
  return [element("div", { className: "dial" }, label, dial, shown), bars, ...play.questions.map((question) => drawLines(question, answers))];
}

function drawQuestion(question, now, first, lowest) {
  const names = rowNames(question);
  const turned = now.best === first.best ? [] : [" ", badge(`at λ ${lowest}: ${names[first.best]}`, "differs")];
  return element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: question.name }), ` ${names[now.best]}`, ...turned),
    element("ul", { className: "shares", role: "list" }, ...names.map((name, row) => element("li", {
      className: row === now.best ? "best" : "",
    }, element("span", { textContent: name }), share(now.probabilities[row])))));
}

function drawLines(question, answers) {
  const readings = answers.map(({ lam, answers: given }) => [lam, readDecided(question, given[question.name])]);
  const last = readings.at(-1)[1];
  const lines = last.probabilities.map((_, row) => ({
    points: readings.map(([lam, reading]) => [lam, reading.probabilities[row]]),
    kind: row === last.best ? "" : "other",
    sizes: readings.map(() => 3),
  }));
  const said = readings.map(([lam, reading]) => `${percent(reading.probabilities[last.best])} at λ ${lam}`).join(", ");
  return chart({
    label: `${question.name} by λ`,
    caption: `${question.name}: ${rowNames(question)[last.best]} ${said}. Other answers dashed.`,
    lines,
    xTicks: [[0, "λ 0"], [1, "λ 1"]],
    yTicks: [[0, "0"], [1, "1"]],
  });
}
