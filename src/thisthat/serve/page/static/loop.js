// The loop's page: reads what the server knows every few seconds, records what people say about
// decisions, and asks the server to go back. Where there is no loop it says how to have one.

import { announce } from "./announcer.js";
import { chart, evidence } from "./charts.js";
import { byId, element, say } from "./elements.js";
import { showReview } from "./review.js";

const EVERY = 3000;
const COUNTS = {
  known: "with an outcome", immature: "window not over", censored: "no outcome came",
  repeated: "repeat another", unassigned: "state not named", late: "late outcomes", contradictory: "contradictory",
  orphan: "outcomes without a decision", ambiguous: "ambiguous outcomes", early: "early outcomes",
};

let key = null;
let timer = null;

async function asked(method, body, path = "admin/loop") {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const payload = await response.json().catch(() => null);
  if (response.ok) return payload;
  const detail = payload?.detail;
  const said = Array.isArray(detail) ? detail[0]?.msg : detail;
  throw Object.assign(new Error(said ?? `The server answered ${response.status}.`), { status: response.status });
}

async function start() {
  // Where deciding takes a key, an admin key need not be one: then only the loop itself can tell.
  const about = await asked("GET", undefined, "page/about").catch(() => null);
  if (about && !about.loop) lacking();
  else if (key) look();
  else askForKey();
}

async function look() {
  clearTimeout(timer);
  try {
    show(await asked("GET"));
    showReview(await asked("GET", undefined, "admin/loop/review"), record);
    byId("key-form").hidden = true;
    say(byId("notice"), null);
  } catch (error) {
    refused(error);
    if (error.status === 401 || error.status === 403 || error.status === 409) return;
  }
  timer = setTimeout(look, EVERY);
}

const record = (outcome) => asked("POST", { outcomes: [outcome] }, "v1/outcomes");

function refused(error) {
  if (error.status === 409) {
    lacking();
    return;
  }
  if (error.status === 401) askForKey();
  say(byId("notice"), error.message);
}

function askForKey() {
  byId("key-form").hidden = false;
  byId("key").focus();
}

function lacking() {
  byId("key-form").hidden = true;
  say(byId("notice"), null);
  byId("lacking").hidden = false;
}

async function act(body, question) {
  if (!confirm(question)) return;
  try {
    await asked("POST", body);
    announce("Done");
  } catch (error) {
    say(byId("notice"), error.message);
    return;
  }
  look();
}

// --- showing ---

function show(found) {
  byId("board").hidden = false;
  byId("champion").textContent = found.champion ? `champion ${named(found.champion)}` : "no champion";
  const tried = found.running.map(trial);
  byId("trying").replaceChildren(...(tried.length ? tried : [element("p", { className: "hint", textContent: "Nothing is being tried." })]));
  byId("decisions").replaceChildren(...charts(found));
  const counts = Object.entries(found.counts).filter(([, count]) => count > 0);
  table("counts", ["Decisions", "Number"], counts.map(([name, count]) => [COUNTS[name] ?? name, count]));
  table("questions", ["Question", "Decisions", "Outcomes", "Mean reward"],
    Object.entries(found.questions).map(([name, each]) => [name, each.decisions, each.outcomes, number(each.reward)]));
  byId("evaluated").hidden = !found.evaluations.length;
  table("evaluations", ["Version", "Found", "Decisions", "Champion", "Candidate", "Difference"],
    found.evaluations.map((each) => [
      each.version, each.part, each.rows, number(each.champion), number(each.candidate),
      `${signed(each.difference)} [${signed(each.low)}, ${signed(each.high)}]`,
    ]));
  table("history", ["When", "What", "Version", "By", "About"], [...found.history].reverse().map((event) => [
    moment(event.time), event.what, event.version, event.by, event.told,
  ]));
  const back = byId("roll-back");
  back.hidden = !found.before;
  back.textContent = found.before ? `Roll back to ${named(found.before)}` : "";
  back.onclick = () => act({ do: "roll back" }, `${back.textContent}?`);
}

function trial(tried) {
  const { numbers } = tried;
  const arm = (name) => `${name}: ${number(numbers[name].mean) || "no reward yet"} over ${numbers[name].outcomes}`;
  const lines = [
    `${(100 * tried.share).toFixed(1)} % of the units, margin ${tried.margin}, α ${tried.alpha}`,
    ...tried.ramp.map(([share, from]) => `${(100 * share).toFixed(1)} % from ${from} outcomes on`),
    arm("champion"), arm("candidate"),
  ];
  const buttons = [element("button", {
    type: "button", textContent: "End it",
    on: { click: () => act({ do: "end", experiment: tried.name }, `End ${tried.name}?`) },
  })];
  if (tried.ready) {
    buttons.push(element("button", {
      type: "button", textContent: "Promote",
      on: { click: () => act({ do: "promote", version: tried.version }, `Make ${tried.version} the champion?`) },
    }));
  }
  const about = element("div", {},
    element("h3", { textContent: `${tried.name}: ${tried.version} against ${tried.champion}` }),
    element("p", { className: tried.ready ? "ready" : "hint", textContent: tried.ready ? "Not worse: ready to promote." : numbers.verdict }),
    ...lines.map((text) => element("p", { textContent: text })),
    element("div", { className: "actions" }, ...buttons));
  const curve = tried.points.length
    ? evidence(tried.points, numbers.bound)
    : element("p", { className: "hint", textContent: "No outcome has come yet." });
  return element("article", { className: "trial" }, about, curve);
}

function charts({ periods, reliability }) {
  if (!periods.length) return [element("p", { className: "hint", textContent: "The log has no decisions." })];
  const most = Math.max(...periods.map((each) => each.decisions));
  const place = (n) => n / Math.max(1, periods.length - 1);
  const known = periods.map((each, n) => [place(n), each.reward]).filter(([, reward]) => reward !== null);
  const half = [[0, "0"], [0.5, "0.5"], [1, "1"]];
  const found = [chart({
    label: "Mean reward over time",
    caption: `Mean reward of what has an outcome; dashed: decisions, at most ${most} a period.`,
    lines: [
      { points: periods.map((each, n) => [place(n), each.decisions / most]), kind: "other" },
      { points: known, sizes: known.map(() => 3) },
    ],
    xTicks: [[0, moment(periods[0].from).slice(0, 16)], [1, "now"]],
    yTicks: half,
  })];
  if (reliability.length) {
    const largest = Math.max(...reliability.map((each) => each.count));
    found.push(chart({
      label: "Reliability",
      caption: "Share right by the probability of the answer; larger dots have more decisions.",
      lines: [
        { points: [[0, 0], [1, 1]], kind: "limit" },
        {
          points: reliability.map((each) => [each.confidence, each.accuracy]),
          sizes: reliability.map((each) => 2 + 5 * Math.sqrt(each.count / largest)),
        },
      ],
      xTicks: half, yTicks: half,
    }));
  }
  return found;
}

function table(id, heads, rows) {
  const row = (tag, cells) => element("tr", {}, ...cells.map((cell) => element(tag, { textContent: cell })));
  byId(id).replaceChildren(element("thead", {}, row("th", heads)), element("tbody", {}, ...rows.map((cells) => row("td", cells))));
}

const named = ({ version, lam }) => (lam === null ? version : `${version}, λ ${lam}`);
const number = (value) => (value === null ? "" : value.toFixed(3));
const signed = (value) => (value < 0 ? "" : "+") + value.toFixed(3);
const moment = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");

byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim() || null;
  start();
});
start();
