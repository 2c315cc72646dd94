// Runs one piece of work at a time, a moment after the last change. A change makes everything that
// is still under way worthless at once: its request is cancelled and its result never shown.

/** `work(signal)` gives a promise; `done` and `failed` hear of the newest run only. */
export function latest(work, { wait, done, failed }) {
  let timer = null;
  let running = new AbortController();

  function cancel() {
    clearTimeout(timer);
    running.abort();
    running = new AbortController();
    return running.signal;
  }

  async function run(signal) {
    try {
      const result = await work(signal);
      if (!signal.aborted) done(result);
    } catch (error) {
      if (!signal.aborted) failed(error);
    }
  }

  function schedule(delay = wait) {
    const signal = cancel();
    timer = setTimeout(run, delay, signal);
  }

  return { schedule, cancel };
}
