/** Pieces that live pages are made of. */

import { PATHS } from "./icons.js";
import { html } from "./preact.js";
import { to } from "./routes.js";
import { fromNow, OWN_ZONE, second, shortStamp, stamp, zone } from "./time.js";

const VERDICT_ICONS = { fired: "succeeded", caught_up: "moved", deferred: "waiting" };

export const words = (code) => String(code ?? "").replaceAll("_", " ");

export const Icon = ({ name }) =>
  html`<svg class=${`icon icon-${name}`} viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name] ?? PATHS.waiting} /></svg>`;

/** A state or a verdict: always a shape and a word, never a colour alone. */
export const Badge = ({ state, children }) =>
  html`<span class=${`badge is-${state}`}><${Icon} name=${VERDICT_ICONS[state] ?? state} />${children ?? words(state)}</span>`;

export const Button = ({ act, kind = "", icon, disabled, title, label, children }) =>
  html`<button type="button" class=${`button ${kind}`} onClick=${act} disabled=${disabled} title=${title} aria-label=${label}>
    ${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}</button>`;

export const Link = ({ parts, query, kind, children, ...rest }) =>
  html`<a href=${to(parts, query)} class=${kind} ...${rest}>${children}</a>`;

export const RunLink = ({ id }) => html`<${Link} parts=${["runs", id]} kind="mono">#${id}<//>`;

export const ScheduleLink = ({ name, tab }) => html`<${Link} parts=${["schedules", name]} query=${{ tab }} kind="name">${name}<//>`;

export const Panel = ({ title, about, aside, kind = "", children }) =>
  html`<section class=${`panel ${kind}`} aria-label=${title}>
    <header class="panel-head"><h2>${title}</h2>${about && html`<span class="faint">${about}</span>`}<div class="grow" />${aside}</header>
    ${children}</section>`;

export const Heading = ({ title, children }) =>
  html`<header class="page-head"><h1 tabindex="-1">${title}</h1><div class="actions">${children}</div></header>`;

/** Nothing to show, and what to do about it. */
export const Empty = ({ text, advice, children }) =>
  html`<div class="empty"><p>${text}</p>${advice && html`<p class="faint">${advice}</p>`}${children}</div>`;

/** `high` pixels are what stands here later, so that nothing moves when it comes. */
export const Loading = ({ rows = 3, high }) =>
  html`<div class="loading" style=${high && { "min-height": `${high}px` }} role="status" aria-label="Loading">${Array.from({ length: rows }, () => html`<div class="bone" />`)}</div>`;

export const Failure = ({ problem, again }) =>
  html`<div class="failure" role="alert"><${Icon} name="warning" /><p>${problem.message}</p>
    ${again && html`<${Button} act=${again}>Try again<//>`}</div>`;

/** Names with values: one below the other, or as a line that wraps. */
export const Facts = ({ pairs, kind = "" }) =>
  html`<dl class=${`facts ${kind}`}>${pairs.filter(Boolean).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value ?? "–"}</dd></div>`)}</dl>`;

/** An instant; other zones are in its title. */
export function Time({ at, zone: name = zone.get(), label = false, short = false }) {
  if (!at) return html`<span class="faint">–</span>`;
  const others = [...new Set([OWN_ZONE, "UTC"])].map((one) => `${stamp(at, one)} ${one}`).join("\n");
  const text = short ? shortStamp(at, name) : stamp(at, name);
  return html`<time datetime=${at} title=${others} class="time">${text}${label && html`<span class="zone"> ${name}</span>`}</time>`;
}

/** `in 5 min`, as long as it is looked at. */
export function Countdown({ at }) {
  if (!at) return html`<span class="faint">–</span>`;
  second.value; // drawn again with each
  return html`<time datetime=${at} class="time" title=${`${stamp(at)} ${zone.get()}`}>${fromNow(at)}</time>`;
}

/** A row of choices of which one holds. */
export const Choices = ({ label, options, value, change }) =>
  html`<div class="choices" role="group" aria-label=${label}>${options.map(([code, word]) =>
    html`<button type="button" class="choice" key=${code} aria-pressed=${String(code === value)} onClick=${() => change(code)}>${word}</button>`)}</div>`;

/** An error on one line, as the server tells it: what was printed says more than the code that a program ended with. */
export function briefError(error) {
  const [first, ...rest] = error.trim().split("\n");
  const said = rest.find((line) => line.trim() && !/^(Traceback \(|\s)/.test(line));
  return said && /\b(exit code \d+|ended by \w+)$/.test(first) ? `${said} · ${first}` : first;
}

const NAMED = /\brun \d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ(?! --)|[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [\w/+-]*\w/;

/** A sentence, with the runs that it names as links, and its times as pages write them; in commands they stay. */
export const Sentence = ({ text }) =>
  text.split(new RegExp(`(${NAMED.source})`)).map((part) => {
    if (/^run \d+$/.test(part)) return html`run <${RunLink} id=${part.slice(4)} />`;
    if (/^\d{4}-\d\d-\d\dT/.test(part)) return html`<${Time} at=${part} label />`;
    return /^[A-Z][a-z]{2} \d{4}-/.test(part) ? html`<${LocalTime} text=${part} />` : part;
  });

/** `Thu 2026-11-19 05:35:40 Europe/Berlin`, as the server writes a time in a zone. */
function LocalTime({ text }) {
  const [weekday, day, time, name] = text.split(" ");
  const [date] = stamp(`${day}T12:00:00Z`, "UTC").split(/ 12:/); // with the month in letters, and the year if it is another
  return html`<span class="time">${weekday}${date.slice(weekday.length)} ${time}<span class="zone"> ${name}</span></span>`;
}

/** A plain table: columns are [title, cell of a row, class]; on a phone each row is a card. */
export const Table = ({ label, columns, rows, keyOf }) => html`<table class="plain" aria-label=${label}>
  <thead><tr>${columns.map(([title, , kind]) => html`<th scope="col" class=${kind}>${title}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr key=${keyOf(row)}>${columns.map(([title, cell, kind]) => html`<td class=${kind} data-title=${title}><div>${cell(row)}</div></td>`)}</tr>`)}</tbody></table>`;
