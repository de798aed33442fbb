/** What runs that match a query have in common: counts by value, and groups of those that failed alike. */

import { Button, Countdown, Panel } from "./components.js";
import { html, useState } from "./preact.js";
import { has, toggled } from "./runquery.js";

const FACETS = [["state", "State"], ["job", "Job"], ["trigger", "Trigger"], ["queue", "Queue"]];
const [VALUES, ERRORS] = [8, 4]; // that are listed at first

/** Counts by value; a click narrows the query to one, or takes that back. */
export function Facets({ facets, q, change }) {
  const shown = FACETS.map(([name, word]) => [name, word, Object.entries(facets?.[name] ?? {})]);
  return html`<aside class="facets" aria-label="Counts" hidden=${facets && !shown.some(([, , values]) => values.length)}>${shown.map(([name, word, values]) =>
    (values.length > 1 || values.some(([value]) => has(q, name, value))) && html`<${Facet} key=${name} name=${name} word=${word} values=${values} q=${q} change=${change} />`)}</aside>`;
}

function Facet({ name, word, values, q, change }) {
  const [all, setAll] = useState(false);
  const shown = all ? values : values.slice(0, VALUES);
  return html`<section aria-label=${word}><h2>${word}</h2><ul>${shown.map(([value, count]) => html`<li key=${value}>
      <button type="button" class="facet" aria-pressed=${String(has(q, name, value))} onClick=${() => change(toggled(q, name, value))}>
        <span class=${name === "state" ? `facet-state is-${value}` : ""}>${value}</span><span class="faint">${count.toLocaleString("en")}</span></button></li>`)}</ul>
    ${values.length > shown.length && html`<${Button} kind="quiet" act=${() => setAll(true)}>${values.length - shown.length} more<//>`}</section>`;
}

/** Failures that are alike, as one line each. */
export function ErrorGroups({ errors, change }) {
  const [all, setAll] = useState(false);
  if (!errors?.length) return null;
  const shown = all ? errors : errors.slice(0, ERRORS);
  return html`<${Panel} title="Failed alike" about=${`${errors.length} ${errors.length === 1 ? "error" : "different errors"}`}><ul class="error-groups">${shown.map((one) => html`<li class="error-group" key=${one.q}>
      <button type="button" class="link" title=${one.error} onClick=${() => change(one.q)}><strong>${one.job}</strong> <span class="problem">${one.error}</span></button>
      <span class="faint"><strong>${one.count.toLocaleString("en")}×</strong>, last <${Countdown} at=${one.last_at} /></span></li>`)}</ul>
    ${errors.length > shown.length && html`<${Button} kind="quiet" act=${() => setAll(true)}>${errors.length - shown.length} more<//>`}<//>`;
}
