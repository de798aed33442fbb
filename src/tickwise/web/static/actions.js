/** What people do to schedules: each asks first, and says what came of it. */

import { may, send, sendMatching, sendOnce } from "./api.js";
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
const SHOWN = 100; // slots of a dry run

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

function reschedule(schedule) {
  const at = h("input", {
    type: "datetime-local",
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

function backfill(schedule) {
  const start = h("input", { type: "datetime-local", value: localText(now() - 24 * HOUR), required: true });
  const end = h("input", { type: "datetime-local", value: localText(now()), required: true });
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

const reset = (schedule) =>
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

/** Buttons for one schedule, as far as the person may; `changed` is called after each. */
export function scheduleButtons(schedule, changed, { params } = {}) {
  if (!may("operator")) return [];
  const then = (act) => async () => (await act()) && changed();
  return [
    button("Run now", then(() => trigger([schedule.name], params)), { kind: "primary", name: "runs" }),
    schedule.paused
      ? button("Resume", then(() => resume([schedule.name])), { name: "runs" })
      : button("Pause", then(() => pause([schedule.name])), { name: "paused" }),
    button("Reschedule", then(() => reschedule(schedule)), { name: "moved" }),
    button("Backfill", then(() => backfill(schedule)), { name: "plus" }),
    button("Reset", then(() => reset(schedule)), { kind: "quiet" }),
  ];
}

/** One by its own address, so that a refusal is told in full; many at once, with a word on each that failed. */
async function many(names, action, body, word) {
  const post = action === "trigger" ? sendOnce : (where, what) => send("POST", where, what);
  if (names.length === 1) return done(await post(path(names[0], action), body), `${word} ${names[0]}.`);
  const { items } = await post(`schedules:${action}`, { ...body, names });
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
