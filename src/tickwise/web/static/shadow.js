/** A schedule in shadow: its slots beside the fires of another scheduler, and the cut-over. */

import { get, may, send } from "./api.js";
import { Button, Countdown, Failure, Icon, Loading, Panel, Time } from "./components.js";
import { ask } from "./dialog.js";
import { Check } from "./fields.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { concerning } from "./schedule.js";
import { stamp, zone } from "./time.js";
import { toast } from "./toasts.js";

const CALM = 3000;
const DRAWN = 120; // slots and fires
const LISTED = 8; // differences
const LOOKS = { both: "ran", theirs: "failed", ours: "skipped" }; // of the strip
const WORDS = { both: "both", theirs: "only the other scheduler", ours: "only Tickwise" };

/** Drawn for a schedule that is, or was, in shadow. */
export function ShadowPanel({ page, row, changed }) {
  const path = `schedules/${encodeURIComponent(row.name)}/shadow`;
  const found = useResource(page, (signal) => get(path, {}, signal), { on: ["decision", "schedule"], concerns: concerning(row), calm: CALM }, [row.shadow.in_shadow]);
  const report = found.data.value;
  const buttons = may("operator") && (row.shadow.in_shadow
    ? html`<${Button} kind="primary" act=${async () => (await adopt(row.name, path)) && changed()}>Adopt<//>`
    : html`<${Button} kind="quiet" act=${async () => (await back(row.name, path)) && changed()}>Back into shadow<//>`);
  return html`<${Panel} title="Shadow" about=${row.shadow.in_shadow ? "another scheduler starts the job" : "Tickwise starts the job"} aside=${buttons}>
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} again=${found.load} />`}
    ${report ? html`<${Compared} row=${row} report=${report} />` : html`<${Loading} rows=${2} />`}<//>`;
}

function Compared({ row, report: { status, rows } }) {
  const others = rows.filter((one) => one.agreement !== "both").slice(-LISTED).reverse();
  const drawn = rows.slice(-DRAWN);
  return html`<p role="status">${told(status)} ${row.shadow.in_shadow
    ? html`In shadow since <${Time} at=${row.shadow.since} label />.`
    : html`Adopted <${Countdown} at=${row.shadow.adopted_at} />${row.shadow.adopted_by && ` by ${row.shadow.adopted_by}`}.`}</p>
    ${drawn.length > 0 && html`<p class="slot-strip" role="img" aria-label=${`Newest slots and fires: ${told(status)}`}>${drawn.map((one) =>
      html`<i key=${`${one.slot} ${one.fire}`} class=${`slot is-${LOOKS[one.agreement]}`} title=${`${stamp(one.slot ?? one.fire)} ${zone.get()}: ${WORDS[one.agreement]}`} />`)}</p>`}
    ${others.length > 0 && html`<ul class="skips" aria-label="Differences">${others.map((one) => html`<li key=${`${one.slot} ${one.fire}`}>
      <${Icon} name=${one.agreement === "theirs" ? "failed" : "skipped"} /> <${Time} at=${one.slot ?? one.fire} label /> <strong>${WORDS[one.agreement]}</strong>: ${one.text}</li>`)}</ul>`}`;
}

function told({ fires, both, ours }) {
  const alone = ours ? ` ${ours} ${ours === 1 ? "slot has" : "slots have"} no fire.` : "";
  return (fires ? `${both} of ${fires} fires agree.` : "No fire was heard.") + alone;
}

const adopt = (name, path) =>
  ask({
    title: `Adopt ${name}`,
    body: html`<p>Tickwise starts the job from now on, after the last fire of the other scheduler. Remove the job there before its next time.</p>
      <${Check} name="stopped">the other scheduler is stopped already<//>`,
    confirm: "Adopt",
    act: async ({ stopped }) => {
      const done = await send("POST", `${path}:adopt`, { stopped: stopped !== undefined });
      toast(done.next_slot ? `${name} is adopted. Remove it from the other scheduler before ${stamp(done.next_slot)} ${zone.get()}.` : `${name} is adopted.`);
      return true;
    },
  });

const back = (name, path) =>
  ask({
    title: `Put ${name} back into shadow`,
    body: html`<p>Tickwise does not start the job any more: the other scheduler must.</p>`,
    confirm: "Back into shadow",
    act: async () => {
      await send("POST", `${path}:resume`);
      toast(`${name} is in shadow again.`);
      return true;
    },
  });
