/**
 * The public API. Every no is a `Problem`; one that never arrived has the status 0.
 *
 * `reachable` turns false when the server does not answer, and true again when it does: somebody looks every other
 * second. `who` is the person that the server takes us for; null as long as nobody has signed in. A session has two
 * halves: a cookie that no script can read, and a key that only pages of this origin have.
 */

import { parseExact, writeExact } from "./exactjson.js";
import { allows, allowsAll } from "./roles.js";
import { signal } from "./signal.js";
import { settings } from "./storage.js";
import { learnTime } from "./time.js";

const BASE = new URL("api/v1/", document.baseURI);
const HEALTH = new URL("healthz", document.baseURI);
const LOOK_EVERY = 2000;
const SESSION = "../../session"; // beside the API
const KEY = "session";
let lastKey = "";

export const reachable = signal(true);
export const who = signal(null);

/** Why not. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || "the server gave no reason");
    this.status = status;
    this.field = document.field;
    this.position = document.position;
    this.nearest = document.nearest;
  }
}

/** Whether the person may do what this role may: to a job, if one is named; else to any. */
export const may = (role, job) => who.get() !== null && allows(who.get(), role, job);

/** Whether they may do it to everything, and not to some jobs only. */
export const mayAll = (role) => who.get() !== null && allowsAll(who.get(), role);

/** Begin a session with `{code}` of a link or `{token}`; with neither, continue the one of this browser. */
export const signIn = (given) => (given ? take(SESSION, given) : enter());

/** Begin the session that an answer has the key of. */
export async function take(path, given, options) {
  keepKey((await send("POST", path, given, options)).key);
  await enter();
}

async function enter() {
  if (!sessionKey() && !(await get(SESSION)).is_known) throw new Problem(401, { detail: "nobody has signed in" });
  try {
    who.set(await get("me"));
  } catch (problem) {
    if (problem.status === 401) settings.remove(KEY);
    throw problem;
  }
}

/** Where somebody who has just signed out may sign out at the provider, too; null if there is no such page. */
export let providerSignOut = null;

export async function signOut() {
  providerSignOut = (await send("DELETE", SESSION)).provider;
  keepKey("");
  who.set(null);
}

function keepKey(key) {
  lastKey = key;
  settings.set(KEY, key);
}

const sessionKey = () => settings.get(KEY) ?? lastKey; // storage may be turned off

export const get = async (path, query, signal) => (await ask("GET", path, { query, signal })).data;

export const send = async (method, path, body, options) => (await ask(method, path, { ...options, body })).data;

/** A create that may be repeated without doing it twice. */
export const sendOnce = (path, body) => send("POST", path, body, { headers: { "Idempotency-Key": newKey() } });

/** Ask for what is there together with its version. */
export const getVersion = (path, signal) => ask("GET", path, { signal });

/** Change what has this version still. */
export const sendMatching = (method, path, version, body) =>
  send(method, path, body, { headers: { "If-Match": version } });

/** The answer as it comes, for streams. */
export async function open(path, { method = "GET", query, body, headers = {}, signal } = {}) {
  const key = sessionKey();
  const answer = await fetch(address(path, query), {
    method,
    signal,
    body: body === undefined ? undefined : writeExact(body),
    headers: {
      ...(key ? { "Tickwise-Session-Key": key } : {}),
      ...(body === undefined ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
  }).catch(lost);
  reachable.set(true);
  learnTime(answer.headers.get("date"));
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

async function ask(method, path, options) {
  const answer = await open(path, { method, ...options });
  const text = await answer.text().catch(lost);
  return { data: text ? parseExact(text) : null, version: answer.headers.get("etag") };
}

function address(path, query = {}) {
  const url = new URL(`./${path}`, BASE); // a colon in it begins no scheme
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (
      one !== undefined && one !== null && one !== ""
    ) url.searchParams.append(name, one);
  }
  return url;
}

async function refusal(answer) {
  const document = await answer.json().catch(() => ({ detail: `the server answered ${answer.status}` }));
  if (answer.status === 401) who.set(null);
  return new Problem(answer.status, document);
}

/** A fetch that failed: because we gave it up, or because nobody answers. */
export function lost(error) {
  if (error.name === "AbortError") throw error;
  if (reachable.get()) {
    reachable.set(false);
    setTimeout(look, LOOK_EVERY);
  }
  throw new Problem(0, { detail: "the server cannot be reached" });
}

async function look() {
  const well = await fetch(HEALTH, { cache: "no-store" }).then((answer) => answer.ok, () => false);
  if (well) reachable.set(true);
  else if (!reachable.get()) setTimeout(look, LOOK_EVERY);
}

const newKey = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("");
