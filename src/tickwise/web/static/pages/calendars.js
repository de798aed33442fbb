/** Calendars: named sets of days, and a year of one of them as a picture. */

import { get, mayAll, send } from "../api.js";
import { Button, Empty, Facts, Failure, Heading, Loading, Panel, Table, Time } from "../components.js";
import { html, shows, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { refine } from "../routes.js";
import { toast } from "../toasts.js";

const LOOK_EVERY = 30_000;
const WEEKDAYS = ["M", "T", "W", "T", "F", "S", "S"];
const MONTHS = Array.from({ length: 12 }, (_, month) => month);

export const title = () => "Calendars";

export const show = shows(({ page }) => (mayAll("viewer")
  ? html`<${Calendars} page=${page} />`
  : html`<${Heading} title="Calendars" /><${Empty} text="Calendars are shown to people who see all jobs." />`));

function Calendars({ page }) {
  const [name, setName] = useState(page.query.name);
  const found = useResource(page, async (signal) => (await get("calendars", {}, signal)).items, { every: LOOK_EVERY });
  const rows = found.data.value;
  const choose = (one) => (refine(page.query, { name: one }), setName(one));
  const chosen = rows?.find((one) => one.name === name) ?? rows?.[0];
  return html`<${Heading} title="Calendars" />
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} again=${found.load} />`}
    ${!rows && !found.problem.value && html`<${Loading} />`}
    ${rows && !rows.length && html`<${Empty} text="No calendars." advice="A file in calendars/ beside the job files makes one; or run: tickwise calendars add FILE" />`}
    ${rows?.length > 0 && html`<${Panel} title="All calendars"><${Table} label="Calendars" columns=${columns(choose, chosen)} rows=${rows} keyOf=${(one) => one.name} /><//>`}
    ${chosen && html`<${Year} key=${`${chosen.name} ${chosen.version}`} page=${page} name=${chosen.name} />`}`;
}

const columns = (choose, chosen) => [
  ["Calendar", (one) => html`<button type="button" class="link name calendar-name" aria-label=${`Show ${one.name}`} aria-pressed=${String(one === chosen)} onClick=${() => choose(one.name)}>${one.name}</button>`],
  ["For", (one) => one.description],
  ["Known until", (one) => one.last],
  ["Source", (one) => one.source],
];

function Year({ page, name }) {
  const [year, setYear] = useState(Number(page.query.year) || new Date().getFullYear());
  const path = `calendars/${encodeURIComponent(name)}`;
  const read = async (signal) => {
    const [one, days] = await Promise.all([get(path, {}, signal), get(`${path}/days`, { year }, signal)]);
    return { one, days };
  };
  const found = useResource(page, read, {}, [name, year]);
  const { one, days } = found.data.value ?? {};
  const turn = (to) => (refine(page.query, { year: String(to) }), setYear(to));
  const ways = html`<${Button} kind="quiet" act=${() => turn(year - 1)} label="The year before">‹<//><strong>${year}</strong><${Button} kind="quiet" act=${() => turn(year + 1)} label="The year after">›<//>
    ${mayAll("admin") && html`<${Button} kind="quiet" title="Find its days anew, as the server knows holidays now" act=${() => expand(path, found.load)}>Expand<//>`}`;
  return html`<${Panel} title=${name} about=${days && `${days.days.length} days of ${year}`} aside=${ways}>
    ${found.problem.value && html`<${Failure} problem=${found.problem.value} />`}
    ${one && html`<${Facts} kind="line" pairs=${[["Used by", one.used_by.join(", ") || "nothing"], ["Expanded", html`<${Time} at=${one.expanded_at} />`], one.settled ? null : ["State", "not all that use it have these days yet"]]} />`}
    ${days && !found.problem.value && html`<div class="year">${MONTHS.map((month) => html`<${Month} key=${month} year=${year} month=${month} days=${new Set(days.days)} names=${days.names} />`)}</div>
      <${Names} days=${new Set(days.days)} names=${days.names} />`}<//>`;
}

async function expand(path, load) {
  const done = await send("POST", `${path}:expand`).catch((problem) => void toast(problem.message, "wrong"));
  if (done) toast(`The calendar ${done.name} has days up to ${done.last}.`);
  if (done) load();
}

const iso = (year, month, day) => `${String(year).padStart(4, "0")}-${String(month + 1).padStart(2, "0")}-${String(day).padStart(2, "0")}`;

function Month({ year, month, days, names }) {
  const first = new Date(Date.UTC(year, month, 1));
  const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const called = first.toLocaleDateString("en", { month: "long", timeZone: "UTC" });
  const all = Array.from({ length }, (_, place) => iso(year, month, place + 1));
  const inside = all.filter((day) => days.has(day)).map((day) => Number(day.slice(-2)));
  return html`<figure class="month" role="img" aria-label=${`${called} ${year}: ${inside.join(", ") || "no day"}`}>
    <figcaption>${called}</figcaption>
    <div class="month-days">${WEEKDAYS.map((letter, place) => html`<span key=${`w${place}`} class="month-word">${letter}</span>`)}
      ${all.map((day, place) => html`<span key=${day} class=${days.has(day) ? "is-in" : "is-out"} title=${names[day]} style=${place === 0 ? { "grid-column": (first.getUTCDay() + 6) % 7 + 1 } : undefined}>${place + 1}</span>`)}</div></figure>`;
}

function Names({ days, names }) {
  const rows = Object.entries(names).sort().map(([day, name]) => ({ day, name, inside: days.has(day) }));
  if (!rows.length) return null;
  return html`<${Table} label="Named days" keyOf=${(one) => one.day} rows=${rows}
    columns=${[["Day", (one) => one.day], ["Name", (one) => one.name], ["In the calendar", (one) => (one.inside ? "yes" : "no")]]} />`;
}
