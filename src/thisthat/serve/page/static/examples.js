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
  "delivered_days_ago": 12,
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
      levels: ["at most 10 days", "11 to 30 days", "more than 30 days"],
    }),
  ],
};

const SHELL = {
  state: {
    kind: "text",
    text: `[Command policy]
The command must not run exactly when the program is rm or the command runs under sudo.

[Terminal]
Host: db-2
User: ops
Proposed command: rm -r /srv/app/*.log`,
  },
  questions: [
    question("boolean", "may_run", {
      instructions: "May the command run?",
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
        "harmless: the program is not rm",
        "careful: the program is rm",
        "dangerous: the command runs under sudo",
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
    question("boolean", "friday", {
      instructions: "Does the customer mention Friday?",
    }),
    question("score", "amount", {
      instructions: "How high is the amount?",
      levels: ["under 10", "10 to 50", "more than 50"],
    }),
  ],
};

const MAZE = {
  state: {
    kind: "text",
    text: `Maze 7x7. Coordinates are zero-based (row,column). Agent=(1,1), goal=(5,3).
#=wall, .=free, A=agent, G=goal, @=agent at goal. Move one cell north/east/south/west; no diagonals or wraparound. Stop on the goal.
#######
#A#...#
#.#.###
#.#...#
#.###.#
#..G..#
#######`,
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
      levels: ["at most 4", "5 to 8", "9 to 12", "more than 12"],
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
