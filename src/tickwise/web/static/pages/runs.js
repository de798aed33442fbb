/** All runs: asked for by one query, and retried or cancelled together. */

import { get, may } from "../api.js";
import { settings } from "../keep.js";
import { QueryBox } from "../querybox.js";
import { setQuery } from "../routes.js";
import { bulkOf } from "../runactions.js";
import { filtersOf, presets, queryOf } from "../runquery.js";
import { LongTable } from "../table.js";
import { now, span, zone } from "../time.js";
import { Badge, Button, Empty, Failure, Heading, Link, Time } from "../ui.js";
import { usePager } from "../usepager.js";
import { html, shows, useEffect, useRef, useState } from "../view.js";

const [FIRST, PAGE] = [100, 500]; // rows
const NEAR = 60; // pixels from the top within which new runs come in
const CALM = 2000; // milliseconds between two looks

export const title = () => "Runs";

export const show = shows(Runs);

function Runs({ page }) {
  const [asked, setAsked] = useState({ q: queryOf(page.query) });
  const [chosen, setChosen] = useState(new Set());
  const view = useRef(null);
  const change = (changes) => {
    const next = { ...asked, ...changes };
    setQuery({ q: next.q });
    setChosen(new Set());
    setAsked(next);
    if (view.current) view.current.scrollTop = 0;
  };
  const { q } = asked;
  const list = usePager((after) => get("runs", { ...filtersOf(q, now()), after, limit: after ? PAGE : FIRST }, page.signal), [q]);
  const unseen = useNews(page, list, view);
  const wrong = list.problem?.status === 422 ? list.problem : null;
  const again = () => (setChosen(new Set()), list.pager.restart());
  const choose = (id, yes) => setChosen((old) => new Set(yes ? [...old, id] : [...old].filter((one) => one !== id)));
  useKeys(page, view, (id) => choose(id, !chosen.has(id)));
  return html`<${Heading} title="Runs"><${Bulk} chosen=${chosen} again=${again} clear=${() => setChosen(new Set())} /><//>
    <${QueryBox} label="Query" value=${q} problem=${wrong} change=${(text) => change({ q: text })} />
    <${Views} q=${q} change=${change} unseen=${unseen} />
    ${list.problem && !wrong && html`<${Failure} problem=${list.problem} again=${again} />`}
    <${LongTable} label="Runs" columns=${columns()} items=${wrong ? [] : list.pager.items} keyOf=${(run) => run.id} scroller=${view} more=${() => list.pager.more()}
          row=${(run, props) => html`<${Row} ...${props} run=${run} chosen=${chosen.has(run.id)} choose=${choose} />`}
          none=${() => (list.pager.done ? html`<${Nothing} q=${q} change=${change} />` : "Loading …")} />`;
}

const columns = () => [["Select", "pick"], ["Run", "id"], ["State", "state"], ["Job", "words"], ["Error", "grow"], [`Slot or due (${zone.get()})`, "when"], ["Took", "number"]];

function Row({ run, chosen, choose, ...props }) {
  const took = run.started_at && run.finished_at && span(Date.parse(run.finished_at) - Date.parse(run.started_at));
  return html`<tr aria-rowindex=${props["aria-rowindex"]} class=${chosen ? "is-chosen" : ""}>
    <td class="pick">${may("operator") && html`<input type="checkbox" tabindex="-1" aria-label=${`Select run ${run.id}`} checked=${chosen} onChange=${(event) => choose(run.id, event.target.checked)} />`}</td>
    <td class="id"><${Link} parts=${["runs", run.id]} kind="mono whole" data-run=${run.id}>#${run.id}<//></td>
    <td class="state"><${Badge} state=${run.state} />${run.attempt > 1 && html`<span class="faint"> attempt ${run.attempt}</span>`}</td>
    <td class="words"><span class="name">${run.job}</span>${run.trigger !== "schedule" && html`<span class="faint"> ${run.trigger}${run.by && ` by ${run.by}`}</span>`}</td>
    <td class="grow" title=${run.error || null}>${run.error && html`<span class="problem">${run.error.split("\n").slice(0, 2).join(" · ")}</span>`}</td>
    <td class="when"><${Time} at=${run.slot ?? run.due_at} /></td>
    <td class="number">${took}</td></tr>`;
}

/** Views that everybody has, and those that somebody has saved. */
function Views({ q, change, unseen }) {
  const [saved, setSaved] = useState(() => JSON.parse(settings.get("views") ?? "[]"));
  const keep = (next) => (settings.set("views", JSON.stringify(next)), setSaved(next));
  const known = presets(now());
  return html`<div class="filters"><div class="views" role="group" aria-label="Views">
      <${Button} kind=${q ? "" : "chip"} act=${() => change({ q: "" })}>All<//>
      ${known.map(([word, query]) => html`<${Button} key=${word} kind=${q === query ? "chip" : ""} act=${() => change({ q: query })}>${word}<//>`)}
      ${saved.map((query) => html`<${Button} key=${query} kind=${q === query ? "chip" : ""} act=${() => change({ q: query })}>${query}<//>`)}
      ${q && !saved.includes(q) && !known.some(([, query]) => query === q) && html`<${Button} kind="quiet" act=${() => keep([...saved, q])}>Save view<//>`}
      ${saved.includes(q) && html`<${Button} kind="quiet" act=${() => keep(saved.filter((one) => one !== q))}>Forget view<//>`}</div>
    <div class="grow" />${unseen}</div>`;
}

/** What can be done with those that were marked. */
function Bulk({ chosen, again, clear }) {
  if (!may("operator") || !chosen.size) return null;
  const then = (act) => async () => (await act()) && again();
  const ids = [...chosen];
  return html`<div class="bulk" role="group" aria-label="Selected runs"><span>${ids.length} selected</span>
    <${Button} act=${then(() => bulkOf(ids, "retry"))}>Retry<//><${Button} kind="danger" act=${then(() => bulkOf(ids, "cancel"))}>Cancel<//><${Button} kind="quiet" act=${clear}>Clear selection<//></div>`;
}

const Nothing = ({ q, change }) => (q
  ? html`<${Empty} text="No runs match." advice="Clear a filter."><${Button} act=${() => change({ q: "" })}>Show all<//><//>`
  : html`<${Empty} text="No runs yet." advice="Wait for the next slot, or run a schedule now." />`);

/** Runs change in place; new ones come in while the top is in view, and are counted while it is not. */
function useNews(page, list, view) {
  const [unseen, setUnseen] = useState(0);
  const current = useRef(null);
  current.current = list;
  useEffect(() => {
    const again = page.calmly(() => current.current.pager.restart(), CALM);
    page.listen("reset", again);
    page.listen("run", (runs) => {
      const { pager, redraw } = current.current;
      const told = new Map(runs.map((run) => [run.id, run]));
      const fresh = runs.filter((run) => !pager.items.some((one) => one.id === run.id)).length;
      pager.items = pager.items.map((run) => (told.has(run.id) ? { ...run, ...told.get(run.id) } : run));
      if (view.current?.scrollTop < NEAR) again();
      else if (fresh) setUnseen((count) => count + fresh);
      redraw();
    });
  }, []);
  const top = () => ((view.current.scrollTop = 0), setUnseen(0), current.current.pager.restart());
  return unseen > 0 && html`<${Button} kind="quiet" act=${top}>${unseen} new<//>`;
}

/** j and k walk, Enter opens, x marks. */
function useKeys(page, view, mark) {
  const current = useRef(null);
  current.current = mark;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
      const links = [...view.current.querySelectorAll("a[data-run]")];
      const at = links.indexOf(document.activeElement);
      if (event.key === "j" || event.key === "k") links[Math.min(links.length - 1, Math.max(0, at + (event.key === "j" ? 1 : -1)))]?.focus();
      else if (event.key === "x" && at >= 0) current.current(links[at].dataset.run);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    page.ends(() => document.removeEventListener("keydown", pressed));
  }, []);
}
