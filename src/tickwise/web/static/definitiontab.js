/** A definition as its file says it, beside what it means. */

import { get, may } from "./api.js";
import { Button, Countdown, Empty, Facts, Link, Loading, Panel, Time } from "./components.js";
import { definitionLines, definitionText } from "./definitiontext.js";
import { Graph } from "./graph.js";
import { html } from "./preact.js";
import { useResource } from "./resource.js";
import { policies } from "./rules.js";
import { stepsOf } from "./steps.js";
import { zone } from "./time.js";
import { copy } from "./toasts.js";

const COMING = 10;
const YEAR = 8784; // hours

export function DefinitionTab({ page, row }) {
  const steps = stepsOf(row.definition);
  return html`<div class="columns">
    ${steps.length > 1 && html`<${Panel} title="Steps" kind="wide"><${Graph} steps=${steps} /><//>`}
    <${Panel} title="Definition" aside=${html`${may("admin") && html`<${Link} parts=${["schedules", row.name, "edit"]} kind="button">${row.source === "api" ? "Edit" : "Try a change"}<//>`}<${Button} kind="quiet" icon="copy" act=${() => copy(definitionText(row.definition))}>Copy<//>`}>
      <pre class="yaml" role="group" aria-label="Definition" tabindex="0">${definitionLines(row.definition).map((line) => html`<div>${line.map(([text, kind]) => (kind ? html`<span class=${`yaml-${kind}`}>${text}</span>` : text))}</div>`)}</pre>
      <${Facts} pairs=${[["Source", sourceOf(row)], ["Made", html`<${Time} at=${row.created_at} label />`], ["Changed", html`<${Time} at=${row.updated_at} label />`]]} /><//>
    <div class="stack">
      <${Panel} title="Rules"><${Facts} pairs=${policies(row.definition)} /><//>
      <${Panel} title="Upcoming" about=${zone.get()}><${Coming} page=${page} row=${row} /><//></div></div>`;
}

/** Where it is defined, which alone may change it. */
function sourceOf({ source }) {
  if (source === "api") return "the API: it can be edited here";
  const [kind, ...place] = source.split(":");
  return html`${kind === "folder" ? "a file in " : `${kind}: `}<code>${place.join(":") || source}</code>, which alone may change it`;
}

/** Its next fires. */
function Coming({ page, row }) {
  const found = useResource(page, (signal) => get("upcoming", { schedule: row.name, hours: YEAR, limit: COMING }, signal), {}, [row.next_run_at, row.updated_at]);
  if (!found.data.value) return html`<${Loading} />`;
  const times = found.data.value.items.map(({ at }) => at);
  if (!times.length && row.next_run_at) times.push(row.next_run_at);
  if (!times.length) return html`<${Empty} text=${row.paused ? "It does not run while it is paused." : "It will not run again."} />`;
  return html`<ol class="times">${times.map((at) => html`<li key=${at}><${Time} at=${at} /> <span class="faint"><${Countdown} at=${at} />${row.timezone !== zone.get() && html` · <${Time} at=${at} zone=${row.timezone} label />`}</span></li>`)}</ol>`;
}
