// ollama against a live server: node check_ollama.mjs URL [STRICT_URL]

import { Ollama } from "ollama";
import { Checks, suite } from "./checks.mjs";

async function ask(host, key, state, questions) {
  const client = new Ollama({ host, headers: { authorization: `Bearer ${key}` } });
  return (await client.systemone({ model: "default", state, questions })).answers;
}

const checks = new Checks("ollama");
await suite(checks, ask, (error) => error.status_code, { noRetries: "the client tries once" });
checks.none("zstd", "the client does not compress");
checks.none("models", "the client lists models with Ollama's own /api/tags");
checks.finish();
