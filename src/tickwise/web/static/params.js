/** Params of a run as a form: a field for each that the definition has, by the type of its value. */

import { Exact, parseExact, writeExact } from "./exactjson.js";
import { Check, Field, TextArea } from "./fields.js";
import { html } from "./preact.js";

const PREFIX = "param.";
const isNumber = (value) => typeof value === "number" || value instanceof Exact;

function ParamField({ param, value }) {
  const name = PREFIX + param;
  if (typeof value === "boolean") return html`<${Check} name=${name} value=${value}><code>${param}</code><//>`;
  if (typeof value === "string") return html`<${Field} label=${param} name=${name} value=${value} />`;
  if (isNumber(value)) return html`<${Field} label=${param} name=${name} value=${writeExact(value)} inputmode="decimal" class="mono" />`;
  return html`<${TextArea} label=${param} name=${name} value=${writeExact(value, 1)} rows="3" class="mono" hint="JSON" />`;
}

/** `defined` are the params of the definition; null where there are several. */
export function ParamFields({ defined }) {
  const known = Object.entries(defined ?? {});
  const others = html`<${TextArea} label=${known.length ? "Other params (JSON)" : "Params for this run (JSON)"} name="params" rows="3" class="mono" placeholder='{"table": "users"}'
    hint=${known.length ? "" : "If empty, those of the definition."} />`;
  return html`${known.map(([param, value]) => html`<${ParamField} key=${param} param=${param} value=${value} />`)}
    ${known.length ? html`<details><summary>Other params</summary>${others}</details>` : others}`;
}

/** `{params}` with those that differ from the definition's, or nothing. */
export function changedParams(values, defined) {
  const given = values.params?.trim() ? parsed("the params", values.params) : {};
  for (const [param, value] of Object.entries(defined ?? {})) {
    const now = read(param, value, values[PREFIX + param]);
    if (writeExact(now) !== writeExact(value)) given[param] = now;
  }
  return Object.keys(given).length ? { params: given } : {};
}

function read(param, value, typed) {
  if (typeof value === "boolean") return typed !== undefined;
  if (typeof value === "string") return typed;
  const found = parsed(param, typed);
  if (isNumber(value) && !isNumber(found)) throw new Error(`${param}: ${typed} is no number`);
  return found;
}

function parsed(what, text) {
  try {
    return parseExact(text);
  } catch (error) {
    throw new Error(`${what}: this is not JSON: ${error.message}`);
  }
}
