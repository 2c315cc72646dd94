// Four plays to start from, each with a twin: the same questions where the right answers change.
// The tests ask the default checkpoint about every one of them.

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
      yes: "the goods are damaged and the number of days since delivery is at most 30",
      no: "anything else",
    }),
    question("choice", "wants", {
      instructions: "What does the customer ask for?",
      options: [
        { name: "refund", description: "money back" },
        { name: "replacement", description: "a new one instead" },
        { name: "repair", description: "to have it mended" },
        { name: "advice", description: "an answer to a question" },
      ],
    }),
    question("score", "age", {
      instructions: "Is days_since_delivery low, medium or high?",
      levels: ["low: 0 to 9", "medium: 10 to 30", "high: 31 or more"],
      threshold: 1.5,
    }),
  ],
};

const SHELL = {
  name: "A shell command",
  state: text("rm -rf /home/ana"),
  twin: { name: "cat /etc/hosts", state: text("cat /etc/hosts") },
  questions: [
    question("boolean", "deletes", {
      instructions: "Does this command delete something?",
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
        "harmless: it only shows something",
        "careful: it changes something",
        "dangerous: it deletes something",
      ],
    }),
  ],
};

const TICKET = {
  name: "A ticket",
  state: text(
    "Subject: Charged twice??",
    "My card shows two payments of 24.90 for the June invoice.",
    "Please pay one of them back before Friday.",
    "Thanks, Jo",
  ),
  twin: {
    name: "an angry bug report",
    state: text(
      "Subject: The app crashes",
      "Every time I open the settings, the app closes with error 500.",
      "This is the third time I write, and I am furious!",
      "Jo",
    ),
  },
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
    question("boolean", "refund", {
      instructions: "Does the customer want money back?",
    }),
    question("score", "anger", {
      instructions: "How angry is the customer?",
      levels: ["calm", "annoyed", "furious"],
      threshold: 1.5,
    }),
  ],
};

const MAIL = {
  name: "A mail",
  state: text(
    "From: Your Bank <security@bank-alerts.example>\nSubject: Your account is locked",
    "Dear customer, your account was locked. Click the link below within 24 hours and enter your password to unlock it, or it will be closed.",
  ),
  twin: {
    name: "lunch with a friend",
    state: text(
      "From: Ana Brandt\nSubject: Lunch on Thursday",
      "Hi Tom, are we still on for lunch on Thursday? I look forward to seeing you and the children. Ana",
    ),
  },
  questions: [
    question("choice", "kind", {
      instructions: "What kind of mail is it?",
      options: [
        { name: "fraud", description: "somebody wants your password or money" },
        { name: "friends", description: "friends write to each other" },
        { name: "advertising", description: "a shop offers something" },
      ],
    }),
    question("boolean", "password", {
      instructions: "Does the mail ask for a password?",
    }),
    question("score", "danger", {
      instructions: "How dangerous is the mail?",
      levels: ["harmless", "doubtful", "dangerous"],
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
