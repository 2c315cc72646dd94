// @ai-sdk/typesafe-ai, through `ai`, against a live server: node check_ai_sdk.mjs URL [STRICT_URL]

import { createTypeSafeAi } from "@ai-sdk/typesafe-ai";
import { experimental_evaluate as evaluate } from "ai";
import { Checks, suite } from "./checks.mjs";

const neutral = (question) => ({
  ...question,
  type: question.type === "noul" ? "boolean" : question.type,
});
const wire = ({ type, probability, ...answer }) =>
  type === "boolean" ? { type: "noul", noul: probability } : { type, ...answer };
const each = (object, change) =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));

async function ask(address, apiKey, state, questions, maxRetries) {
  const model = createTypeSafeAi({ baseURL: `${address}/v1`, apiKey }).evaluationModel("default");
  const result = await evaluate({ model, state, questions: each(questions, neutral), maxRetries });
  return each(result.answers, wire);
}

const checks = new Checks("@ai-sdk/typesafe-ai");
await suite(checks, ask, (error) => (error.lastError ?? error).statusCode);
checks.none("zstd", "the client does not compress");
checks.none("models", "the client lists none");
checks.finish();
