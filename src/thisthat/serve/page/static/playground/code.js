// The play as a program: Python, curl, JavaScript, and pydantic-ai. Only writes text.

import { thresholdText } from "./answers.js";
import { ordered, toPython, write } from "./json_text.js";
import { requestText, stateOf } from "./request.js";

const PYTHON_KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from"
    + " global if import in is lambda nonlocal not or pass raise return try while with yield").split(" "),
);

const PYTHON_MARGIN = ["        ", "    "];

/** @type {[string, string][]} */
export const LANGUAGES = [
  ["python", "Python"], ["curl", "curl"], ["javascript", "JavaScript"], ["pydantic", "pydantic-ai"],
];

/** The code for a play; `server` is the root of the API, `keyed` whether it wants a key. */
export function codeFor(language, play, server, keyed) {
  const writers = { python: pythonCode, curl: curlCode, javascript: javascriptCode, pydantic: pydanticCode };
  return writers[language](play, server, keyed);
}

function pythonCode(play, server, keyed) {
  const classes = { boolean: "Boolean", choice: "Choice", score: "Score" };
  const used = [...new Set(play.questions.map((question) => classes[question.kind]))].sort();
  const questions = play.questions.map((question) => {
    const values = pythonArguments(question).map((value) => `        ${value},\n`).join("");
    return `    ${pythonText(question.name)}: ${classes[question.kind]}(\n${values}    ),\n`;
  });
  return [
    "import thisthat",
    `from thisthat import ${used.join(", ")}`,
    "",
    "# This server answers, with its checkpoint; thisthat.open() answers without a server.",
    ...(keyed ? ["# The key is read from THISTHAT_ENDPOINT_KEY."] : []),
    `decider = thisthat.connect(${pythonText(server)})`,
    `state = ${pythonState(play)}`,
    `questions = {\n${questions.join("")}}`,
    "decision = decider.decide(state, questions)",
    ...play.questions.flatMap((question) => ["", pythonBranch(question)]),
    "",
  ].join("\n");
}

function pythonArguments(question) {
  const asked = question.instructions ? [pythonText(question.instructions)] : [];
  if (question.kind === "choice") {
    const options = question.options.map(({ name, description }) => [name, description || null]);
    return [toPython(write(ordered(options), ...PYTHON_MARGIN)), ...asked];
  }
  if (question.kind === "score") return [toPython(write(question.levels, ...PYTHON_MARGIN)), ...asked];
  const meanings = [["true", question.yes], ["false", question.no]].filter(([, text]) => text);
  return [...asked, ...meanings.map(([name, text]) => `${name}=${pythonText(text)}`)];
}

function pythonBranch(question) {
  const answer = `decision[${pythonText(question.name)}]`;
  const at = thresholdText(question);
  const [condition, then, otherwise] = {
    boolean: [`${answer} > ${at}`, '"yes"', '"no"'],
    choice: [`max(${answer}.probabilities.values()) > ${at}`, `${answer}.best`, '"ask a person"'],
    score: [`${answer}.expected > ${at}`, '"above"', '"below"'],
  }[question.kind];
  const name = pythonText(question.name);
  return `if ${condition}:\n    print(${name}, ${then})\nelse:\n    print(${name}, ${otherwise})`;
}

function curlCode(play, server, keyed) {
  const key = keyed ? '  -H "Authorization: Bearer $THISTHAT_ENDPOINT_KEY" \\\n' : "";
  return `curl ${server}/v1/systemone \\\n  -H "Content-Type: application/json" \\\n${key}`
    + `  --data-binary @- <<'JSON'\n${requestText(play, "")}\nJSON\n`;
}

function javascriptCode(play, server, keyed) {
  const key = keyed ? "\n    Authorization: `Bearer ${process.env.THISTHAT_ENDPOINT_KEY}`," : "";
  // Sent as text: a JavaScript object would move keys that look like numbers and round long ones.
  const body = requestText(play, "").replace(/[`\\]|\$\{/g, "\\$&");
  return [
    `const response = await fetch("${server}/v1/systemone", {`,
    '  method: "POST",',
    `  headers: {\n    "Content-Type": "application/json",${key}\n  },`,
    `  body: \`${body}\`,`,
    "});",
    "if (!response.ok) throw new Error(await response.text());",
    "const { answers } = await response.json();",
    ...play.questions.flatMap((question) => ["", javascriptBranch(question)]),
    "",
  ].join("\n");
}

function javascriptBranch(question) {
  const name = JSON.stringify(question.name);
  const answer = `answers[${name}]`;
  const at = thresholdText(question);
  const [condition, then, otherwise] = {
    boolean: [`${answer}.noul > ${at}`, '"yes"', '"no"'],
    choice: [`${answer}.probabilities[${answer}.choice] > ${at}`, `${answer}.choice`, '"ask a person"'],
    score: [`${answer}.score > ${at}`, '"above"', '"below"'],
  }[question.kind];
  return `if (${condition}) {\n  console.log(${name}, ${then});\n} else {\n  console.log(${name}, ${otherwise});\n}`;
}

function pydanticCode(play, server, keyed) {
  const names = identifiers(play.questions.map((question) => question.name));
  const fields = play.questions.map((question, index) => pydanticField(question, names[index]));
  const key = keyed ? ', api_key=os.environ["THISTHAT_ENDPOINT_KEY"]' : "";
  const branches = play.questions.flatMap((question, index) => pydanticBranch(question, names[index]));
  return [
    ...(keyed ? ["import os", ""] : []),
    "from typing import Annotated, Literal",
    "",
    "from pydantic import BaseModel, Field",
    "from pydantic_ai import Agent",
    "from pydantic_ai.models.system_one import SystemOneModel",
    "from pydantic_ai.providers.system_one import SystemOneProvider",
    "",
    "",
    "class Decision(BaseModel):",
    ...fields,
    "",
    "",
    `provider = SystemOneProvider(base_url=${pythonText(server)}${key})`,
    'agent = Agent(SystemOneModel("default", provider=provider), output_type=Decision)',
    `state = ${play.state.kind === "json" ? pythonText(play.state.text) : pythonState(play)}`,
    "decision = agent.run_sync(state).output",
    "",
    ...branches,
    "",
  ].join("\n");
}

function pydanticField(question, name) {
  const described = question.instructions ? `description=${pythonText(question.instructions)}` : "";
  if (question.kind === "boolean") {
    // A bounded float is the probability of yes, so that every question keeps its own threshold.
    const bounds = ["ge=0", "le=1", described].filter(Boolean).join(", ");
    return `    ${name}: float = Field(${bounds})`;
  }
  return `    ${name}: ${pydanticType(question)} = Field(${described})`;
}

function pydanticType(question) {
  const plain = question.kind === "choice" && question.options.every(({ description }) => !description);
  if (plain) return `Literal[${question.options.map(({ name }) => pythonText(name)).join(", ")}]`;
  return `(\n        ${pydanticMembers(question).join("\n        | ")}\n    )`;
}

function pydanticMembers(question) {
  if (question.kind === "score") {
    return question.levels.map((level, index) => pydanticMember(String(index), level));
  }
  return question.options.map(({ name, description }) => pydanticMember(pythonText(name), description));
}

function pydanticMember(value, description) {
  if (!description) return `Literal[${value}]`;
  return `Annotated[Literal[${value}], Field(description=${pythonText(description)})]`;
}

function pydanticBranch(question, name) {
  if (question.kind !== "boolean") return [`print(decision.${name})`];
  return [`if decision.${name} > ${thresholdText(question)}:`, `    print(${pythonText(name)})`];
}

/** Names that Python accepts as fields, all different. */
function identifiers(names) {
  const taken = new Set();
  return names.map((name) => {
    let made = name.replace(/[^\p{L}\p{N}_]+/gu, "_").replace(/^_+/, "") || "question";
    if (/^\p{N}/u.test(made)) made = `question_${made}`;
    if (PYTHON_KEYWORDS.has(made)) made += "_";
    while (taken.has(made)) made += "_";
    taken.add(made);
    return made;
  });
}

function pythonState(play) {
  const state = stateOf(play);
  return typeof state === "string" ? pythonText(state, true) : toPython(state.raw);
}

/** A Python literal; over several lines where that is allowed and reads the same. */
function pythonText(text, severalLines = false) {
  const plain = !/[\\\r\0]|"""|"$/.test(text);
  if (severalLines && plain && text.includes("\n")) return `"""\\\n${text}"""`;
  return JSON.stringify(text);
}
