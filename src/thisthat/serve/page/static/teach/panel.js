// Teach: labelled rows for the questions of the page, which to label next, and the light teach with
// what it brought. The server does the work in a process of its own.

import { announce } from "../announcer.js";
import { element, freshId, say } from "../elements.js";
import { undoLine } from "../undo.js";
import { ordered, raw, write } from "../playground/json_text.js";
import { labelNames, rowNames } from "../playground/play.js";
import { questionsOf, stateOf } from "../playground/request.js";
import { about, file, stream } from "../playground/server.js";
import { hint, save, table } from "../views/drawing.js";
import { keepRows, keptRows } from "./kept.js";
import { labeller } from "./labeller.js";
import { isLabelled, linesOf, rowValue } from "./labels.js";
import { rowsIn } from "./pasted.js";
import { drawDoubts, drawTaught } from "./results.js";

const LEAST = 20;
const NEXT = 20;

/** @type {(place: HTMLElement, context: import("../playground/tabs.js").Context) => import("../playground/tabs.js").View} */
export function open(place, context) {
  let rows = keptRows();
  /** @type {import("../playground/server.js").TeachLimits | null} */
  let limits = null;
  let running = null;

  const refused = element("p", { className: "hint", hidden: true });
  const key = element("input", { type: "password", id: freshId("admin"), autocomplete: "off", spellcheck: false });
  const keyLine = element("form", { className: "field-line", hidden: true, on: { submit: (event) => event.preventDefault() } },
    element("label", { htmlFor: key.id, textContent: "Admin key" }), key);
  const pasted = element("textarea", {
    className: "code", rows: 4, id: freshId("rows"), spellcheck: false,
    placeholder: '{"state": "…", "answers": {"queue": "billing"}}\nor states, one a line, or CSV',
  });
  const problem = element("p", { className: "problem lines", role: "alert", hidden: true });
  const undo = undoLine();
  const counts = element("div");
  const bar = element("progress", { max: 1, value: 0, hidden: true, aria: { label: "Progress" } });
  const results = element("div", { className: "results", aria: { live: "polite" } });
  const editor = labeller(() => rows, questions, rowsChanged);
  const buttons = {
    next: button(`Choose ${NEXT} to label next`, chooseNext),
    teach: button("Teach", teach, "strong"),
    doubts: button("Find wrong labels", findDoubts),
    stop: button("Stop", () => running?.abort()),
    download: button("Download labels.jsonl", () => save(linesOf(rows, questions()), "labels.jsonl", "application/jsonl")),
    clear: button("Remove all rows", removeAll),
  };

  function button(textContent, click, className = "") {
    return element("button", { type: "button", textContent, className, on: { click } });
  }

  function questions() {
    return context.play()?.questions ?? [];
  }

  function add(more) {
    show([...rows, ...more], rows.length);
  }

  function show(given, at = 0) {
    rows = given;
    rowsChanged();
    editor.show(at);
  }

  function rowsChanged() {
    undo.forget();
    keepRows(rows);
    drawCounts();
  }

  function removeAll() {
    const before = rows;
    show([]);
    undo.offer(before.length === 1 ? "1 row is removed." : `${before.length} rows are removed.`, () => show(before), true);
  }

  function drawCounts() {
    const asked = questions();
    const labelled = rows.filter((row) => isLabelled(row, asked));
    const busy = running !== null;
    buttons.next.disabled = busy || limits === null || labelled.length === rows.length;
    buttons.teach.disabled = busy || limits === null || labelled.length === 0;
    buttons.doubts.disabled = busy || limits === null || !asked.some((question) => rows.filter((row) => isLabelled(row, [question])).length >= LEAST);
    buttons.stop.hidden = !busy;
    buttons.download.disabled = buttons.clear.disabled = rows.length === 0;
    counts.replaceChildren(...(rows.length === 0 ? [] : [table("Labels by question", ["question", "labels", "of which"], asked.map(countLine))]));
  }

  function countLine(question) {
    const names = rowNames(question);
    const found = labelNames(question).map((label) => rows.filter((row) => row.answers[question.name] === label).length);
    const whole = found.reduce((sum, each) => sum + each, 0);
    const enough = whole === 0 || whole >= LEAST ? String(whole) : `${whole} of at least ${LEAST}`;
    return { cells: [question.name, enough, names.map((name, index) => `${name} ${found[index]}`).join(", ")] };
  }

  async function run(path, body, heard) {
    say(problem, null);
    running = new AbortController();
    bar.hidden = false;
    bar.removeAttribute("value");
    drawCounts();
    try {
      await stream(path, body, key.value.trim() || context.key(), running.signal, (line) => {
        if (line.progress) bar.value = line.progress.share;
        else heard(line);
      });
    } catch (error) {
      say(problem, running.signal.aborted ? "Stopped." : error.message);
    } finally {
      running = null;
      bar.hidden = true;
      drawCounts();
    }
  }

  function labelledBody(asked) {
    const given = rows.filter((row) => isLabelled(row, asked));
    const values = given.map((row) => rowValue(row, asked));
    return { given, body: write(ordered([["questions", labelledQuestions(asked)], ["rows", values]])) };
  }

  function findDoubts() {
    const asked = questions();
    const { given, body } = labelledBody(asked);
    results.replaceChildren();
    return run("admin/doubts", body, ({ doubts }) => {
      const told = (name, label) => {
        const question = asked.find((each) => each.name === name);
        return rowNames(question)[labelNames(question).indexOf(label)];
      };
      const link = (number) => button(`Row ${rows.indexOf(given[number]) + 1}`, () => editor.look(given[number]), "small");
      const drawn = drawDoubts(doubts, told, link);
      results.replaceChildren(...drawn);
      announce(drawn[0].textContent);
    });
  }

  function teach() {
    const { body } = labelledBody(questions());
    results.replaceChildren();
    return run("admin/teach", body, ({ taught }) => {
      results.replaceChildren(...drawTaught(taught), ...(taught.model === null ? [] : [uses(taught)]));
      announce(taught.lines.join(" "));
    });
  }

  // A question nobody has labelled yet cannot be taught, and need not be.
  function labelledQuestions(asked) {
    const some = asked.filter((question) => rows.some((row) => isLabelled(row, [question])));
    return questionsOf({ questions: some });
  }

  function uses({ model }) {
    return element("div", { className: "actions" },
      button("Compare it with the served checkpoint", () => context.open("compare", { model })),
      button("Try other λ", () => context.open("lambda", model)),
      button(`Download ${model}.zip`, async () => {
        try {
          save(await file(`admin/taught/${model}`, key.value.trim() || context.key()), `${model}.zip`);
        } catch (error) {
          say(problem, error.message);
        }
      }));
  }

  function chooseNext() {
    const asked = questions();
    const open = rows.filter((row) => !isLabelled(row, asked));
    const done = rows.filter((row) => isLabelled(row, asked));
    const states = (given) => given.map(({ state }) => raw(state));
    const body = write(ordered([
      ["questions", questionsOf(context.play())], ["states", states(open)], ["labelled", states(done)], ["count", NEXT],
    ]));
    return run("admin/label", body, ({ next }) => {
      const chosen = next.map(({ number, answers }) => ({ ...open[number], suggested: answers }));
      const numbers = new Set(next.map(({ number }) => number));
      show([...done, ...chosen, ...open.filter((_, number) => !numbers.has(number))], done.length);
      editor.focus();
      announce(`${chosen.length} rows to label next, the most useful first`);
    });
  }

  function paste() {
    say(problem, null);
    try {
      if (context.play() === null) throw new Error("Put the questions in order first: labels are read by them.");
      const taken = rows.flatMap(({ id }) => (id === null ? [] : [id]));
      add(rowsIn(pasted.value, questions(), taken));
      pasted.value = "";
    } catch (error) {
      say(problem, error.message);
    }
  }

  async function useSample() {
    const { SAMPLE } = await import("./sample.js");
    const [play, before] = [context.load(SAMPLE.play()), rows];
    show(SAMPLE.rows());
    const lost = before.length === 0 ? "" : before.length === 1 ? " and 1 row" : ` and ${before.length} rows`;
    undo.offer(`The sample has replaced your state, your questions${lost}.`, () => {
      context.load(play);
      show(before);
    });
  }

  place.append(
    hint("Teach these questions from labelled states. A head is fitted on top of the checkpoint, whose weights stay as they are; each question needs 20 labelled states."),
    refused, keyLine,
    element("label", { htmlFor: pasted.id, textContent: "Rows" }), pasted,
    element("div", { className: "actions" },
      button("Add these", paste),
      button("Add the state above", () => context.play() && add([{ id: null, state: write(stateOf(context.play())), answers: {} }])),
      button("Use a sample", useSample)),
    problem, undo.node, counts, editor.node,
    element("div", { className: "actions" }, buttons.next, buttons.doubts, buttons.teach, buttons.stop, buttons.download, buttons.clear),
    bar, results,
  );

  return {
    async refresh() {
      editor.draw();
      drawCounts();
      try {
        limits = (await about(context.key())).teach;
      } catch (error) {
        limits = null;
        say(problem, error.message);
      }
      keyLine.hidden = !limits?.admin;
      say(refused, limits === null
        ? "This server does not teach: start it with --admin-keys or, on your own machine, with --teach. You can still label rows here and download them for thisthat teach."
        : null);
      drawCounts();
    },
  };
}
