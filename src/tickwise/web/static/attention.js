/** What needs a person: the first page lists it, on all others the tab counts it, and only the number is asked for. */

import { get, may, reachable, send, who } from "./api.js";
import { Button, Link } from "./components.js";
import * as events from "./events.js";
import { html, signal } from "./preact.js";
import { openSlot } from "./slotpanel.js";
import { setNeeds } from "./tabtitle.js";
import { zone } from "./time.js";
import { copy, toast } from "./toasts.js";

const [CALM, CALMER] = [5000, 15_000]; // milliseconds between two looks, where they are listed and where they are counted
const FIRST = 1000; // before the first one, which the first page makes by itself
const EVERY = 60_000;

/** The answer of `GET /attention`; null before there is one. */
export const attention = signal(null);
let listed = 0; // causes that are asked for
let timer = null;
let last = 0;

/** List so many from now on; 0 only counts them. */
export function listNeeds(number) {
  listed = number;
  if (number) lookForNeeds();
}

export async function lookForNeeds() {
  clearTimeout(timer);
  timer = null;
  last = Date.now();
  const asked = listed;
  const found = await get("attention", { limit: asked, zone: zone.get() }).catch(() => null);
  if (!found || asked !== listed) return;
  attention.value = found;
  setNeeds(found.count);
}

function soon() {
  if (!who.get()) return;
  timer ??= setTimeout(lookForNeeds, last ? Math.max(0, last + (listed ? CALM : CALMER) - Date.now()) : FIRST);
}

/** Look now and then, and when something happens. */
export function watchNeeds() {
  for (const kind of ["run", "decision", "schedule", "reset"]) events.on(kind, soon);
  who.on((person) => (person ? soon() : (attention.value = null, setNeeds(0))));
  setInterval(() => reachable.get() && soon(), EVERY);
}

/** One thing to do about it: a request, or a way to somewhere. */
export function Remedy({ action, job }) {
  if (action.role && !may(action.role, job)) return null;
  if (action.method) return html`<${Button} act=${() => carryOut(action)}>${action.label}<//>`;
  if (action.do === "why") return html`<${Button} act=${() => openSlot({ schedule: action.schedule, slot: action.slot })}>${action.label}<//>`;
  if (action.do === "proposals") return html`<${Button} act=${goToProposals}>${action.label}<//>`;
  if (action.do === "command") return html`<${Button} icon="copy" title=${action.command} act=${() => copy(action.command)}>${action.label}<//>`;
  const place = placeOf(action);
  return place && html`<${Link} ...${place} kind="button">${action.label}<//>`;
}

/** The list of proposals on the first page. */
function goToProposals() {
  const list = document.getElementById("proposals");
  list?.scrollIntoView({ block: "start" });
  list?.focus({ preventScroll: true });
}

const placeOf = (action) => ({
  log: () => ({ parts: ["runs", action.run] }),
  run: () => ({ parts: ["runs", action.run] }),
  answer: () => ({ parts: ["runs", action.run], query: { step: action.field } }),
  schedule: () => ({ parts: ["schedules", action.schedule] }),
  edit: () => ({ parts: ["schedules", action.schedule], query: { tab: "definition" } }),
  runs: () => ({ parts: ["runs"], query: { q: action.q } }),
}[action.do]?.());

async function carryOut({ method, path, body, label }) {
  try {
    await send(method, path.replace(/^\//, ""), body);
    toast(`${label}: done.`);
    lookForNeeds();
  } catch (problem) {
    toast(problem.message, "wrong");
  }
}
