// Four plays to start from, each with a twin: one fact is another, and the right answers change. The
// tests ask the default checkpoint about them, and about what else people try first.

import { question } from "./play.js";

/** @type {(days: number) => import("./play.js").State} */
const teapot = (days) => ({
  kind: "json",
  text: `{
  "order": 1187,
  "item": "ceramic teapot",
  "paid": "89.00 EUR",
  "goods_damaged": true,
  "days_since_delivery": ${days},
  "message": "The spout was broken off when I opened the box. I would like my money back."
}`,
});

/** @type {(...paragraphs: string[]) => import("./play.js").State} */
const text = (...paragraphs) => ({ kind: "text", text: paragraphs.join("\n\n") });

const REFUND = {
  name: "A refund",
  state: teapot(12),
  twin: { name: "45 days instead of 12", state: teapot(45) },
  questions: [
    question("boolean", "refund", {
      instructions: "Is this refund within policy?",
      yes: "goods_damaged is true and days_since_delivery is at most 28",
      no: "goods_damaged is false or days_since_delivery is more than 28",
    }),
    question("choice", "wants", {
      instructions: "What does the customer ask for?",
      options: [
        { name: "refund", description: "money back" },
        { name: "replacement", description: "a new one instead" },
        { name: "repair", description: "to have it mended" },
      ],
    }),
    question("score", "age", {
      instructions: "How high is days_since_delivery?",
      levels: ["low: below 10", "medium: 10 to 28", "high: above 28"],
      threshold: 1.5,
    }),
  ],
};

const SHELL = {
  name: "A shell command",
  state: text("rm -rf /home/ana"),
  twin: { name: "ls instead of rm -rf", state: text("ls /home/ana") },
  questions: [
    question("boolean", "deletes", {
      instructions: "Does this command delete something?",
      yes: "rm, rmdir or -delete",
      no: "ls, cat, du, grep, cp or another command",
    }),
    question("choice", "directory", {
      instructions: "Which directory does the command touch?",
      options: ["/srv/app", "/etc", "/var/log", "/home/ana"].map((name) => ({
        name, description: "",
      })),
    }),
    question("score", "risk", {
      instructions: "How risky is the command?",
      levels: [
        "harmless: ls, cat, grep, du, tail",
        "careful: cp, mv, touch, mkdir, chmod",
        "dangerous: rm, rmdir, -delete",
      ],
      threshold: 1.5,
    }),
  ],
};

/** @type {(wish: string) => import("./play.js").State} */
const invoice = (wish) => text(
  "Subject: Charged twice??", "My card shows two payments of 24.90 for the June invoice.", wish, "Thanks, Jo",
);

const TICKET = {
  name: "A ticket",
  state: invoice("Please pay one of them back before Friday."),
  twin: { name: "an angry customer", state: invoice("I am furious. This is the third time and nobody answers!") },
  questions: [
    question("choice", "queue", {
      instructions: "Which team should take this ticket?",
      options: [
        { name: "billing", description: "charges, invoices and refunds" },
        { name: "technical", description: "errors in the app or site" },
        { name: "account", description: "sign-in, profile, closing an account" },
        { name: "sales", description: "plans and prices" },
      ],
      threshold: 0.6,
    }),
    question("boolean", "payment", {
      instructions: "Is it about a payment or an invoice?",
    }),
    question("score", "anger", {
      instructions: "How angry is the customer?",
      levels: ["not angry", "a little angry", "furious"],
      threshold: 1.5,
    }),
  ],
};

/** @type {(wish: string) => import("./play.js").State} */
const lunch = (wish) => text(
  "From: Ana Brandt\nSubject: Lunch on Thursday", `Hi Tom, are we still on for lunch on Thursday? ${wish} Ana`,
);

const MAIL = {
  name: "A mail",
  state: lunch("Please send me your password before."),
  twin: { name: "no password", state: lunch("I look forward to seeing you and the children.") },
  questions: [
    question("choice", "asks", {
      instructions: "What does the mail ask for?",
      options: [
        { name: "money", description: "money, a password or a card number" },
        { name: "meeting", description: "a meeting" },
        { name: "nothing", description: "nothing: it offers something in a shop" },
      ],
    }),
    question("boolean", "phishing", {
      instructions: "Is this message a phishing attempt?",
      yes: "it wants a password or money",
      no: "friends, news or offers",
    }),
    question("score", "danger", {
      instructions: "How dangerous is the mail?",
      levels: ["harmless: friends, news or offers", "doubtful: the sender is a stranger", "dangerous: it wants a password or money"],
      threshold: 1.5,
    }),
  ],
};

/**
 * @typedef {Object} Example
 * @property {string} name what its button says
 * @property {{name: string, state: import("./play.js").State}} twin
 * @property {() => import("./play.js").Play} play a copy, so that editing it leaves the example
 */

/** @type {Example[]} */
export const EXAMPLES = [REFUND, SHELL, TICKET, MAIL].map(({ name, twin, state, questions }) => ({
  name, twin, play: () => structuredClone({ state, questions }),
}));
