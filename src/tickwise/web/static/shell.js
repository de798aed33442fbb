/** What stands around every page: where one can go, who one is, how things should look. */

import { may, mayAll, reachable, signOut, who } from "./api.js";
import { Button, Icon } from "./components.js";
import { html, render } from "./preact.js";
import { to } from "./routes.js";
import { signal } from "./signal.js";
import { settings } from "./storage.js";
import { chooseZone, OWN_ZONE, zone } from "./time.js";

const PLACES = [
  ["", "Now", "overview"],
  ["schedules", "Schedules", "schedules"],
  ["runs", "Runs", "runs"],
  ["forecast", "Forecast", "forecast"],
  ["calendars", "Calendars", "calendars"],
  ["fleet", "Workers", "fleet"],
  ["audit", "Audit", "audit"],
];
const WHOLE = { calendars: "viewer", fleet: "viewer", audit: "admin" }; // for those who see all jobs
const AWAY = "The server cannot be reached. This page may be out of date; retrying …";
const THEMES = { "": "as the system", light: "light", dark: "dark" };

const here = signal(""); // the place in PLACES
const theme = signal(settings.get("theme") ?? "");
applyTheme(theme.get());

let openCommands = () => {};

/** Draw it into the node, around `main`; `commands` opens what Ctrl-K opens. */
export function drawShell(node, main, commands) {
  openCommands = commands;
  render(html`<${Shell} main=${main} />`, node);
}

/** Mark where one is. */
export const mark = (place) => here.set(place === "create" ? "schedules" : place);

export const places = () =>
  PLACES.filter(([path]) => path in WHOLE ? mayAll(WHOLE[path]) : may("viewer"));

export function turnTheme() {
  const codes = Object.keys(THEMES);
  const next = codes[(codes.indexOf(theme.get()) + 1) % codes.length];
  settings.set("theme", next);
  applyTheme(next);
  theme.set(next);
}

export const turnZone = () => chooseZone(zone.get() === "UTC" ? OWN_ZONE : "UTC");

const Shell = ({ main }) => html`
  <${Banner} />
  <header class="top">
    <a class="brand" href=${to([])}><${Icon} name="schedules" />Tickwise</a>
    <${Ways} />
    <div class="grow" />
    ${who.get() && html`<button type="button" class="button command" aria-label="Search or do … Ctrl K" onClick=${openCommands}><${Icon} name="search" /><span>Search or do …</span><kbd>Ctrl K</kbd></button>`}
    <${ZoneSwitch} /><${ThemeSwitch} /><${Person} />
  </header>
  <div class="body" ref=${(node) => node && node.firstChild !== main && node.append(main)} />`;

const Ways = () => html`<nav class="ways" aria-label="Pages">${places().map(([path, word, name]) =>
  html`<a key=${path} href=${to(path ? [path] : [])} aria-current=${here.get() === path ? "page" : null}>
    <${Icon} name=${name} /><span>${word}</span></a>`)}</nav>`;

/** Says so while the server cannot be reached. */
const Banner = () => html`<div class="banner" role="alert" hidden=${reachable.get()}>
  ${!reachable.get() && html`<${Icon} name="warning" />${AWAY}`}</div>`;

function ZoneSwitch() {
  if (OWN_ZONE === "UTC") {
    return html`<span class="quiet-text" title="Times are shown in this zone"><${Icon} name="zone" />UTC</span>`;
  }
  const other = zone.get() === "UTC" ? OWN_ZONE : "UTC";
  return html`<${Button} kind="quiet" icon="zone" title=${`Show times in ${other}`} act=${turnZone}>${zone.get()}<//>`;
}

function ThemeSwitch() {
  const text = `Colours: ${THEMES[theme.get()]}`;
  return html`<${Button} kind="quiet" icon="theme" title=${text} label=${text} act=${turnTheme} />`;
}

function applyTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
}

function Person() {
  const me = who.get();
  return me && html`<span class="person"><${Icon} name="person" /><span class="person-name">${me.name}</span>
    <span class="tag">${me.role}</span><${Button} kind="quiet" act=${() => signOut()}>Sign out<//></span>`;
}
