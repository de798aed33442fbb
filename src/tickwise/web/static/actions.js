/** What people do to schedules: each asks first, and tells what came of it. */

import { get, send, sendMatching, sendOnce } from "./api.js";
import { Button } from "./components.js";
import { ask, valuesOf } from "./dialog.js";
import { Check, Field, Select } from "./fields.js";
import { changedParams, ParamFields } from "./params.js";
import { html, useState } from "./preact.js";
import { instantOf, localText, now, stamp, zone } from "./time.js";
import { toast } from "./toasts.js";

const HOUR = 3_600_000;
const MISSED = [["", "as its catch-up says"], ["true", "run them"], ["false", "drop them"]];
const OVERLAPS = [
  ["queue", "one after the other"],
  ["allow", "side by side"],
  ["skip", "skip slots while the job is active"],
];
const TIME = { placeholder: "2026-11-18 17:00", size: "17" };
const WHILE = /^(\d+(\.\d+)?[a-z]+)+$/i; // 2h, 1d12h
const SHOWN = 100; // slots of a dry run
const MOST_AT_ONCE = 1000; // schedules of a request

const path = (name, action) => `schedules/${encodeURIComponent(name)}:${action}`;
const listed = (names) => (names.length === 1 ? names[0] : `${names.length} schedules`);

/** The end of a pause. */
export const UntilField = () =>
  html`<${Field} ...${TIME} label=${`Until (${zone.get()})`} name="until" hint="or a while, such as 2h; empty: until somebody resumes" />`;
export const untilOf = (text) => (WHILE.test(text.trim()) ? text.trim() : instantOf(text));

export const pause = (names) =>
  ask({
    title: `Pause ${listed(names)}`,
    body: html`<p>No slot runs until you resume. Queued runs go on.</p>
      <${Field} label="Reason" name="reason" maxlength="1000" placeholder="the database moves tonight" />
      <${UntilField} />`,
    confirm: "Pause",
    act: ({ reason, until }) => many(names, "pause", { reason, until: untilOf(until) }, "Paused"),
  });

/** Mark a slot to come, which is not to run. */
export const skip = (name, slot) =>
  ask({
    title: `Skip the slot ${stamp(slot)} of ${name}`,
    body: html`<p>It will not run; the slots around it do. Until its time has come, this can be taken back.</p><${Field} label="Reason" name="reason" maxlength="1000" />`,
    confirm: "Skip the slot",
    act: async ({ reason }) => done(await send("POST", path(name, "skip"), { slot, reason }), `The slot ${stamp(slot)} will be skipped.`),
  });

/** Let a marked slot run after all; what refuses it is told. */
export const takeSkipBack = (name, slot) =>
  send("POST", path(name, "skip"), { slot, undo: true }).then(
    (row) => done(row, `The slot ${stamp(slot)} will run.`),
    (problem) => void toast(problem.message, "wrong"),
  );

export const resume = (names) =>
  ask({
    title: `Resume ${listed(names)}`,
    body: html`<${Select} label="Slots of the pause" name="missed" options=${MISSED} />`,
    confirm: "Resume",
    act: ({ missed }) => many(names, "resume", missed ? { run_missed: missed === "true" } : {}, "Resumed"),
  });

/** Run schedules now; the params of a single one are a form. */
export async function trigger(names) {
  const row = names.length === 1 && await get(`schedules/${encodeURIComponent(names[0])}`).catch(() => null);
  const defined = row ? row.definition.params ?? {} : null;
  return ask({
    title: `Run ${listed(names)} now`,
    body: html`<p>Starts a run now. The next scheduled run stays as it is.</p>
      <${ParamFields} defined=${defined} /><${Check} name="overlap">also while the job is active<//><${Check} name="blackout">also in a blackout<//>`,
    confirm: "Run now",
    act: (values) => many(names, "trigger", { allow_overlap: values.overlap !== undefined, in_blackout: values.blackout !== undefined, ...changedParams(values, defined) }, "Started"),
  });
}

/** Run a job that has no schedule. */
export async function runJob(job) {
  const { definition } = await get(`jobs/${encodeURIComponent(job)}`);
  const defined = definition.params ?? {};
  return ask({
    title: `Run ${job} now`,
    body: html`<${ParamFields} defined=${defined} />`,
    confirm: "Run now",
    act: async (values) => {
      const run = await sendOnce("runs", { job, ...changedParams(values, defined) });
      return done(run, `Started ${job} as run #${run.id}.`);
    },
  });
}

export const cancelAll = (job) =>
  ask({
    title: `Cancel the runs of ${job}`,
    body: html`<p>All its running runs are asked to end.</p><${Check} name="queued">also end those that are queued<//>`,
    confirm: "Cancel runs",
    danger: true,
    act: async ({ queued }) => {
      const answer = await send("POST", `jobs/${encodeURIComponent(job)}:cancel`, { queued: queued !== undefined });
      return done(answer, answer.runs.length ? `Asked to end: ${answer.runs.map((id) => `#${id}`).join(" ")}` : `No run of ${job} was active.`);
    },
  });

export const reschedule = (schedule) =>
  ask({
    title: `Move the next fire of ${schedule.name}`,
    body: html`<p>Moves one run; later runs keep their times. Slots in between are recorded as rescheduled.</p>
      <${Field} ...${TIME} label=${`At (${zone.get()})`} name="at" value=${localText(Date.parse(schedule.next_run_at ?? "") || now())} />
      <${Field} label="Or after a delay" name="after" placeholder="15m" size="8" hint="such as 15m or 2h; it replaces the time above" />`,
    confirm: "Move",
    act: async ({ at, after }) => {
      const moved = await send("POST", path(schedule.name, "reschedule"), { to: after.trim() || instantOf(at) || "" });
      return done(moved, `${schedule.name} fires next at ${stamp(moved.next_run_at ?? moved.moved_to)} ${zone.get()}.`);
    },
  });

/** Backfill the last day, or from `start` until `end` in milliseconds. */
export function backfill(schedule, { start = now() - 24 * HOUR, end = now() } = {}) {
  const asked = (values, dry) => ({
    start: instantOf(values.start), end: instantOf(values.end), overlap: values.overlap, again: values.again !== undefined, dry_run: dry,
  });
  const post = (values, dry) => send("POST", path(schedule.name, "backfill"), asked(values, dry));
  return ask({
    title: `Backfill ${schedule.name}`,
    body: html`<p>Runs the slots of the past that have no run yet, the oldest first.</p>
      <div class="pair"><${Field} ...${TIME} label=${`From (${zone.get()})`} name="start" value=${localText(start)} required />
        <${Field} ...${TIME} label=${`Until (${zone.get()})`} name="end" value=${localText(end)} required /></div>
      <${Select} label="Overlap" name="overlap" options=${OVERLAPS} value="queue" />
      <${Check} name="again">also before the time from which runs are kept<//>
      <${DryRun} look=${(values) => post(values, true)} />`,
    confirm: "Backfill",
    act: async (values) => {
      const answer = await post(values, false);
      return done(answer, `${answer.slots.length} slots will run.`);
    },
  });
}

function DryRun({ look }) {
  const [{ slots, wrong }, setFound] = useState({});
  const pressed = async (event) => setFound(await look(valuesOf(event.currentTarget.form)).catch((problem) => ({ wrong: problem.message })));
  return html`<${Button} act=${pressed}>Dry run: list the slots<//><div class="dry-run" aria-live="polite">
    ${wrong && html`<p class="dialog-error">${wrong}</p>`}
    ${slots && html`<p>${slots.length ? `${slots.length} slots would run:` : "No slots without a run in that range."}</p>
      <ol class="slots">${slots.slice(0, SHOWN).map((slot) => html`<li key=${slot}>${stamp(slot)}</li>`)}</ol>
      ${slots.length > SHOWN && html`<p class="faint">and ${slots.length - SHOWN} more</p>`}`}</div>`;
}

export const reset = (schedule) =>
  ask({
    title: `Reset ${schedule.name}`,
    body: html`<p>Its backlog is dropped and recorded, and it continues from now. To undo this, backfill the slots.</p>`,
    confirm: "Drop the backlog",
    danger: true,
    act: async () => done(await send("POST", path(schedule.name, "reset")), `${schedule.name} continues from now.`),
  });

export const remove = (schedule, version) =>
  ask({
    title: `Delete ${schedule.name}`,
    body: html`<p>Its queued runs are cancelled; running ones go on. If it is the job's only schedule, the job is deleted too.</p>`,
    confirm: "Delete",
    danger: true,
    act: async () => {
      await sendMatching("DELETE", `schedules/${encodeURIComponent(schedule.name)}`, version);
      return done(true, `${schedule.name} is deleted.`);
    },
  });

export const removeJob = (name) =>
  ask({
    title: `Delete ${name}`,
    body: html`<p>Its queued runs are cancelled; running ones go on.</p>`,
    confirm: "Delete",
    danger: true,
    act: async () => {
      await send("DELETE", `jobs/${encodeURIComponent(name)}`);
      return done(true, `${name} is deleted.`);
    },
  });

export const pauseAll = () =>
  ask({
    title: "Pause all",
    confirm: "Pause all",
    danger: true,
    body: html`<p>No slot of any schedule runs until you resume.</p><${Field} label="Reason" name="reason" maxlength="1000" /><${UntilField} />`,
    act: async ({ reason, until }) => done(await send("PUT", "pause", { reason, until: untilOf(until) }), "All schedules are paused."),
  });

export const resumeAll = () =>
  ask({
    title: "Resume all",
    confirm: "Resume",
    body: html`<p>Slots of the pause are handled by each schedule's catch-up.</p>`,
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
  for (const one of refused.slice(0, 5)) toast(`${one.name}: ${one.problem?.detail}`, "wrong");
  return done(items, `${word} ${items.length - refused.length} of ${items.length}.`);
}

function done(answer, text) {
  toast(text);
  return answer;
}
