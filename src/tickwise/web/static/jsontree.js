/** JSON for people: a tree that opens where it is asked to, with every digit of every number. */

import { Button } from "./components.js";
import { Exact, writeExact } from "./exactjson.js";
import { html, useState } from "./preact.js";
import { copy } from "./toasts.js";

const OPEN_AT_ONCE = 20; // entries
const DEEP = 2;
const SHOWN = 200;

export const JsonTree = ({ label, value }) => html`<div class="json" role="group" aria-label=${label}>
  <div class="json-tools"><${Button} kind="quiet" icon="copy" act=${() => copy(writeExact(value, 2))}>Copy<//></div>
  <${Node} value=${value} depth=${0} /></div>`;

/** The value behind what names it. */
function Node({ value, depth, children }) {
  if (value === null || typeof value !== "object" || value instanceof Exact) return html`${children}<${Leaf} value=${value} />`;
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!Object.keys(value).length) return html`${children}<span class="json-mark">${begin}${end}</span>`;
  return html`<${Branch} value=${value} depth=${depth} begin=${begin} end=${end}>${children}<//>`;
}

function Branch({ value, depth, begin, end, children }) {
  const entries = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < DEEP && entries.length <= OPEN_AT_ONCE);
  const [shown, setShown] = useState(SHOWN);
  return html`<details open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${children}${begin}<span class="faint"> ${entries.length} </span>${end}</summary>
    ${isOpen && html`<ul>${entries.slice(0, shown).map(([key, one]) => html`<li key=${key}><${Node} value=${one} depth=${depth + 1}>
        <span class=${Array.isArray(value) ? "json-mark" : "json-key"}>${key}</span>: <//></li>`)}
      ${entries.length > shown && html`<li><${Button} kind="quiet" act=${() => setShown(shown + SHOWN)}>${entries.length - shown} more<//></li>`}</ul>`}</details>`;
}

function Leaf({ value }) {
  if (value instanceof Exact) return html`<span class="json-number">${value.digits}</span>`;
  if (typeof value === "string") return html`<span class="json-text">${JSON.stringify(value)}</span>`;
  return html`<span class=${typeof value === "number" ? "json-number" : "json-word"}>${String(value)}</span>`;
}
