// A play and labelled rows to try teaching with: two teams whose names say nothing to a model. What
// each of them does is known from the labels alone.

import { question } from "../playground/play.js";

const HARBOUR = [
  "The parcel was left in the rain.",
  "My box arrived with a hole in it.",
  "The courier never rang the bell.",
  "Where is my parcel? It should have come on Monday.",
  "The driver left it with a neighbour I do not know.",
  "Tracking has said the same thing for a week.",
  "Two of the three glasses came in pieces.",
  "Please send it to my office instead.",
  "The parcel went back to the sender.",
  "I was at home all day and nobody came.",
  "The box was open when it arrived.",
  "It was delivered to the wrong street.",
  "Can you deliver after six in the evening?",
  "The pallet stands in front of the wrong door.",
  "My order is stuck in customs.",
  "The table arrived without its legs.",
  "Which day will the sofa come?",
  "The delivery note lists four boxes, but only three came.",
  "The frame was bent on the way.",
  "Please hold my parcel until I am back.",
  "The courier threw it over the fence.",
  "Half of the shipment is missing.",
  "I moved: the parcel must go to my new address.",
  "The label was torn off and the parcel is lost.",
];

const MEADOW = [
  "You charged my card twice.",
  "I cannot sign in any more.",
  "Please send me an invoice with our tax number.",
  "How do I change my password?",
  "The discount code was not taken off.",
  "Please close my account.",
  "My bank says that the payment failed.",
  "I want to pay by invoice from now on.",
  "The amount on the bill is wrong.",
  "Someone else uses my account.",
  "When do I get my money back?",
  "The code for signing in never comes.",
  "Please change the name on the invoice.",
  "I was billed for a month that I had cancelled.",
  "How much is the yearly subscription?",
  "Please delete my card from your files.",
  "My voucher has disappeared from my account.",
  "The receipt shows the wrong date.",
  "Can I pay in three instalments?",
  "I get a reminder for a bill that I paid.",
  "My mail address has changed; please update my profile.",
  "Why is there a fee of two euros?",
  "The app asks for my password every time.",
  "Please refund the second payment.",
];

export const SAMPLE = {
  /** @returns {import("../playground/play.js").Play} */
  play: () => ({
    state: { kind: "text", text: "The parcel came too late." },
    questions: [
      question("choice", "team", {
        instructions: "Which team takes this message?",
        options: [{ name: "harbour", description: "" }, { name: "meadow", description: "" }],
      }),
    ],
  }),
  /** @returns {import("./labels.js").Row[]} */
  rows: () => HARBOUR.flatMap((state, index) => [row(state, "harbour"), row(MEADOW[index], "meadow")]),
};

function row(state, team) {
  return { id: null, state: JSON.stringify(state), answers: { team } };
}
