/**
 * What happens, as it happens: one stream for the page, told in handfuls so that a busy fleet costs little.
 *
 * A page that nobody sees lets go of its stream, because browsers have few connections for each server, and takes
 * it up again where it was. After too long a gap, and when the server is back, everybody hears `reset`.
 */

import { reachable } from "./api.js";
import { follow } from "./stream.js";
import { now } from "./time.js";

const GATHER = 250; // milliseconds
const OVERLAP = 5000; // what was read just before may be as old
const REST = 20_000;
const listeners = new Map(); // by kind
let gathered = new Map();
let timer = null;
let rest = null;
let stop = null;
let wanted = false;
let last = null;

/** Calls the listener with a list of events of this kind; what it returns ends that. */
export function on(kind, listener) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind).add(listener);
  return () => listeners.get(kind).delete(listener);
}

export function start() {
  wanted = true;
  if (stop) return;
  stop = new AbortController();
  last ??= String(Math.round((now() - OVERLAP) * 1000)); // in microseconds
  follow("events", { signal: stop.signal, last, hear }).catch(end);
}

export function end() {
  wanted = false;
  last = null;
  letGo();
}

function letGo() {
  stop?.abort();
  stop = null;
}

function hear({ id, kind, data }) {
  last = id ?? last;
  if (!gathered.has(kind)) gathered.set(kind, []);
  gathered.get(kind).push(data);
  timer ??= setTimeout(tell, GATHER);
}

function tell() {
  const told = gathered;
  gathered = new Map();
  timer = null;
  for (const [kind, events] of told) for (const listener of [...(listeners.get(kind) ?? [])]) listener(events);
}

reachable.on((well) => well && hear({ kind: "reset", data: {} }));

document.addEventListener("visibilitychange", () => {
  clearTimeout(rest);
  if (document.hidden) rest = setTimeout(letGo, REST);
  else if (wanted) start();
});
