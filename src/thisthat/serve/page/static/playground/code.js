// The play as a program: Python, curl, JavaScript, and pydantic-ai. Only writes text.

import { thresholdText } from "./answers.js";
import { toPython, write } from "./json_text.js";
import { criteriaOf, meaningsOf, requestText, stateOf } from "./request.js";

const PYDANTIC = { boolean: "NoulQuestion", choice: "ChoiceQuestion", score: "ScoreQuestion" };
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
  if (question.kind !== "boolean") return [toPython(write(criteriaOf(question), ...PYTHON_MARGIN)), ...asked];
  return [...asked, ...meaningsOf(question).map(([name, text]) => `${name}=${pythonText(text)}`)];
}

function pythonBranch(question) {
  const answer = `decision[${pythonText(question.name)}]`;
  const at = thresholdText(question);
  const [condition, then, otherwise] = {
    boolean: [`${answer} > ${at}`, '"yes"', '"no"'],
    choice: [`max(${answer}.probabilities.values()) > ${at}`, `${answer}.best`, '"ask a person"'],
    score: [`${answer}.expected > ${at}`, '"above"', '"below"'],
  }[question.kind];
  return pythonIf(question, condition, then, otherwise);
}

function pythonIf({ name }, condition, then, otherwise) {
  const written = pythonText(name);
  return `if ${condition}:\n    print(${written}, ${then})\nelse:\n    print(${written}, ${otherwise})`;
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

// The questions go to the model as they are: the fields of an agent's output type have no room for what
// yes and no mean, and its prompt none for JSON.
function pydanticCode(play, server, keyed) {
  const kinds = [...new Set(play.questions.map((question) => PYDANTIC[question.kind]))];
  const meant = play.questions.some(({ kind, yes, no }) => kind === "boolean" && (yes || no));
  const used = [...kinds, "DecisionRequest", ...(meant ? ["NoulCriteria"] : [])].sort();
  const questions = play.questions.map((question) => {
    const values = pydanticArguments(question).map((value) => `        ${value},\n`).join("");
    return `    ${pythonText(question.name)}: ${PYDANTIC[question.kind]}(\n${values}    ),\n`;
  });
  const key = keyed ? ', api_key=os.environ["THISTHAT_ENDPOINT_KEY"]' : "";
  return [
    "import asyncio",
    ...(keyed ? ["import os"] : []),
    "",
    `from pydantic_ai.models.decision import ${used.join(", ")}`,
    "from pydantic_ai.models.system_one import SystemOneModel",
    "from pydantic_ai.providers.system_one import SystemOneProvider",
    "",
    `provider = SystemOneProvider(base_url=${pythonText(server)}${key})`,
    'model = SystemOneModel("default", provider=provider)',
    `state = ${pythonState(play)}`,
    `questions = {\n${questions.join("")}}`,
    "request = DecisionRequest(state=state, questions=questions)",
    "answers = asyncio.run(model.decide(request, {})).answers",
    ...play.questions.flatMap((question) => ["", pydanticBranch(question)]),
    "",
  ].join("\n");
}

function pydanticArguments(question) {
  const asked = question.instructions ? [`instructions=${pythonText(question.instructions)}`] : [];
  if (question.kind !== "boolean") {
    return [...asked, `criteria=${toPython(write(criteriaOf(question), ...PYTHON_MARGIN))}`];
  }
  const meanings = meaningsOf(question).map(([name, text]) => `${name}=${pythonText(text)}`);
  return meanings.length ? [...asked, `criteria=NoulCriteria(${meanings.join(", ")})`] : asked;
}

function pydanticBranch(question) {
  const answer = `answers[${pythonText(question.name)}]`;
  const at = thresholdText(question);
  const [condition, then, otherwise] = {
    boolean: [`${answer}.noul > ${at}`, '"yes"', '"no"'],
    choice: [`max(${answer}.probabilities.values()) > ${at}`, `${answer}.choice`, '"ask a person"'],
    score: [`${answer}.score > ${at}`, '"above"', '"below"'],
  }[question.kind];
  return pythonIf(question, condition, then, otherwise);
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
