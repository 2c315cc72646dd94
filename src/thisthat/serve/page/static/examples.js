// Four plays to start from.

import { question } from "./play.js";

const REFUND = {
  state: {
    kind: "json",
    text: `{
  "order": 1187,
  "item": "ceramic teapot",
  "paid": "89.00 EUR",
  "delivered_days_ago": 12,
  "message": "The spout was broken off when I opened the box. I would like my money back."
}`,
  },
  questions: [
    question("boolean", "refund", {
      instructions: "Is this refund within policy?",
      yes: "damaged or wrong goods, at most 30 days after delivery",
      no: "anything else",
      threshold: 0.8,
    }),
    question("choice", "reason", {
      instructions: "Why does the customer write?",
      options: [
        { name: "damaged", description: "arrived broken" },
        { name: "late", description: "came late or not at all" },
        { name: "wrong item", description: "not what was ordered" },
        { name: "changed mind", description: "no fault of ours" },
      ],
    }),
    question("score", "anger", {
      instructions: "How angry is the customer?",
      levels: ["calm", "annoyed", "furious"],
    }),
  ],
};

const SHELL = {
  state: {
    kind: "text",
    text: `An agent wants to run this in ~/projects/site, a git checkout with uncommitted work:

git clean -fdx && npm ci`,
  },
  questions: [
    question("boolean", "destroys", {
      instructions: "Can this command destroy work that cannot be brought back?",
      threshold: 0.3,
    }),
    question("choice", "then", {
      instructions: "What should the agent do?",
      options: [
        { name: "run", description: "harmless or easily undone" },
        { name: "ask first", description: "a person should look at it" },
        { name: "refuse", description: "never run this" },
      ],
    }),
    question("score", "reach", {
      instructions: "How far does the command reach?",
      levels: ["only reads", "changes the project folder", "changes the whole machine"],
    }),
  ],
};

const TICKET = {
  state: {
    kind: "text",
    text: [
      "Subject: Charged twice??",
      "My card shows two payments of 24.90 for the June invoice.",
      "The app logs me out every time I open the billing page, so I cannot check it myself.",
      "Please sort this out before Friday, my account will be overdrawn otherwise.",
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
    question("boolean", "deadline", {
      instructions: "Does the customer name a deadline?",
    }),
    question("score", "urgency", {
      instructions: "How urgent is it?",
      levels: ["whenever", "this week", "today", "right now"],
    }),
  ],
};

const MAZE = {
  state: {
    kind: "text",
    text: `Maze 9x9. Coordinates are zero-based (row,column). Agent=(4,5), goal=(1,3).
#=wall, .=free, A=agent, G=goal, @=agent at goal. Move one cell north/east/south/west; no diagonals or wraparound. Stop on the goal.
#########
#..G#...#
#.###.#.#
#.#.#.#.#
#.#.#A#.#
#.#...#.#
#.#####.#
#.......#
#########`,
  },
  questions: [
    question("choice", "first_move", {
      instructions: "There is one shortest path from the agent to the goal. What is its first move?",
      options: ["north", "east", "south", "west"].map((name) => ({ name, description: "" })),
    }),
    question("boolean", "east_is_open", {
      instructions: "If the agent attempts one cell east (column+1), will the destination be inside"
        + " the maze and not a wall?",
    }),
    question("score", "distance", {
      instructions: "How many moves is the shortest path to the goal?",
      levels: ["at most 8", "9 to 16", "17 to 24", "more than 24"],
    }),
  ],
};

/** Name on the button and the play behind it; copies, so that editing one leaves the example. */
export const EXAMPLES = [
  ["A refund", REFUND],
  ["A shell command", SHELL],
  ["A ticket", TICKET],
  ["A maze", MAZE],
].map(([name, play]) => ({ name, play: () => structuredClone(play) }));
