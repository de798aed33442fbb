/** Parts of a schedule's page. */

import { remove, scheduleButtons } from "./actions.js";
import { may } from "./api.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { jsonView } from "./json.js";
import {
  badge,
  button,
  duration,
  empty,
  facts,
  heading,
  inZone,
  lateness,
  runLink,
  strip,
  table,
  words,
  zoned,
} from "./parts.js";
import { go, to } from "./routes.js";
import { countdown, span, timeAt } from "./time.js";

const SHOWN = 10;
const STRIP = 40;
const FIRED = { schedule: "fired", catchup: "caught up" }; // by trigger; others by their own name

export const headOf = (one, version, changed) => [
  heading(one.name, scheduleButtons(one, changed, { params: one.definition.params }), ownButtons(one, version)),
  h("p", { class: "lead" },
    h("code", { class: "mono" }, one.times),
    one.means,
    one.definition.description && h("span", { class: "faint" }, one.definition.description),
  ),
  one.paused && pausedBox(one.paused),
  one.waits && h("div", { class: "warning" },
    icon("queued"),
    h("div", {}, `Its oldest slot waits: ${one.waits}.`),
  ),
  one.warnings.map((text) => h("div", { class: "warning" }, icon("warning"), h("div", {}, text))),
  facts([
    ["Next", next(one)],
    one.moved_to && ["Moved to", timeAt(one.moved_to, { label: true })],
    ["Last", last(one)],
    ["Decided up to", timeAt(one.cursor, { label: true })],
    ["Job", h("a", { href: to(["runs"], { job: one.job }) }, one.job)],
    one.definition.labels && ["Labels", labels(one.definition.labels)],
  ]),
];

/** Only who wrote it may change it; what was made here, admins may. */
function ownButtons(one, version) {
  if (one.source !== "api" || !may("admin")) return null;
  const away = async () => (await remove(one, version)) && go(["schedules"]);
  const edit = h("a", { class: "button", href: to(["schedules", one.name, "edit"]) }, "Edit");
  return [edit, button("Delete", away, { kind: "danger" })];
}

const pausedBox = ({ by, reason, at }) =>
  h("div", { class: "warning" },
    icon("paused"),
    h("div", {},
      h("strong", {}, `Paused by ${by}`),
      h("div", {}, reason || "No reason was given.", " ", countdown(at)),
    ),
  );

function next({ next_run_at: at, timezone, finished }) {
  if (!at) return finished ? "none: finished" : "none";
  return [countdown(at), " · ", timeAt(at, { label: true }), inZone(at, timezone)];
}

const last = ({ last_run_id: id, last_state: state, last_run_at: ran, last_enqueued_at: queued }) =>
  id ? [state && badge(state), " ", runLink(id), " ", countdown(ran ?? queued)] : "not run yet";

const labels = (given) =>
  Object.entries(given).map(([key, value]) => `${key}=${value}`).map((label) =>
    h("a", { class: "tag", href: to(["schedules"], { label }) }, label));

/** Its next fires. */
export function comingOf(one, items) {
  const times = items.map(({ at }) => at);
  if (!times.length && one.next_run_at) times.push(one.next_run_at);
  if (!times.length) return empty(one.paused ? "It does not run while it is paused." : "It will not run again.");
  return h("ol", { class: "times" },
    times.map((at) => h("li", {},
      timeAt(at),
      " ",
      h("span", { class: "faint" }, countdown(at), inZone(at, one.timezone)),
    )),
  );
}

/** How the slots of its last seven days ended, counted. */
export function countersOf(hours) {
  const counter = ([word, count]) =>
    h("span", { class: "counter" }, h("strong", {}, count.toLocaleString("en")), ` ${words(word)}`);
  const fired = [...summed(hours, "triggers")].map(([trigger, count]) => [FIRED[trigger] ?? trigger, count]);
  const decided = [...summed(hours, "decided")];
  return h("p", { class: "counters" },
    fired.map(counter),
    decided.length > 0 && h("span", { class: "faint" }, "without a run:"),
    decided.map(counter),
  );
}

/** Numbers by name, of all hours together. */
function summed(hours, field) {
  const sums = new Map();
  for (const hour of hours) {
    for (const [name, count] of Object.entries(hour[field])) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  return sums;
}

/** Its last seven days in a line. */
export function weekOf(hours) {
  const states = summed(hours, "runs");
  const sums = { late_ms: [0, 0], run_ms: [0, 0] }; // of how many, in all
  for (const hour of hours) {
    const count = Object.values(hour.runs).reduce((sum, runs) => sum + runs, 0);
    for (const [name, sum] of Object.entries(sums)) if (hour[name] !== null) sums[name] = [
      sum[0] + count,
      sum[1] + count * hour[name],
    ];
  }
  if (!states.size) return null;
  const mean = ([count, sum]) => (count ? span(sum / count) : "–");
  const told = [...states].map(([state, runs]) => `${runs.toLocaleString("en")} ${state}`).join(", ");
  return h("p", { class: "week" },
    `Last 7 days: ${told}; on average ${mean(sums.late_ms)} late and ${mean(sums.run_ms)} long.`,
  );
}

export function historyOf(runs, job) {
  if (!runs.length) return empty("No runs yet.");
  const late = (run) => (lateness(run) === null ? "" : span(lateness(run)));
  const columns = [
    ["Run", (run) => runLink(run.id)],
    ["State", (run) => badge(run.state)],
    [zoned("Slot"), (run) => timeAt(run.slot ?? run.due_at)],
    ["Trigger", (run) => run.trigger],
    ["Late", late, "number"],
    ["Took", duration, "number"],
  ];
  return [
    strip(runs.map((run) => run.state).reverse(), STRIP),
    table("History", columns, runs.slice(0, SHOWN)),
    h("p", {}, h("a", { href: to(["runs"], { job }) }, "All runs of the job")),
  ];
}

export const definitionOf = (one) => [
  facts([
    ["Source", one.source],
    ["Made", timeAt(one.created_at, { label: true })],
    ["Changed", timeAt(one.updated_at, { label: true })],
  ]),
  one.source !== "api" && h("p", { class: "faint" }, `Only its source may change it: ${one.source}.`),
  jsonView("Definition", one.definition),
];
