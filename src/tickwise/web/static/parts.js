/** Pieces that pages are made of. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { to } from "./routes.js";
import { timeAt, zone } from "./time.js";

const VERDICT_ICONS = { fired: "succeeded", caught_up: "moved", deferred: "waiting" };

/** A state or a verdict: always a shape and a word, never a colour alone. */
export const badge = (state, word = words(state)) =>
  h("span", { class: `badge is-${state}` }, icon(VERDICT_ICONS[state] ?? state), word);

export const words = (code) => String(code ?? "").replaceAll("_", " ");

export const button = (text, act, { kind = "", name, disabled = false, title } = {}) =>
  h("button", { type: "button", class: `button ${kind}`, on: { click: act }, disabled, title },
    name && icon(name),
    h("span", {}, text),
  );

export const link = (parts, text, query) => h("a", { href: to(parts, query) }, text);

export const scheduleLink = (name) => h("a", { href: to(["schedules", name]), class: "name" }, name);

export const panel = (title, { aside, wide = false, about } = {}, ...children) =>
  h("section", { class: `panel ${wide ? "wide" : ""}`, "aria-label": title },
    h("header", { class: "panel-head" },
      h("h2", {}, title),
      about && h("span", { class: "faint" }, about),
      h("div", { class: "grow" }),
      aside,
    ),
    children,
  );

/** The head of a page: its title, and what can be done here. */
export const heading = (title, ...actions) =>
  h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, title), h("div", { class: "actions" }, actions));

/** Nothing to show, and what to do about it. */
export const empty = (text, advice, ...actions) =>
  h("div", { class: "empty" }, h("p", {}, text), advice && h("p", { class: "faint" }, advice), actions);

export const loading = (rows = 3) =>
  h("div", { class: "loading", role: "status", "aria-label": "Loading" },
    Array.from({ length: rows }, () => h("div", { class: "bone" })),
  );

export const failure = (problem, again) =>
  h("div", { class: "failure", role: "alert" },
    icon("warning"),
    h("p", {}, problem.message),
    again && button("Try again", again),
  );

/** A list of facts: [name, value] each. */
export const facts = (pairs) =>
  h("dl", { class: "facts" },
    pairs.filter(Boolean).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value ?? "–")]),
  );

/** A plain table: columns are [title, cell of a row, class]. */
export function table(label, columns, rows) {
  const head = columns.map(([title, , kind]) => h("th", { scope: "col", class: kind }, title));
  const cells = (row) => columns.map(([title, cell, kind]) => h("td", { class: kind, "data-title": title },
    h("div", {}, cell(row)),
  ));
  return h("table", { class: "plain", "aria-label": label },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells(row)))),
  );
}

/** The instant once more, in the zone of its schedule, if that is another. */
export const inZone = (at, name) => name && name !== zone.get() && [" · ", timeAt(at, { zone: name, label: true })];

export const zoned = (title) => `${title} (${zone.get()})`;
