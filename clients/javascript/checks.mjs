// What every JavaScript client has to show against a live server; the twin of python/checks.py.
// A script gives `suite` a way to ask through its client. Knows no client.

import { readFileSync } from "node:fs";

export const NAMES = [
  "booleans", "choices", "scores", "described options", "JSON states", "401", "413", "422", "429",
  "503", "retries", "zstd", "20 at once", "models",
];
export const STATE = "The parcel never came, and nobody answers my letters.";
const JSON_STATE = { ticket: { text: "The parcel never came.", days: 12 }, tags: ["late", null] };
const LIST_STATE = [{ from: "customer", text: "Where is it?" }, { from: "us", text: "On its way." }];
const BOOLEAN = { lost: { type: "noul", instructions: "Is a parcel lost?" } };
const CHOICE = {
  team: {
    type: "choice",
    instructions: "Which team?",
    criteria: { billing: null, shipping: null, legal: null },
  },
};
const SCORE = {
  anger: { type: "score", instructions: "How angry?", criteria: ["calm", "annoyed", "furious"] },
};
const DESCRIBED = {
  lost: {
    type: "noul",
    instructions: "Is a parcel lost?",
    criteria: { true: "It did not arrive.", false: "It arrived." },
  },
  team: {
    type: "choice",
    instructions: "Which team?",
    criteria: { billing: "charges and refunds", shipping: "parcels on their way" },
  },
};
const MANY = Array.from({ length: 20 }, (_, n) => `Letter ${n}: my parcel is ${n} days late.`);
const TOO_LONG = "The parcel never came. ".repeat(2000);
const BAD_LABEL = {
  team: { type: "choice", instructions: "Which?", criteria: { " ": null, b: null } },
};

/** Milliseconds, for every client: how fast the machine is is not what is checked. */
export const TIMEOUT = 600_000;

/** How often a client may try again: enough for a server that is slower than it predicted. */
const RETRIES = 8;

export const url = process.argv[2].replace(/\/$/, "");
const strict = process.argv[3]?.replace(/\/$/, "");

function assert(condition, message) {
  if (!condition) throw new Error(message);
}

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

/** The server's answers without a client. */
async function raw(address, state, questions, key = "any") {
  const answered = await fetch(`${address}/v1/systemone`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: "default", state, questions }),
  });
  return (await answered.json()).answers;
}

/** Keep the strict server, whose queue has room for one request, busy for some seconds from now on. */
async function occupy(key) {
  const state = `${process.hrtime.bigint()} ` + "A long letter about a parcel. ".repeat(150);
  const questions = Object.fromEntries(
    [0, 1, 2, 3].map((n) => [n, { type: "noul", instructions: `Is it ${n}?` }]),
  );
  let over = false;
  const answers = raw(strict, state, questions, key).finally(() => (over = true));
  while (!(await counted("thisthat_unanswered_tokens"))) {
    assert(!over, "the server did not get busy");
    await pause(0.01);
  }
  return { answers };
}

/** Use up what a key may ask for now, with requests that take the server no time. */
async function spend(key) {
  const until = Date.now() + TIMEOUT;
  while (Date.now() < until) {
    const listed = await fetch(`${strict}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    await listed.text();
    if (listed.status === 429) return;
    assert(listed.ok, `${listed.status} for a list of models`);
  }
  throw new Error("the key has no limit");
}

/** How many requests the strict server has refused so far, by its own count. */
const refusals = (kind) => counted(`thisthat_errors_total{kind="${kind}"}`);

/** One number of the strict server's metrics; 0 as long as there is none. */
async function counted(name) {
  const lines = (await (await fetch(`${strict}/metrics`)).text()).split("\n");
  const line = lines.find((each) => each.startsWith(`${name} `));
  return line ? Number(line.split(" ").at(-1)) : 0;
}

/** Throw unless every number the client hands back is the server's. */
function same(given, expected) {
  const names = (object) => Object.keys(object).sort().join();
  assert(names(given) === names(expected), `${names(given)} instead of ${names(expected)}`);
  for (const [name, answer] of Object.entries(expected)) {
    assert(answer[answer.type] !== undefined, `${name} has no ${answer.type}`);
    for (const [field, value] of Object.entries(answer)) {
      if (field !== answer.type && given[name][field] === undefined) continue;
      const found = JSON.stringify(given[name][field]);
      assert(
        found === JSON.stringify(value),
        `${name}.${field} is ${found}, the server sent ${JSON.stringify(value)}`,
      );
    }
  }
}

/** Results by name; `finish` prints them as one line of JSON. */
export class Checks {
  constructor(pkg) {
    this.package = pkg;
    this.results = {};
  }

  key(purpose) {
    return `${this.package}-${purpose}`;
  }

  async check(name, work) {
    if (/^\d|retries/.test(name) && name !== "20 at once" && !strict) return;
    try {
      this.results[name] = { result: "ok", note: (await work()) || "" };
    } catch (error) {
      this.results[name] = { result: "failed", note: `${error.name}: ${error.message}`.slice(0, 500) };
    }
  }

  none(name, why) {
    this.results[name] = { result: "none", note: why };
  }

  finish() {
    const wanted = NAMES.filter((name) => strict || !/^\d{3}$|retries/.test(name));
    const checks = {};
    for (const name of wanted) {
      checks[name] = this.results[name] ?? { result: "failed", note: "was not checked" };
    }
    const { version } = JSON.parse(readFileSync(`node_modules/${this.package}/package.json`));
    console.log(JSON.stringify({ client: this.package, version, checks }));
    process.exit(Object.values(checks).some((each) => each.result === "failed") ? 1 : 0);
  }
}

/**
 * All checks but models and zstd, which are the client's own business.
 * `ask(address, key, state, questions, retries)` gives the answers in the form of the wire;
 * `status(error)` the HTTP status of an error.
 */
export async function suite(checks, ask, status, { noRetries, retries429 = true } = {}) {
  const agrees = async (state, questions) =>
    same(await ask(url, "any", state, questions, 0), await raw(url, state, questions));
  const refused = async (wanted, work) => {
    let answered;
    try {
      answered = await work();
    } catch (error) {
      assert(status(error) === wanted, `${status(error)} instead of ${wanted}: ${error}`);
      return;
    }
    throw new Error(`no error, but ${JSON.stringify(answered)}`);
  };
  // How many requests were asked until two had to try again, and all their refusals.
  const refusedBeforeAnswered = async () => {
    let again = 0;
    let refused = 0;
    for (let asked = 1; asked <= 12; asked++) {
      await spend(checks.key("again"));
      const before = await refusals("rate_limited");
      await ask(strict, checks.key("again"), STATE, BOOLEAN, RETRIES);
      const more = (await refusals("rate_limited")) - before;
      again += more > 0;
      refused += more;
      if (again === 2) return { asked, refused };
    }
    throw new Error(`${again} of 12 requests refused`);
  };
  const once = (key, state, questions) => () => ask(strict, key, state, questions, 0);

  await checks.check("booleans", () => agrees(STATE, BOOLEAN));
  await checks.check("choices", () => agrees(STATE, CHOICE));
  await checks.check("scores", () => agrees(STATE, SCORE));
  await checks.check("described options", () => agrees(STATE, DESCRIBED));
  await checks.check("JSON states", async () => {
    await agrees(JSON_STATE, { ...BOOLEAN, ...SCORE });
    await agrees(LIST_STATE, { ...BOOLEAN, ...CHOICE });
  });
  await checks.check("20 at once", async () => {
    const together = await Promise.all(MANY.map((state) => ask(url, "any", state, CHOICE, 0)));
    for (const [n, state] of MANY.entries()) same(together[n], await raw(url, state, CHOICE));
  });
  await checks.check("401", () => refused(401, once("wrong", STATE, BOOLEAN)));
  await checks.check("413", () => refused(413, once(checks.key("errors"), TOO_LONG, BOOLEAN)));
  await checks.check("422", () => refused(422, once(checks.key("errors"), STATE, BAD_LABEL)));
  await checks.check("429", () =>
    refused(429, async () => {
      // A key earns a request every 2 seconds, so one may slip through.
      for (let n = 0; n < 12; n++) {
        await spend(checks.key("rate"));
        await ask(strict, checks.key("rate"), STATE, BOOLEAN, 0);
      }
    }),
  );
  await checks.check("503", async () => {
    const busy = await occupy(checks.key("busy"));
    await refused(503, once(checks.key("turned-away"), STATE, BOOLEAN));
    await busy.answers;
  });
  if (noRetries) {
    checks.none("retries", noRetries);
    return;
  }
  await checks.check("retries", async () => {
    const notes = [];
    if (retries429) {
      const { asked, refused } = await refusedBeforeAnswered();
      // Who waits as long as the server says is refused once for each request.
      assert(refused <= asked + 1, `${refused} refusals of ${asked} requests`);
      notes.push(`${asked} requests, ${refused} × 429 and tried again`);
    }
    const before = await refusals("overloaded");
    const busy = await occupy(checks.key("busy"));
    await ask(strict, checks.key("patient"), STATE, BOOLEAN, RETRIES);
    const refused = (await refusals("overloaded")) - before;
    assert(refused, "the request was not refused");
    notes.push(`1 request, ${refused} × 503 and tried again`);
    await busy.answers;
    return notes.join("; ");
  });
}
