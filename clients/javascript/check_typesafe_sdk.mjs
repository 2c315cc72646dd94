// @typesafe-ai/sdk against a live server: node check_typesafe_sdk.mjs URL [STRICT_URL]

import { TypeSafeClient } from "@typesafe-ai/sdk";
import { Checks, TIMEOUT, suite, url } from "./checks.mjs";

const opened = (baseURL, apiKey, maxRetries = 0) =>
  new TypeSafeClient({
    baseURL, apiKey, timeout: TIMEOUT, logLevel: "off", retry: { maxRetries, backoffInitialMs: 10 },
  });

async function ask(address, key, state, questions, retries) {
  return (await opened(address, key, retries).systemOne({ state, questions })).answers;
}

const checks = new Checks("@typesafe-ai/sdk");
await suite(checks, ask, (error) => error.status);
checks.none("zstd", "the client does not compress");
await checks.check("models", async () => {
  const names = (await opened(url, "any").models.list()).map((model) => model.name);
  if (!names.includes("default")) throw new Error(names.join());
});
checks.finish();
