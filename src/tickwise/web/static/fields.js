/** Fields of forms: each with its label, what may stand in it, and what is wrong with it. */

import { Icon } from "./components.js";
import { html, useMemo, useRef } from "./preact.js";

const TYPED = 200; // milliseconds without a key, after which somebody has stopped typing
let count = 0; // so that each field has an id of its own

/** Any input with its label; `children` makes the input of what ties the two together. */
function Labelled({ label, hint, error, children }) {
  const id = useMemo(() => `field-${++count}`, []);
  return html`<div class="field"><label for=${id}>${label}</label>
    ${children({ id, "aria-describedby": `${id}-told`, "aria-invalid": error ? "true" : null })}
    <span id=${`${id}-told`}>${hint && html`<span class="hint">${hint}</span>`}${error && html`<span class="field-error" role="alert">${error}</span>`}</span></div>`;
}

export const Field = ({ label, hint, error, value, ...input }) => html`<${Labelled} label=${label} hint=${hint} error=${error}>${(tied) =>
  html`<input autocomplete="off" spellcheck=${false} defaultValue=${value} ...${input} ...${tied} />`}<//>`;

export const TextArea = ({ label, hint, error, value, ...input }) => html`<${Labelled} label=${label} hint=${hint} error=${error}>${(tied) =>
  html`<textarea spellcheck=${false} defaultValue=${value} ...${input} ...${tied} />`}<//>`;

/** Options are [code, word]. */
export const Select = ({ label, hint, options, value = "", change, ...select }) => html`<${Labelled} label=${label} hint=${hint}>${(tied) =>
  html`<select onChange=${change && ((event) => change(event.target.value))} ...${select} ...${tied}>${options.map(([code, word]) =>
    html`<option key=${code} value=${code} selected=${String(code) === String(value)}>${word}</option>`)}</select>`}<//>`;

export const Check = ({ children, value, ...input }) => html`<label class="check"><input type="checkbox" defaultChecked=${value} ...${input} />${children}</label>`;

/** A text box that waits until somebody has stopped typing. */
export function SearchBox({ label, value, change }) {
  const timer = useRef(0);
  const typed = (event) => {
    const text = event.target.value.trim();
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change(text), TYPED);
  };
  return html`<label class="search"><${Icon} name="search" /><input type="search" data-search aria-label=${label} placeholder=${label} defaultValue=${value ?? ""} autocomplete="off" spellcheck=${false} onInput=${typed} /></label>`;
}
