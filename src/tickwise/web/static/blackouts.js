/** Windows in which schedules rest: a list to change, and what is on now. */

import { untilOf } from "./actions.js";
import { get, mayAll, send } from "./api.js";
import { Badge, Button, Countdown, Empty, Failure, Icon, Loading, Panel, Table, Time } from "./components.js";
import { ask } from "./dialog.js";
import { Field } from "./fields.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { zone } from "./time.js";
import { toast } from "./toasts.js";

const LOOK_EVERY = 30_000;
const TIME = { placeholder: "2026-11-18 17:00", size: "17" };
const read = async (signal) => (await get("blackouts", {}, signal)).items;

/** All of them, for those who see all jobs. */
export function Blackouts({ page }) {
  const found = useResource(page, read, { every: LOOK_EVERY });
  const rows = found.data.value;
  return html`<${Panel} title="Blackouts" about="windows in which schedules rest">
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} again=${found.load} />`}
    ${!rows ? html`<${Loading} rows=${2} />` : rows.length
      ? html`<${Table} label="Blackouts" columns=${columns(found.load)} rows=${rows} keyOf=${(one) => one.name} />`
      : html`<${Empty} text="No blackouts." advice="Add one to keep a time free of runs." />`}
    ${mayAll("operator") && html`<div class="actions below"><${Button} icon="plus" act=${async () => (await add()) && found.load()}>Add a blackout<//></div>`}<//>`;
}

const columns = (changed) => [
  ["Blackout", (one) => html`<strong>${one.name}</strong><div class="faint">${one.reason}</div>`],
  ["State", (one) => html`<${Badge} state=${one.active ? "paused" : "queued"}>${one.active ? "on" : one.start ? "to come" : "over"}<//>`],
  ["From", (one) => one.start && html`<${Time} at=${one.start} label />`],
  ["Until", (one) => one.end && html`<${Time} at=${one.end} label /> <span class="faint"><${Countdown} at=${one.end} /></span>`],
  ["Again", (one) => one.cron && html`<code class="mono">${one.cron}</code> ${one.timezone}, for ${one.length}`],
  ["For", (one) => [...one.jobs, ...one.labels].join(", ")],
  ["By", (one) => one.by],
  ["Change", (one) => mayAll("operator") && html`<${Button} kind="quiet" label=${`Remove ${one.name}`} act=${async () => (await remove(one)) && changed()}>Remove<//>`],
];

const words = (text) => text.split(/[\s,]+/).filter(Boolean);

const add = () =>
  ask({
    title: "Add a blackout",
    confirm: "Add",
    body: html`<p>Schedules of these jobs rest in the window, and go on by their catch-up when it has ended.</p>
      <${Field} label="Name" name="name" required pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*" maxlength="100" />
      <${Field} label="Jobs" name="jobs" placeholder="etl-*" hint="patterns of names; * is every job" />
      <${Field} label="Labels" name="labels" placeholder="team=data" />
      <div class="pair"><${Field} ...${TIME} label=${`From (${zone.get()})`} name="start" hint="empty: now" /><${Field} ...${TIME} label=${`Until (${zone.get()})`} name="end" hint="or a while from now, such as 2h" /></div>
      <div class="pair"><${Field} label="Or each time (cron)" name="cron" placeholder="0 22 * * FRI" /><${Field} label="For" name="length" placeholder="60h" size="8" /></div>
      <${Field} label="Reason" name="reason" maxlength="1000" />`,
    act: async ({ name, jobs, labels, start, end, cron, length, reason }) => {
      const times = cron ? { cron, length: length || null, timezone: zone.get() } : { start: untilOf(start), end: untilOf(end), length: length || null };
      const made = await send("POST", "blackouts", { name, jobs: words(jobs), labels: words(labels), reason, ...times });
      toast(made.active ? `The blackout ${name} is on.` : `The blackout ${name} is added.`);
      return made;
    },
  });

const remove = (one) =>
  ask({
    title: `Remove the blackout ${one.name}`,
    confirm: "Remove",
    danger: true,
    body: html`<p>${one.active ? "It ends now: what rests by it goes on, as after a pause." : "Its windows will not come."}</p>`,
    act: async () => {
      const was = await send("DELETE", `blackouts/${encodeURIComponent(one.name)}`);
      toast(`The blackout ${one.name} is removed.`);
      return was;
    },
  });

/** What is on now, in a sentence each. */
export const Resting = ({ blackouts }) =>
  blackouts.map((one) => html`<div class="warning" key=${one.name}><${Icon} name="paused" /><div><strong>Blackout ${one.name}</strong> until <${Time} at=${one.end} label /><div>${one.reason || "No reason was given."} <span class="faint">· ends <${Countdown} at=${one.end} /></span></div></div></div>`);

/** What holds a schedule now. */
export function RestingSchedule({ page, names }) {
  const found = useResource(page, read, { every: LOOK_EVERY });
  const on = (found.data.value ?? []).filter((one) => one.active && names.includes(one.name));
  return html`<${Resting} blackouts=${on} />`;
}
