/** How many start when, and where many start at once. */

import { get, mayAll } from "../api.js";
import { Blackouts } from "../blackouts.js";
import { Choices, Empty, Facts, Failure, Heading, Loading, Panel, ScheduleLink, Table, Time } from "../components.js";
import { Concurrency } from "../concurrency.js";
import { Heatmap, ShadeLegend } from "../heatmap.js";
import { html, shows, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { refine } from "../routes.js";
import { stamp, zone } from "../time.js";

const SPANS = [["24", "next day, by minute"], ["168", "next week, by hour"]];
const [MOST, SHOWN] = [1000, 200]; // starts that are asked for, and schedules that are listed
const NAMED = 6; // schedules of a minute

export const title = () => "Forecast";

export const show = shows(Forecast);

function Forecast({ page }) {
  const [hours, setHours] = useState(page.query.hours ?? "24");
  const [cell, setCell] = useState(null); // {from, step, count}
  const found = useResource(page, (signal) => get("forecast", { hours }, signal), { on: ["schedule_deleted"] }, [hours]);
  const forecast = found.data.value;
  const change = (next) => (refine(page.query, { hours: next }), setCell(null), setHours(next));
  const pick = (index) => setCell({ from: Date.parse(forecast.start) + index * forecast.step * 1000, step: forecast.step, count: forecast.counts[index] });
  return html`<${Heading} title="Forecast" />
    <div class="filters"><${Choices} label="How far" options=${SPANS} value=${hours} change=${change} /></div>
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} again=${found.load} />`}
    <${Panel} title="Starts" about=${`what stands out against the usual load · ${zone.get()}`}>
      ${!forecast ? html`<${Loading} rows=${8} />` : forecast.counts.some(Boolean)
        ? html`<${Heatmap} ...${forecast} crowded=${forecast.crowded_minutes} start=${Date.parse(forecast.start)} pick=${pick} chosen=${cell?.from} /><${ShadeLegend} counts=${forecast.counts} />`
        : html`<${Empty} text="No runs in that period." advice="All schedules may be paused, or there are none yet." />`}<//>
    ${forecast && html`<${Panel} title="Schedules in the cell"><div aria-live="polite">${cell ? html`<${Cell} page=${page} cell=${cell} />` : html`<p class="faint">Choose a cell to see what starts then.</p>`}</div><//>
    <${Panel} title="How many run at once" about="beside what the workers take"><${Concurrency} start=${Date.parse(forecast.start)} step=${forecast.step} atOnce=${forecast.at_once} capacity=${forecast.capacity} /><//>
    <${Panel} title="Many start at once" about="in one minute">${forecast.crowded_minutes.length
      ? html`<${Table} label="Many start at once" columns=${CROWDED} rows=${forecast.crowded_minutes} keyOf=${(one) => one.minute} />`
      : html`<${Empty} text="In no minute do ten or more schedules start." />`}<//>`}
    ${(forecast || found.problem.value) && mayAll("viewer") && html`<${Blackouts} page=${page} />`}`;
}

/** Which schedules start in a cell. */
function Cell({ page, cell }) {
  const asked = { start: new Date(cell.from).toISOString(), hours: cell.step / 3600, limit: MOST };
  const found = useResource(page, async (signal) => (await get("upcoming", asked, signal)).items, {}, [cell.from, cell.step]);
  if (found.problem.value) return html`<${Failure} problem=${found.problem.value} again=${found.load} />`;
  const upcoming = found.data.value;
  if (!upcoming) return html`<${Loading} rows=${2} />`;
  const starts = new Map();
  for (const one of upcoming) starts.set(one.schedule, [...(starts.get(one.schedule) ?? []), one]);
  const rows = [...starts.values()].sort((a, b) => b.length - a.length).slice(0, SHOWN);
  return html`<${Facts} kind="line" pairs=${[["From", `${stamp(cell.from)} ${zone.get()}`], ["Starts", cell.count.toLocaleString("en")]]} />
    ${rows.length ? html`<${Table} label="Starts" columns=${STARTS} rows=${rows} keyOf=${([one]) => one.schedule} />` : html`<p class="faint">No runs.</p>`}
    ${upcoming.length < cell.count && html`<p class="faint">${upcoming.length} of ${cell.count} starts are counted here.</p>`}`;
}

const STARTS = [
  ["Schedule", ([one]) => html`<${ScheduleLink} name=${one.schedule} />`],
  ["Job", ([one]) => one.job],
  ["Starts", (all) => String(all.length), "number"],
  ["First at", ([one]) => html`<${Time} at=${one.at} />${one.timezone !== zone.get() && html` · <${Time} at=${one.at} zone=${one.timezone} label />`}`],
];

const CROWDED = [
  ["First at", (one) => html`<${Time} at=${one.minute} />`],
  ["Schedules", (one) => String(one.count), "number"],
  ["Which", (one) => html`${one.schedules.slice(0, NAMED).map((name, place) => html`${place > 0 && ", "}<${ScheduleLink} name=${name} />`)}${one.count > NAMED && ` and ${one.count - NAMED} more`}`, "grow"],
  ["Instead of", (one) => one.instead_of && html`<code>${one.instead_of}</code>`],
  ["Suggestion", (one) => one.suggestion && html`<code>${one.suggestion}</code>`],
];
