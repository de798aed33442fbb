/** A job as its file says it: written here, checked as one types, with its graph and its next times beside it. */

import { get, getVersion, may, send, sendMatching, sendOnce } from "../api.js";
import { CodeEditor } from "../codeeditor.js";
import { Button, Countdown, Empty, Facts, Failure, Heading, Icon, Link, Loading, Panel, Sentence, Time } from "../components.js";
import { definitionText, mergePatch } from "../definitiontext.js";
import { Graph } from "../graph.js";
import { html, shows, useEffect, useMemo, useRef, useState } from "../preact.js";
import { useResource } from "../resource.js";
import { go } from "../routes.js";
import { policies } from "../rules.js";
import { wordsAt } from "../schemacompletion.js";
import { STARTERS } from "../starters.js";
import { stepsOf } from "../steps.js";
import { diffLines } from "../textdiff.js";
import { OWN_ZONE, zone } from "../time.js";
import { copy, toast } from "../toasts.js";

const TYPED = 250; // milliseconds without a key, after which the server is asked
const ZONES = () => ["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])];
const CONTEXT = 3; // lines around a change

export const title = ({ name }) => (name ? `Edit ${name}` : "New schedule");

export const show = shows(EditPage);

function EditPage({ page }) {
  const { name } = page.params;
  const found = useResource(page, (signal) => (name ? getVersion(`schedules/${encodeURIComponent(name)}`, signal) : null), {}, [name]);
  if (!may("admin")) {
    return html`<${Heading} title=${title(page.params)} /><${Empty} text="Only an admin may define schedules." advice="Sign in as an admin: tickwise token link prints a link.">
      <${Link} parts=${["signin"]} kind="button">Sign in<//><//>`;
  }
  if (found.problem.value) return html`<${Heading} title=${title(page.params)} /><${Failure} problem=${found.problem.value} again=${found.load} />`;
  if (found.data.value === undefined) return html`<${Heading} title=${title(page.params)} /><${Loading} rows=${8} />`;
  return html`<${Author} page=${page} name=${name} known=${found.data.value} />`;
}

function Author({ page, name, known }) {
  const before = known ? definitionText(known.data.definition) : "";
  const source = known && known.data.source !== "api" ? known.data.source : null; // which alone may change it
  const [text, setText] = useState(known ? before : STARTERS[0].text(OWN_ZONE));
  const { checked, problem } = useChecked(page, text, name);
  const [refused, setRefused] = useState(null);
  const complete = useCompletion(page);
  const write = (next) => (setRefused(null), setText(next));
  const save = async () => {
    try {
      const saved = await store(checked, known, name);
      toast(`${saved.name} is saved.`);
      go(["schedules", saved.name]);
    } catch (failed) {
      setRefused(failed);
    }
  };
  const trial = async () => {
    try {
      const run = await sendOnce("definitions:try", { name: checked.name, ...checked.definition });
      toast(`A run of ${run.job} is on its way.`);
      go(["runs", run.id]);
    } catch (failed) {
      setRefused(failed);
    }
  };
  const isReady = checked?.text === text && !checked.problems.length;
  const away = html`<${Link} parts=${name ? ["schedules", name] : ["schedules"]} kind="button">Cancel<//>`;
  const once = html`<${Button} icon="runs" disabled=${!isReady} act=${trial} title="Run it once, now, as NAME.try; nothing else changes">Try once<//>`;
  return html`<${Heading} title=${title(page.params)}>${away}${once}${source
      ? html`<${Button} kind="primary" icon="copy" act=${() => copy(text)}>Copy the YAML<//>`
      : html`<${Button} kind="primary" disabled=${!isReady || (known && text === before)} act=${save}>${name ? "Save" : "Create"}<//>`}<//>
    ${source && html`<div class="warning note"><${Icon} name="schedules" /><div>${elsewhere(source)}</div></div>`}
    ${(refused ?? problem) && html`<${Failure} problem=${refused ?? problem} />`}
    <div class="author">
      <${Panel} title="Job file" kind="author-text" about="Ctrl-Space completes; Esc, then Tab leaves the text" aside=${!known && html`<${Starters} use=${write} />`}>
        <${CodeEditor} label="Job file" value=${text} change=${write} problems=${checked?.problems ?? []} complete=${complete} />
        <${Problems} checked=${checked} /><//>
      <div class="stack"><${Meaning} checked=${checked} use=${(from, to) => write(text.replace(from, to))} />${known && text !== before && html`<${Change} before=${before} after=${text} />`}</div></div>`;
}

function elsewhere(source) {
  const [kind, ...place] = source.split(":");
  if (kind === "folder") return html`This job comes from a file in <code>${place.join(":")}</code>, and Tickwise does not write to files. Try a change here, then copy it into the file; it is read again when it is saved.`;
  return html`This job is defined by <code>${source}</code>. Try a change here; it must be made there.`;
}

/** What the server says about the text, soon after somebody has stopped typing; the last answer stays until then. */
function useChecked(page, text, name) {
  const [state, setState] = useState({ checked: null, problem: null });
  const asked = useRef(0);
  useEffect(() => {
    const mine = ++asked.current;
    const timer = setTimeout(async () => {
      try {
        const found = await send("POST", "definitions:check", { yaml: text, ...(name ? { name } : {}) }, { signal: page.signal });
        if (mine === asked.current) setState({ checked: { ...found, text }, problem: null });
      } catch (problem) {
        if (mine === asked.current && problem.name !== "AbortError") setState({ checked: null, problem });
      }
    }, asked.current > 1 ? TYPED : 0);
    return () => clearTimeout(timer);
  }, [text, name]);
  return state;
}

/** Completion by the schema, which is asked for once, and by values that it does not have. */
function useCompletion(page) {
  const known = useMemo(async () => {
    const [schema, templates] = await Promise.all([get("definitions/schema", {}, page.signal), get("templates", {}, page.signal)]);
    const schedule = templates.items.map((one) => ({ label: one.expression, about: one.description, insert: JSON.stringify(one.expression) }));
    return { schema, values: { schedule, cron: schedule, timezone: ZONES().map((one) => ({ label: one, about: "", insert: one })) } };
  }, []);
  return async (text, caret) => {
    const { schema, values } = await known;
    return wordsAt(schema, text, caret, { ...values, depends: stepNames(text) });
  };
}

const stepNames = (text) => [...text.matchAll(/^\s*- (?:\{ *)?name: *([\w.-]+)/gm)].map(([, one]) => ({ label: one, about: "a step", insert: one }));

const Starters = ({ use }) => html`<label class="sort">Begin with <select aria-label="Begin with" onChange=${(event) => use(STARTERS[event.target.value].text(OWN_ZONE))}>
  ${STARTERS.map(({ word }, place) => html`<option key=${word} value=${place}>${word}</option>`)}</select></label>`;

/** The mistakes once more as a list, for those who do not see the marks. */
const Problems = ({ checked }) => html`<ul class="problems" role="status" aria-label="Mistakes">${checked?.problems.map((one) => html`<li class="problem" key=${`${one.line} ${one.field} ${one.text}`}>
  ${one.line && html`<span class="faint">line ${one.line} </span>`}${one.field && html`<strong>${one.field}: </strong>`}${one.text}</li>`)}</ul>`;

/** What the text means: when it runs, its steps, its rules. */
function Meaning({ checked, use }) {
  if (!checked) return html`<${Panel} key="waits" title="When"><${Loading} rows=${4} /><//>`;
  if (!checked.definition) return html`<${Panel} key="waits" title="When"><${Empty} text="The next ten runs appear here." advice="Mend what is marked first." /><//>`;
  const steps = stepsOf(checked.definition);
  return html`${checked.schedules.map((one) => html`<${Planned} key=${one.name} one=${one} use=${use} />`)}
    ${!checked.schedules.length && html`<${Panel} key="none" title="When"><${Empty} text="It has no schedule." advice="Add schedule: to say when it runs." /><//>`}
    ${steps.length > 1 && html`<${Panel} key="steps" title="Steps"><${Graph} steps=${steps} /><//>`}
    <${Panel} key="rules" title="Rules"><${Facts} pairs=${policies(checked.definition)} /><//>`;
}

const Planned = ({ one, use }) => html`<${Panel} kind="planned" title=${one.kind === "start" ? "When" : `When to ${one.kind}`} about=${one.timezone}>
  <p class="means"><${Icon} name="succeeded" />${one.means}</p>
  ${one.warnings.map((text) => html`<p class="warning" key=${text}><${Icon} name="warning" /><span><${Sentence} text=${text} /></span></p>`)}
  ${one.suggestion && html`<p>Spread out: <code>${one.suggestion}</code> <${Button} kind="quiet" act=${() => use(one.expression, one.suggestion)}>Use it<//></p>`}
  ${one.next.length ? html`<ol class="times">${one.next.map((at) => html`<li key=${at}><${Time} at=${at} zone=${one.timezone} />${one.timezone !== zone.get() && html`<span class="faint"> · <${Time} at=${at} label /></span>`}${one.timezone === zone.get() && html`<span class="faint"> · <${Countdown} at=${at} /></span>`}</li>`)}</ol>` : html`<p class="faint">It will not run again.</p>`}<//>`;

/** The lines that differ, with some around them. */
function Change({ before, after }) {
  const lines = diffLines(before, after);
  const near = lines.map((_, place) => lines.slice(Math.max(0, place - CONTEXT), place + CONTEXT + 1).some(([mark]) => mark !== " "));
  const shown = lines.filter((_, place) => near[place]);
  const told = shown.map(([mark, line]) => `${mark} ${line}`).join("\n");
  return html`<${Panel} title="Change" aside=${html`<${Button} kind="quiet" icon="copy" act=${() => copy(told)}>Copy<//>`}>
    <pre class="diff" tabindex="0" aria-label="Change">${shown.map(([mark, line], place) => html`<div key=${place} class=${{ "-": "is-gone", "+": "is-new" }[mark] ?? ""}>${mark} ${line}</div>`)}</pre><//>`;
}

async function store(checked, known, name) {
  if (!known) return sendOnce("schedules", { name: checked.name, ...checked.definition });
  const patch = mergePatch(known.data.definition, checked.definition);
  return sendMatching("PATCH", `schedules/${encodeURIComponent(name)}`, known.version, patch);
}
