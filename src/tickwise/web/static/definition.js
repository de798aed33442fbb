/** The fields of a job file as a form; what has no field of its own is written as JSON. */

import { h } from "./dom.js";
import { parseExact, writeExact } from "./exact.js";
import { ExpressionField } from "./expression.js";
import { field, select } from "./fields.js";
import { panel } from "./parts.js";
import { OWN_ZONE } from "./time.js";

const CATCHUP = [
  ["", "once: one run for all missed (default)"],
  ["skip", "skip: none"],
  ["all", "all: each, oldest first"],
];
const OVERLAP = [
  ["", "default"],
  ["skip", "skip: not while active"],
  ["queue", "queue: wait"],
  ["latest", "latest: only the newest waits"],
  ["allow", "allow: side by side"],
  ["replace", "replace: cancel the active run"],
];
const ACTIONS = [
  ["command", "a command"],
  ["script", "a script"],
  ["python", "a Python function (module:name)"],
  ["http", "an HTTP request (URL)"],
  ["", "set in the JSON below"],
];
const TEXTS = [
  ["description", "Description", ""],
  ["catchup_window", "How far back", "6h"],
  ["jitter", "Jitter", "5m"],
  ["timeout", "Timeout", "1h"],
  ["queue", "Queue", "default"],
];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const TIMES = ["schedule", "timezone"];
const OURS = new Set([
  "catchup",
  "overlap",
  ...ACTIONS.map(([code]) => code),
  ...TEXTS.map(([code]) => code),
]);

export class DefinitionForm {
  constructor(definition, name) {
    const text = (value, hint) => h("input", { value: value ?? "", placeholder: hint, autocomplete: "off" });
    this.id = h("input", { required: true, autocomplete: "off", value: name ?? "", disabled: Boolean(name) });
    this.times = timesOf(definition, () => (NAME.test(this.id.value) ? this.id.value : null));
    this.inputs = { catchup: select(CATCHUP, definition.catchup), overlap: select(OVERLAP, definition.overlap) };
    for (const [code, , hint] of TEXTS) this.inputs[code] = text(definition[code], hint);
    const does = ACTIONS.find(([code]) => definition[code] !== undefined)?.[0] ?? (name ? "" : "command");
    this.kind = select(ACTIONS, does);
    this.action = area(2, spelled(definition[does]), "");
    this.more = area(6, this.rest(definition), '{"labels": {"team": "data"}, "retry": {"limit": 3}}');
    this.rows = this.labelled();
  }

  labelled() {
    const { catchup, overlap } = this.inputs;
    const texts = TEXTS.map(([code, label]) => [code, field(label, this.inputs[code])]);
    return {
      name: field("Name", this.id),
      catchup: field("Missed slots", catchup),
      overlap: field("Overlap", overlap),
      action: field("Input", this.action),
      more: field("All other fields, as JSON", this.more, { hint: "params, labels, retry, steps, on, keep, …" }),
      ...Object.fromEntries(texts),
    };
  }

  nodes() {
    const { rows } = this;
    const pair = (...both) => h("div", { class: "pair" }, both);
    const elsewhere = "This schedule has several times: edit them as JSON below.";
    return [
      panel("What and when", {}, rows.name, rows.description, this.times?.node ?? h("p", {}, elsewhere)),
      panel("What it does", {}, field("Runs", this.kind), rows.action),
      panel("Rules", {},
        pair(rows.catchup, rows.catchup_window),
        pair(rows.overlap, rows.jitter),
        pair(rows.timeout, rows.queue),
      ),
      panel("More", {}, rows.more),
    ];
  }

  load() {
    return this.times?.load();
  }

  name() {
    return this.id.value.trim();
  }

  /** What has no field of its own. */
  rest(definition) {
    const known = (key) => OURS.has(key) || (this.times && TIMES.includes(key));
    const others = Object.fromEntries(Object.entries(definition).filter(([key]) => !known(key)));
    return Object.keys(others).length ? writeExact(others, 2) : "";
  }

  values() {
    const own = Object.entries(this.inputs).map(([code, input]) => [code, input.value.trim()]);
    if (this.kind.value) own.push([this.kind.value, unspelled(this.action.value.trim())]);
    const said = Object.fromEntries(own.filter(([, value]) => value !== ""));
    return { ...read(this.more.value), ...(this.times?.values() ?? {}), ...said };
  }

  clear() {
    for (const row of Object.values(this.rows)) row.fail("");
  }

  /** Tell what is wrong at its field; whether there is one. */
  fail(problem) {
    const [way] = (problem.field ?? "").split(".");
    if (this.times && (problem.position !== undefined || TIMES.includes(way))) {
      this.times.fail(problem);
      return true;
    }
    const own = ACTIONS.some(([code]) => code && code === way) ? "action" : way;
    const row = this.rows[own] ?? (problem.field ? this.rows.more : null);
    row?.fail(problem.message);
    row?.querySelector("input, select, textarea").focus();
    return Boolean(row);
  }
}

const area = (rows, value, placeholder) =>
  h("textarea", { rows, class: "mono", spellcheck: "false", value, placeholder });

/** A field for times that one text can say; null if it takes more. */
function timesOf({ schedule = "", timezone = OWN_ZONE }, nameOf) {
  const text = schedule.every && !schedule.offset ? `@every ${schedule.every}` : schedule;
  return typeof text === "string" ? new ExpressionField(text, timezone, nameOf) : null;
}

/** As people write it: a command of words as a line for a shell. */
function spelled(value) {
  if (value === undefined || typeof value === "string") return value ?? "";
  const isCommand = Array.isArray(value) && value.every((word) => typeof word === "string");
  return isCommand ? value.map(shellWord).join(" ") : writeExact(value);
}

const shellWord = (word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

/** What was typed; a list or an object if it is one. */
function unspelled(typed) {
  if (!/^[[{]/.test(typed)) return typed;
  try {
    return parseExact(typed);
  } catch {
    return typed; // a script may begin with a bracket
  }
}

function read(text) {
  if (!text.trim()) return {};
  try {
    return parseExact(text);
  } catch (error) {
    throw Object.assign(new Error(`this is not JSON: ${error.message}`), { field: "more" });
  }
}
