/** What people do to schedules: each asks first, and says what came of it. */

import { send, sendMatching, sendOnce } from "./api.js";
import { ask } from "./dialog.js";
import { h, put } from "./dom.js";
import { parseExact, writeExact } from "./exact.js";
import { field, select } from "./fields.js";
import { button } from "./parts.js";
import { say } from "./say.js";
import { instantOf, localText, now, stamp, zone } from "./time.js";

const HOUR = 3_600_000;
const MISSED = [["", "as its catch-up says"], ["true", "run them"], ["false", "drop them"]];
const OVERLAPS = [
  ["queue", "one after the other"],
  ["allow", "side by side"],
  ["skip", "skip slots while the job is active"],
];
const TIME = { placeholder: "2026-11-18 17:00", autocomplete: "off", spellcheck: "false", size: "17" };
const SHOWN = 100; // slots of a dry run
const MOST_AT_ONCE = 1000; // schedules of a request

const path = (name, action) => `schedules/${encodeURIComponent(name)}:${action}`;
const listed = (names) => (names.length === 1 ? names[0] : `${names.length} schedules`);

export function pause(names) {
  const reason = h("input", { maxlength: "1000", placeholder: "the database moves tonight", autocomplete: "off" });
  return ask({
    title: `Pause ${listed(names)}`,
    body: [h("p", {}, "No slot runs until you resume. Queued runs go on."), field("Reason", reason)],
    confirm: "Pause",
    act: () => many(names, "pause", { reason: reason.value }, "Paused"),
  });
}

export function resume(names) {
  const missed = select(MISSED, "");
  return ask({
    title: `Resume ${listed(names)}`,
    body: [field("Slots of the pause", missed)],
    confirm: "Resume",
    act: () => many(names, "resume", missed.value ? { run_missed: missed.value === "true" } : {}, "Resumed"),
  });
}

export function trigger(names, params) {
  const given = h("textarea", {
    rows: "4",
    spellcheck: "false",
    class: "mono",
    placeholder: writeExact(params ?? { table: "users" }),
  });
  const overlap = h("input", { type: "checkbox" });
  return ask({
    title: `Run ${listed(names)} now`,
    body: [
      h("p", {}, "Starts a run now. The next scheduled run stays as it is."),
      field("Params for this run (JSON)", given, { hint: "If empty, those of the definition." }),
      h("label", { class: "check" }, overlap, "also while the job is active"),
    ],
    confirm: "Run now",
    act: () => many(
      names,
      "trigger",
      { allow_overlap: overlap.checked, ...(given.value.trim() ? { params: read(given.value) } : {}) },
      "Started",
    ),
  });
}

/** A job that has no schedule. */
export function runJob(job) {
  const given = h("textarea", { rows: "4", spellcheck: "false", class: "mono", placeholder: '{"table": "users"}' });
  return ask({
    title: `Run ${job} now`,
    body: [field("Params for this run (JSON)", given, { hint: "If empty, those of the definition." })],
    confirm: "Run now",
    act: async () => {
      const run = await sendOnce("runs", { job, ...(given.value.trim() ? { params: read(given.value) } : {}) });
      return done(run, `Started ${job} as run #${run.id}.`);
    },
  });
}

export function reschedule(schedule) {
  const at = h("input", {
    ...TIME,
    value: localText(Date.parse(schedule.next_run_at ?? "") || now()),
  });
  const after = h("input", { placeholder: "15m", size: "8" });
  return ask({
    title: `Move the next fire of ${schedule.name}`,
    body: [
      h("p", {}, "Moves one run; later runs keep their times. Slots in between are recorded as rescheduled."),
      field(`At (${zone.get()})`, at),
      field("Or after a delay", after, { hint: "such as 15m or 2h; it replaces the time above" }),
    ],
    confirm: "Move",
    act: async () => {
      const moved = await send(
        "POST",
        path(schedule.name, "reschedule"),
        { to: after.value.trim() || instantOf(at.value) || "" },
      );
      say(`${schedule.name} fires next at ${stamp(moved.next_run_at ?? moved.moved_to)} ${zone.get()}.`);
      return moved;
    },
  });
}

export function backfill(schedule) {
  const start = h("input", { ...TIME, value: localText(now() - 24 * HOUR), required: true });
  const end = h("input", { ...TIME, value: localText(now()), required: true });
  const overlap = select(OVERLAPS, "queue");
  const again = h("input", { type: "checkbox" });
  const found = h("div", { class: "dry-run", "aria-live": "polite" });
  const asked = (dry) => ({
    start: instantOf(start.value),
    end: instantOf(end.value),
    overlap: overlap.value,
    again: again.checked,
    dry_run: dry,
  });
  const look = async () => {
    try {
      put(found, slots((await send("POST", path(schedule.name, "backfill"), asked(true))).slots));
    } catch (problem) {
      put(found, h("p", { class: "dialog-error" }, problem.message));
    }
  };
  return ask({
    title: `Backfill ${schedule.name}`,
    body: [
      h("p", {}, "Runs the slots of the past that have no run yet, the oldest first."),
      h("div", { class: "pair" }, field(`From (${zone.get()})`, start), field(`Until (${zone.get()})`, end)),
      field("Overlap", overlap),
      h("label", { class: "check" }, again, "also before the time from which runs are kept"),
      button("Dry run: list the slots", look), found,
    ],
    confirm: "Backfill",
    act: async () => {
      const answer = await send("POST", path(schedule.name, "backfill"), asked(false));
      say(`${answer.slots.length} slots will run.`);
      return answer;
    },
  });
}

const slots = (found) => [
  h("p", {}, found.length ? `${found.length} slots would run:` : "No slots without a run in that range."),
  h("ol", { class: "slots" }, found.slice(0, SHOWN).map((slot) => h("li", {}, stamp(slot)))),
  found.length > SHOWN && h("p", { class: "faint" }, `and ${found.length - SHOWN} more`),
];

export const reset = (schedule) =>
  ask({
    title: `Reset ${schedule.name}`,
    body: [
      h("p", {}, "Its backlog is dropped and recorded, and it continues from now. To undo this, backfill the slots."),
    ],
    confirm: "Drop the backlog",
    danger: true,
    act: async () => done(await send("POST", path(schedule.name, "reset")), `${schedule.name} continues from now.`),
  });

export const remove = (schedule, version) =>
  ask({
    title: `Delete ${schedule.name}`,
    body: [
      h("p", {},
        "Its queued runs are cancelled; running ones go on. If it is the job's only schedule, the job is deleted too.",
      ),
    ],
    confirm: "Delete",
    danger: true,
    act: async () => {
      await sendMatching("DELETE", `schedules/${encodeURIComponent(schedule.name)}`, version);
      return done(true, `${schedule.name} is deleted.`);
    },
  });

export function pauseAll() {
  const reason = h("input", { maxlength: "1000", autocomplete: "off" });
  return ask({
    title: "Pause all",
    confirm: "Pause all",
    danger: true,
    body: [h("p", {}, "No slot of any schedule runs until you resume."), field("Reason", reason)],
    act: async () => done(await send("PUT", "pause", { reason: reason.value }), "All schedules are paused."),
  });
}

export const resumeAll = () =>
  ask({
    title: "Resume all",
    confirm: "Resume",
    body: [h("p", {}, "Slots of the pause are handled by each schedule's catch-up.")],
    act: async () => done(await send("DELETE", "pause"), "Resumed."),
  });

/** One by its own address, so that a refusal is told in full; many at once, with a word on each that failed. */
async function many(names, action, body, word) {
  const post = action === "trigger" ? sendOnce : (where, what) => send("POST", where, what);
  if (names.length === 1) return done(await post(path(names[0], action), body), `${word} ${names[0]}.`);
  const items = [];
  for (let from = 0; from < names.length; from += MOST_AT_ONCE) {
    items.push(...(await post(`schedules:${action}`, { ...body, names: names.slice(from, from + MOST_AT_ONCE) })).items);
  }
  const refused = items.filter((one) => !one.done);
  for (const one of refused.slice(0, 5)) say(`${one.name}: ${one.problem?.detail}`, "wrong");
  return done(items, `${word} ${items.length - refused.length} of ${items.length}.`);
}

function read(text) {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`the params are no JSON: ${error.message}`);
  }
}

function done(answer, text) {
  say(text);
  return answer;
}
