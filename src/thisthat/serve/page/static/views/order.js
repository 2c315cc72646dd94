// Order: does the answer to a choice change with the order of its options? Every rotation of the
// options is asked as a question of its own in one request, and the server's average beside them.

import { element } from "../elements.js";
import { percent, readDecided } from "../playground/answers.js";
import { decideText } from "../playground/request.js";
import { decided } from "../playground/server.js";
import { badge, hint, results, table } from "./drawing.js";

const MOST_ROTATIONS = 6;

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  const found = results(context, (play, signal) => load(play, context.key(), signal), draw);
  place.append(
    hint("A model reads options one after another. Here each option of a choice comes first once; “average” is what order=\"average\" answers."),
    found.node,
  );
  return { refresh: found.refresh };
}

async function load(play, key, signal) {
  const choices = play.questions.filter(({ kind, options }) => kind === "choice" && options.length > 1);
  if (choices.length === 0) return [];
  const asked = choices.flatMap((choice) => rotations(choice));
  const ask = (questions, more) => decided(decideText({ state: play.state, questions }, more), key, signal);
  const rotated = await ask(asked.map(({ question }) => question), []);
  const averaged = await ask(choices, [["order", "average"]]);
  return choices.map((choice) => ({
    choice,
    columns: asked.filter(({ of }) => of === choice).map(({ question, first }) => ({
      first, answer: readDecided(choice, rotated.answers[question.name]),
    })),
    average: readDecided(choice, averaged.answers[choice.name]),
  }));
}

function rotations(choice) {
  const count = choice.options.length;
  const step = Math.max(1, count / MOST_ROTATIONS);
  const starts = Array.from({ length: Math.min(count, MOST_ROTATIONS) }, (_, number) => Math.floor(number * step));
  return starts.map((start) => ({
    of: choice,
    first: choice.options[start].name,
    question: {
      ...choice,
      name: `${choice.name} from ${start}`,
      options: [...choice.options.slice(start), ...choice.options.slice(0, start)],
    },
  }));
}

function draw(found) {
  if (found.length === 0) {
    return [hint("There is no choice among the questions. Yes or no and the levels of a score have a fixed order.")];
  }
  return found.map(drawChoice);
}

function drawChoice({ choice, columns, average }) {
  const names = choice.options.map(({ name }) => name);
  const bests = new Set(columns.map(({ answer }) => answer.best));
  const spread = Math.max(...names.map((_, row) => {
    const shares = columns.map(({ answer }) => answer.probabilities[row]);
    return Math.max(...shares) - Math.min(...shares);
  }));
  const verdict = bests.size === 1
    ? badge(`${names[average.best]} in every order`, "same")
    : badge(`${bests.size} different answers`, "differs");
  const cell = (answer, row) => element("span", {
    className: answer.best === row ? "strong" : "", textContent: percent(answer.probabilities[row]),
  });
  const rows = names.map((name, row) => ({
    cells: [name, ...columns.map(({ answer }) => cell(answer, row)), cell(average, row)],
  }));
  return element("section", { className: "answer" },
    element("h3", {}, element("code", { textContent: choice.name }), " ", verdict),
    table(`${choice.name}: probabilities by which option comes first`, ["option", ...columns.map(({ first }) => first), "average"], rows),
    hint(moved(spread)));
}

/** How far the probabilities move, in words. */
export function moved(spread) {
  const most = percent(spread);
  return most.startsWith("<") ? "Every probability moves by less than 1 %." : `No probability moves by more than ${most}.`;
}
