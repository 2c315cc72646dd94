// How long the last calls took and what they read. Plain data.

const MOST = 30;

/**
 * One call, times in milliseconds: from the browser, and of the decision in the server.
 * @typedef {{total: number, decided: number, read: number, kept: number}} Timing
 */

export function timings() {
  /** @type {Timing[]} */
  const calls = [];
  return {
    all: () => calls,
    /** @param {{milliseconds: number, decided: number, usage: Record<string, number>}} response */
    add({ milliseconds, decided, usage }) {
      calls.push({
        total: milliseconds, decided, read: usage.input_tokens, kept: usage.cached_tokens ?? 0,
      });
      if (calls.length > MOST) calls.shift();
    },
  };
}
