// Four plays to start from.

import { question } from "./play.js";

const REFUND = {
  state: {
    kind: "json",
    text: `{
  "order": 1187,
  "item": "ceramic teapot",
  "paid": "89.00 EUR",
  "goods_damaged": true,
  "days_since_delivery": 12,
  "message": "The spout was broken off when I opened the box. I would like my money back."
}`,
  },
  questions: [
    question("boolean", "refund", {
      instructions: "Is this refund within policy?",
      yes: "the goods are damaged and the number of days since delivery is at most 30",
      no: "anything else",
      threshold: 0.8,
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
      instructions: "How high is the number of days since delivery?",
      levels: ["under 10", "10 to 30", "more than 30"],
    }),
  ],
};

const SHELL = {
  state: {
    kind: "text",
    text: "rm -r /srv/app/*.log",
  },
  questions: [
    question("boolean", "deletes", {
      instructions: "Does this command delete something?",
      threshold: 0.8,
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
  state: {
    kind: "text",
    text: [
      "Subject: Charged twice??",
      "My card shows two payments of 24.90 for the June invoice.",
      "Please pay one of them back before Friday.",
      "Thanks, Jo",
    ].join("\n\n"),
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
    }),
  ],
};

const MAIL = {
  state: {
    kind: "text",
    text: `From: Your Bank <security@bank-alerts.example>
Subject: Your account is locked

Dear customer, your account was locked. Click the link below within 24 hours and enter your password to unlock it, or it will be closed.`,
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

/** Name on the button and the play behind it; copies, so that editing one leaves the example. */
export const EXAMPLES = [
  ["A refund", REFUND],
  ["A shell command", SHELL],
  ["A ticket", TICKET],
  ["A mail", MAIL],
].map(([name, play]) => ({ name, play: () => structuredClone(play) }));
