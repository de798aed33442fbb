/** A definition as its file says it, beside what it means. */

import { get } from "./api.js";
import { graph } from "./graph.js";
import { useResource } from "./resource.js";
import { copy } from "./say.js";
import { zone } from "./time.js";
import { Button, Countdown, Empty, Facts, Host, Loading, Panel, Time } from "./ui.js";
import { html } from "./view.js";
import { policies } from "./words.js";
import { yamlLines, yamlText } from "./yaml.js";

const KINDS = ["command", "script", "python", "http"];
const COMING = 10;
const YEAR = 8784; // hours

export function DefinitionTab({ page, row }) {
  const steps = (row.definition.steps ?? []).map((step) => ({ ...step, depends: [step.depends ?? []].flat(), state: null, told: KINDS.find((kind) => kind in step) ?? "" }));
  return html`<div class="columns">
    <${Panel} title="Definition" aside=${html`<${Button} kind="quiet" icon="copy" act=${() => copy(yamlText(row.definition))}>Copy<//>`}>
      <pre class="yaml" role="group" aria-label="Definition" tabindex="0">${yamlLines(row.definition).map((line) => html`<div>${line.map(([text, kind]) => (kind ? html`<span class=${`yaml-${kind}`}>${text}</span>` : text))}</div>`)}</pre>
      <${Facts} pairs=${[["Source", row.source], ["Made", html`<${Time} at=${row.created_at} label />`], ["Changed", html`<${Time} at=${row.updated_at} label />`]]} />
      ${row.source !== "api" && html`<p class="faint">Only its source may change it: ${row.source}.</p>`}<//>
    <div class="stack">
      <${Panel} title="Rules"><${Facts} pairs=${policies(row.definition)} /><//>
      ${steps.length > 1 && html`<${Panel} title="Steps"><${Host} by=${row.updated_at} make=${() => graph(steps)} /><//>`}
      <${Panel} title="Upcoming" about=${zone.get()}><${Coming} page=${page} row=${row} /><//></div></div>`;
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
