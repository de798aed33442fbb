/** The life of a page, or of a part of it: what it hears and does ends when it is left. */

import * as events from "./events.js";
import { toast } from "./toasts.js";

const CALM = 400; // milliseconds between two looks at the same thing, unless the page says

/** What a page gets: where to draw, what was asked for, and ways to hear that end with it. */
export function pageFor(params, query) {
  const { end, ...life } = begin();
  const view = document.createElement("div");
  view.className = "page";
  return { page: { ...life, view, params, query }, end };
}

/** The life of a part that may end before its page. */
export function partOf(page) {
  const part = begin();
  page.signal.addEventListener("abort", part.end, { once: true, signal: part.signal });
  return part;
}

function begin() {
  const stop = new AbortController();
  const ends = [() => stop.abort()];
  return {
    signal: stop.signal,
    listen: (kind, listener) => void ends.push(events.on(kind, listener)),
    every: (milliseconds, act) => {
      const timer = setInterval(() => document.hidden || act(), milliseconds);
      ends.push(() => clearInterval(timer));
    },
    /** Something to do at the end. */
    ends: (act) => void ends.push(act),
    calmly: (act, pause = CALM) => calm(act, pause, stop.signal),
    end: () => ends.splice(0).forEach((one) => one()),
  };
}

/** The act, at most once in a while and never twice at the same time; the pause may be a function. */
function calm(act, pause, signal) {
  let again = false;
  let busy = false;
  return async function calmed() {
    if (busy) return void (again = true);
    busy = true;
    await act().catch((problem) => {
      if (!signal.aborted && problem.status !== 0 && problem.name !== "AbortError") toast(problem.message, "wrong");
    });
    setTimeout(() => {
      busy = false;
      if (again && !signal.aborted) calmed();
      again = false;
    }, typeof pause === "function" ? pause() : pause);
  };
}
