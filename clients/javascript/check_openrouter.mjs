// @openrouter/sdk against a live server: node check_openrouter.mjs URL [STRICT_URL]

import { OpenRouter } from "@openrouter/sdk";
import { Checks, TIMEOUT, suite, url } from "./checks.mjs";

const TYPED = {
  401: "UnauthorizedResponseError",
  413: "PayloadTooLargeResponseError",
  429: "TooManyRequestsResponseError",
  503: "ServiceUnavailableResponseError",
};

function opened(address, apiKey, retries = 0) {
  const backoff = { initialInterval: 10, maxInterval: 5000, exponent: 1.5, maxElapsedTime: TIMEOUT };
  const retryConfig = retries ? { strategy: "backoff", backoff } : { strategy: "none" };
  return new OpenRouter({ apiKey, serverURL: `${address}/v1`, retryConfig });
}

async function ask(address, key, state, questions, retries) {
  const client = opened(address, key, retries);
  const decisionsRequest = { model: "default", state, questions };
  return (await client.systemOne.create({ decisionsRequest })).answers;
}

function status(error) {
  const wanted = TYPED[error.statusCode];
  return wanted && error.name !== wanted ? `${error.name} for ${error.statusCode}` : error.statusCode;
}

const checks = new Checks("@openrouter/sdk");
await suite(checks, ask, status, { retries429: false });
checks.none("zstd", "the client does not compress");
await checks.check("models", async () => {
  const listed = await opened(url, "any").models.list();
  const names = (listed.result ?? listed).data.map((model) => model.id);
  if (!names.includes("default")) throw new Error(names.join());
});
checks.finish();
