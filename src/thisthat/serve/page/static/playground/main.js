// The playground: holds one play, asks the server after every change, shows what comes back.

import { announce } from "../announcer.js";
import { copy } from "../clipboard.js";
import { byId, say } from "../elements.js";
import { readAnswer } from "./answers.js";
import { codePanel } from "./code_panel.js";
import { keepDraft, keptDraft } from "./draft.js";
import { EXAMPLES } from "./examples.js";
import { examplesBar } from "./examples_bar.js";
import { latest } from "./latest.js";
import { fragmentOf, playIn } from "./link.js";
import { freshName, KINDS, question } from "./play.js";
import { questionCard } from "./question_card.js";
import { missingFrom, problemsOf } from "./request.js";
import { schemaPanel } from "./schema_panel.js";
import { about, answersTo } from "./server.js";
import { shortcuts } from "./shortcuts.js";
import { announceAnswers } from "./spoken.js";
import { statePanel } from "./state_panel.js";
import { tabs } from "./tabs.js";
import { timings } from "./timings.js";

const ANSWER_WAIT = 120;
const COPIED_SHOWN = 1600;

/** @type {import("./play.js").Play} */
let play = null;
let cards = [];
let key = null;
let keyed = false;
let asksAbout = true;

const state = statePanel(changed);
const code = codePanel();
const calls = timings();
const answers = latest((signal) => answersTo(play, key, signal), {
  wait: ANSWER_WAIT, done: showAnswers, failed: showRefusal,
});
const views = tabs({
  play: () => (askable() ? play : null), missing: () => missingFrom(play), key: () => key, timings: calls.all, ask: () => askNow(),
  load(given) {
    const before = play;
    examples.follow(null);
    load(given);
    return before;
  },
});

// --- the play ---

function load(newPlay) {
  play = newPlay;
  state.show(play.state);
  cards = [];
  byId("cards").replaceChildren();
  play.questions.forEach(addCard);
  changed();
}

function addCard(asked) {
  const card = questionCard(asked, { changed, tuned, removed: () => removeQuestion(card) });
  cards.push(card);
  byId("cards").append(card.node);
  card.fit();
  return card;
}

function fit() {
  state.fit();
  cards.forEach((card) => card.fit());
}

function addQuestion(kind) {
  const asked = question(kind, freshName(kind, play.questions));
  play.questions.push(asked);
  addCard(asked).focus();
  changed();
}

function removeQuestion(card) {
  const index = cards.indexOf(card);
  play.questions.splice(index, 1);
  cards.splice(index, 1);
  card.node.remove();
  const next = cards[Math.min(index, cards.length - 1)];
  if (next) next.focus();
  else byId("add-boolean").focus();
  changed();
}

// --- asking ---

function askable() {
  return play !== null && problemsOf(play).length === 0;
}

function changed() {
  complain(problemsOf(play));
  keepDraft(play);
  code.show(play, keyed);
  examples.look(play.state);
  outdated(true);
  waiting(askable());
  if (askable()) {
    answers.schedule();
  } else {
    answers.cancel();
    byId("meter").textContent = "";
    views.refresh();
  }
}

function askNow() {
  if (!askable()) return;
  waiting(true);
  answers.schedule(0);
}

function tuned() {
  keepDraft(play);
  code.show(play, keyed);
}

function showAnswers(response) {
  waiting(false);
  outdated(false);
  say(byId("notice"), null);
  keyTaken();
  /** @type {[import("./play.js").Question, import("./answers.js").Reading][]} */
  const pairs = cards.map((card) => {
    const answer = readAnswer(card.question, response.answers[card.question.name]);
    card.show(answer);
    card.untaught(response.untaught.includes(card.question.name));
    return [card.question, answer];
  });
  byId("model").textContent = modelLine(response);
  byId("meter").textContent = meterLine(response);
  announceAnswers(pairs);
  calls.add(response);
  views.refresh();
  if (asksAbout) offerLoop();
}

async function offerLoop() {
  asksAbout = false;
  const found = await about(key).catch(() => null);
  asksAbout = found === null;
  byId("loop").hidden = !found?.loop;
}

function modelLine({ model, version, lambda, untaught }) {
  const all = untaught.length >= cards.length ? "untaught" : null;
  return [model, version, lambda === undefined ? null : `λ ${lambda}`, all].filter(Boolean).join(" · ");
}

function meterLine({ milliseconds, usage }) {
  return `${Math.round(milliseconds)} ms · ${usage.input_tokens} tokens read · none written`;
}

function outdated(are) {
  byId("cards").classList.toggle("outdated", are);
}

function waiting(is) {
  byId("cards").setAttribute("aria-busy", String(is));
}

// --- what went wrong ---

function showRefusal(error) {
  waiting(false);
  if (error.status === 401) {
    askForKey();
    return;
  }
  const placed = error.problems ?? [];
  complain(placed);
  say(byId("notice"), placed.length > 0 ? null : refusalLine(error));
  if (error.retryAfter) answers.schedule(error.retryAfter);
}

function refusalLine(error) {
  if (error.status === undefined) return "The server cannot be reached.";
  if (!error.retryAfter) return error.message;
  return `${error.message} Trying again in ${Math.ceil(error.retryAfter / 1000)} s.`;
}

function askForKey() {
  keyed = true;
  code.show(play, keyed);
  say(byId("notice"), key ? "The server does not know this key." : null);
  byId("key-form").hidden = false;
  byId("key").select();
}

function keyTaken() {
  const form = byId("key-form");
  const focused = form.contains(document.activeElement);
  form.hidden = true;
  if (focused) byId("state").focus();
}

function complain(problems) {
  const alone = (top) => problems.find(({ path }) => path[0] === top && path.length === 1)?.message;
  state.complain(alone("state"));
  say(byId("questions-problem"), alone("questions"));
  cards.forEach((card, index) => {
    const own = problems.filter(({ path }) => path[0] === "questions" && path[1] === index);
    card.complain(own.map(({ path, message }) => ({ path: path.slice(2), message })));
  });
}

// --- copying ---

async function copyFrom(button, label, text) {
  const done = await copy(text);
  announce(done ? "Copied" : "The browser did not allow copying");
  button.textContent = done ? "Copied" : "Not allowed";
  setTimeout(() => { button.textContent = label; }, COPIED_SHOWN);
}

function copyCode() {
  return copyFrom(byId("copy-code"), "Copy", code.text);
}

async function share() {
  history.replaceState(null, "", await fragmentOf(play));
  await copyFrom(byId("share"), "Copy link", location.href);
}

// --- starting ---

async function linkedPlay() {
  const notice = byId("link-notice");
  say(notice, null);
  try {
    return await playIn(location.hash);
  } catch {
    say(notice, "This link is damaged: it holds no state and questions.");
    return null;
  }
}

async function loadLink() {
  const linked = await linkedPlay();
  if (!linked) return;
  examples.follow(null);
  load(linked);
}

const examples = examplesBar(
  (example) => {
    history.replaceState(null, "", location.pathname);
    say(byId("link-notice"), null);
    load(example);
  },
  (other) => {
    play.state = other;
    state.show(play.state);
    changed();
  },
);
schemaPanel((questions) => {
  const before = play.questions;
  load({ state: play.state, questions });
  return before;
});
for (const [kind] of KINDS) byId(`add-${kind}`).addEventListener("click", () => addQuestion(kind));
byId("share").addEventListener("click", share);
byId("copy-code").addEventListener("click", copyCode);
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  key = byId("key").value.trim() || null;
  changed();
});
shortcuts([
  ["Enter", "Enter", "ask again now", askNow],
  ["KeyS", "S", "go to the state", () => byId("state").focus()],
  ["KeyQ", "Q", "go to the first question", () => cards[0]?.focus()],
  ["KeyC", "C", "copy the code", copyCode],
  ["KeyV", "V", "go to the views", views.focus],
  ["KeyT", "T", "teach", () => {
    views.open("teach");
    views.focus();
  }],
  ["KeyK", "K", "this list", () => byId("keys").click()],
]);
addEventListener("hashchange", loadLink);
addEventListener("resize", fit);

const started = (await linkedPlay()) ?? keptDraft();
examples.follow(started === null ? EXAMPLES[0] : null);
load(started ?? EXAMPLES[0].play());
