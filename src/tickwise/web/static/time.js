/**
 * Instants for people. Each is shown in a zone that is named beside it: the viewer's own or UTC, as they chose, or
 * a schedule's. "Now" is the server's: a browser whose clock is wrong shows the right countdowns.
 */

import { signal } from "./signal.js";
import { settings } from "./storage.js";
import { signal as reactive } from "./vendor/signals-core.js";

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
export const zone = signal(settings.get("zone") === "UTC" ? "UTC" : OWN_ZONE);
export const skew = signal(0); // milliseconds that the server is ahead of this browser

const SECOND = 1000;
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const SKEW_MATTERS = 3 * SECOND;
const formats = new Map();
export const second = reactive(0); // counts them, for templates that tell the time

export const now = () => Date.now() + skew.get();

/** Take the server's word for the time; a second or two is only the way here. */
export function learnTime(date) {
  const ahead = Date.parse(date) + SECOND / 2 - Date.now();
  skew.set(Math.abs(ahead) > SKEW_MATTERS ? Math.round(ahead / SECOND) * SECOND : 0);
}

export function chooseZone(name) {
  settings.set("zone", name === "UTC" ? "UTC" : "own");
  zone.set(name);
}

/** The parts of an instant as a clock and a calendar in that zone show them, as texts. */
export function wall(instant, name = zone.get()) {
  const parts = format(name).formatToParts(new Date(instant));
  return Object.fromEntries(parts.map((part) => [part.type, part.value]));
}

function format(name) {
  if (!formats.has(name)) {
    const options = {
      timeZone: name, hourCycle: "h23", weekday: "short", year: "numeric", month: "short", day: "2-digit",
      hour: "2-digit", minute: "2-digit", second: "2-digit",
    };
    formats.set(name, new Intl.DateTimeFormat("en-GB", options));
  }
  return formats.get(name);
}

/** `Mon 16 Nov 02:13:30`, with the year if it is another. */
export function stamp(instant, name = zone.get()) {
  const at = wall(instant, name);
  const year = at.year === wall(now(), name).year ? "" : ` ${at.year}`;
  return `${at.weekday} ${at.day} ${at.month}${year} ${at.hour}:${at.minute}:${at.second}`;
}

/** `02:13:30` today, `Tue 17 Nov 02:13` on another day. */
export function shortStamp(instant, name = zone.get()) {
  const [at, today] = [wall(instant, name), wall(now(), name)];
  const same = at.day === today.day && at.month === today.month && at.year === today.year;
  return same ? `${at.hour}:${at.minute}:${at.second}` : stamp(instant, name).slice(0, -3);
}

export function clock(instant, name = zone.get()) {
  const at = wall(instant, name);
  return `${at.hour}:${at.minute}`;
}

/** `2 min 5 s`: the two largest units that matter. */
export function span(milliseconds) {
  const whole = Math.abs(milliseconds) / SECOND;
  if (whole < 10) return `${whole < 0.0005 ? 0 : Number(whole.toFixed(whole < 1 ? 3 : 1))} s`;
  let rest = Math.round(whole);
  const first = UNITS.findIndex(([, size]) => rest >= size);
  return UNITS.slice(first, first + 2)
    .map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count ? `${count} ${unit}` : "";
    })
    .filter(Boolean)
    .join(" ");
}

export function fromNow(instant) {
  const away = Date.parse(instant) - now();
  if (Math.abs(away) < SECOND) return "now";
  const told = span(Math.abs(away) < 60 * SECOND ? Math.round(away / SECOND) * SECOND : away);
  return away > 0 ? `in ${told}` : `${told} ago`;
}

/** What a field for date and time shows for an instant, in the zone that is shown, the same in every country. */
export function localText(instant) {
  const own = new Date(instant - (zone.get() === "UTC" ? 0 : new Date(instant).getTimezoneOffset() * 60 * SECOND));
  return own.toISOString().slice(0, 16).replace("T", " ");
}

/** The instant that such a field means; null if it is empty. A time without a day is today's. */
export function instantOf(text) {
  const given = text.trim();
  if (!given) return null;
  const whole = (/^\d\d?:\d\d(:\d\d)?$/.test(given) ? `${localText(now()).slice(0, 10)} ${given.padStart(5, "0")}` : given).replace(" ", "T");
  const instant = new Date(zone.get() === "UTC" ? `${whole}Z` : whole);
  if (Number.isNaN(instant.getTime())) throw new Error(`${given} is no time: write it as 2026-11-18 17:00`);
  return `${instant.toISOString().slice(0, 19)}Z`;
}

setInterval(() => document.hidden || (second.value += 1), SECOND);
