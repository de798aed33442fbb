/** Server-sent events by fetch, so that the token travels in a header and never in an address. */

import { lost, open, Problem, reachable } from "./api.js";
import { parseExact } from "./exactjson.js";

const WAIT_LEAST = 500;
const WAIT_MOST = 10_000;
const SILENCE = 45_000; // three times what the server keeps still for

/**
 * Hear events until the signal says stop, or `hear` returns false. Whoever is cut off comes back with the id of
 * the last event; `begin(last)` is called each time that a stream opens.
 */
export async function follow(path, { signal, last = null, begin = () => {}, hear }) {
  let wait = WAIT_LEAST;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const answer = await open(path, { headers, signal });
      begin(last);
      wait = WAIT_LEAST;
      for await (const event of events(answer.body)) {
        last = event.id ?? last;
        if (hear(event) === false) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Problem)) noted(error);
      else if (error.status >= 400 && error.status < 500 && error.status !== 429) throw error;
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, WAIT_MOST);
  }
}

/** A stream that breaks off in the middle: the server may be gone. */
function noted(error) {
  try {
    lost(error);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await heard(reader);
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = fieldsOf(block);
        if (fields.event) yield { id: fields.id, kind: fields.event, data: parseExact(fields.data) };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** The next piece. A server gives a sign of life now and then: one that is silent for long is gone. */
async function heard(reader) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new TypeError("the stream is silent")), SILENCE);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}

const fieldsOf = (block) =>
  Object.fromEntries(
    block.split("\n").filter((line) => line[0] !== ":").map((line) => {
      const [name, ...value] = line.split(": ");
      return [name, value.join(": ")];
    }),
  );

/** Wait, but not longer than until we are told to stop, or the server is back. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      forget();
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    const forget = reachable.on((well) => well && done());
    signal.addEventListener("abort", done, { once: true });
  });
}
