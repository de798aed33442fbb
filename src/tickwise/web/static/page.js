/** The life of a page: what it hears and does ends when it is left. */

import { h } from "./dom.js";
import * as live from "./live.js";
import { say } from "./say.js";

const CALM = 400; // milliseconds between two looks at the same thing, unless the page says

/** What a page gets: where to draw, what was asked for, and ways to hear that end with it. */
export function pageFor(params, query) {
  const stop = new AbortController();
  const ends = [() => stop.abort()];
  const work = [];
  const view = h("div", { class: "page" });
  const page = {
    view,
    params,
    query,
    signal: stop.signal,
    listen: (kind, listener) => void ends.push(live.on(kind, listener)),
    every: (milliseconds, act) => {
      const timer = setInterval(() => document.hidden || act(), milliseconds);
      ends.push(() => clearInterval(timer));
    },
    /** Something to do when the page is left. */
    ends: (act) => void ends.push(act),
    /** Something to do once the page is drawn. */
    ready: (act) => void work.push(act),
    calmly: (act, pause = CALM) => calm(act, pause, stop.signal),
  };
  return { page, work, end: () => ends.forEach((one) => one()) };
}

/** The act, at most once in a while and never twice at the same time; trouble is told by the banner. */
function calm(act, pause, signal) {
  let again = false;
  let busy = false;
  return async function calmed() {
    if (busy) return void (again = true);
    busy = true;
    await act().catch((problem) => {
      if (!signal.aborted && problem.status !== 0 && problem.name !== "AbortError") say(problem.message, "wrong");
    });
    setTimeout(() => {
      busy = false;
      if (again && !signal.aborted) calmed();
      again = false;
    }, pause);
  };
}
