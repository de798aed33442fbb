/** All runs: asked for by one query, and retried or cancelled together. */

import { get, may } from "../api.js";
import { Badge, briefError, Button, Empty, Failure, Heading, Link, Loading, Time } from "../components.js";
import { html, shows, useEffect, useRef, useState } from "../preact.js";
import { QueryBox } from "../querybox.js";
import { useResource } from "../resource.js";
import { setQuery } from "../routes.js";
import { actOnAll, actOnMarked, canRetry, isActive } from "../runactions.js";
import { ErrorGroups, Facets } from "../runfacets.js";
import { RunPeek } from "../runpeek.js";
import { presets, queryOf } from "../runquery.js";
import { settings } from "../storage.js";
import { LogSearch } from "../logsearch.js";
import { LongTable } from "../table.js";
import { now, span, zone } from "../time.js";
import { usePager } from "../usepager.js";

const [FIRST, PAGE] = [100, 500]; // rows
const NEAR = 60; // pixels from the top within which new runs come in
const [CALM, CALMER] = [2000, 10_000]; // milliseconds between two looks
const SORTS = [["", "newest first"], ["oldest", "oldest first"], ["longest", "longest first"], ["last_finished", "last ended first"]];

export const title = () => "Runs";

export const show = shows(Runs);

function Runs({ page }) {
  const [asked, setAsked] = useState({ q: queryOf(page.query), sort: page.query.sort });
  const [chosen, setChosen] = useState(new Set());
  const [peeked, peek] = useState(null);
  const [searchesLogs, searchLogs] = useState(false);
  const view = useRef(null);
  const change = (changes) => {
    const next = { ...asked, ...changes };
    setQuery(next);
    setChosen(new Set());
    setAsked(next);
    if (view.current) view.current.scrollTop = 0;
  };
  const { q, sort } = asked;
  const list = usePager((after) => get("runs", { q, sort, after, limit: after ? PAGE : FIRST }, page.signal), [q, sort]);
  const counts = useResource(page, (signal) => get("runs:facets", { q }, signal).catch(() => null), { on: ["run"], calm: CALMER }, [q]);
  const facets = useKept(counts.data.value);
  const unseen = useNews(page, list, view);
  const wrong = list.problem?.status === 422 ? list.problem : null;
  const again = () => (setChosen(new Set()), list.pager.restart(), counts.load());
  const choose = (id, yes) => setChosen((old) => new Set(yes ? [...old, id] : [...old].filter((one) => one !== id)));
  useKeys(page, view, { mark: (id) => choose(id, !chosen.has(id)), peek, peeked });
  const known = Object.fromEntries(["job", "schedule", "queue"].map((name) => [name, Object.keys(facets?.[name] ?? {})]));
  return html`<${Heading} title="Runs">${chosen.size
      ? html`<${Marked} chosen=${chosen} again=${again} clear=${() => setChosen(new Set())} />`
      : html`<${AllThatMatch} q=${wrong ? "" : q} facets=${facets} again=${again} />`}<//>
    <${QueryBox} label="Query" value=${q} problem=${wrong} known=${known} change=${(text) => change({ q: text })} />
    <${Views} q=${q} change=${change}>${unseen}<span class="faint" role="status">${facets && told(facets)}</span>
      ${list.pager.items.length > 0 && !searchesLogs && html`<${Button} kind="quiet" icon="search" act=${() => searchLogs(true)}>Search logs<//>`}
      <label class="sort">Sort <select aria-label="Sort" onChange=${(event) => change({ sort: event.target.value })}>${SORTS.map(([code, word]) => html`<option key=${code} value=${code} selected=${code === (sort ?? "")}>${word}</option>`)}</select></label><//>
    ${list.problem && !wrong && html`<${Failure} problem=${list.problem} again=${again} />`}
    <div class="explorer"><${Facets} facets=${facets} q=${q} change=${(text) => change({ q: text })} /><div class="stack">${counts.data.value === undefined && !facets ? html`<${Loading} rows=${12} />` : html`
      ${searchesLogs && html`<${LogSearch} page=${page} runs=${list.pager.items} close=${() => searchLogs(false)} />`}
      <${ErrorGroups} errors=${facets?.errors} change=${(text) => change({ q: text })} />
      <${LongTable} label="Runs" columns=${columns()} items=${wrong ? [] : list.pager.items} keyOf=${(run) => run.id} scroller=${view} more=${() => list.pager.more()}
          row=${(run, props) => html`<${Row} ...${props} run=${run} chosen=${chosen.has(run.id)} choose=${choose} peek=${peek} isPeeked=${peeked === run.id} />`}
          none=${() => (list.pager.done ? html`<${Nothing} q=${q} change=${change} />` : "Loading …")} />`}</div></div>
    ${peeked && html`<${RunPeek} page=${page} id=${peeked} close=${() => peek(null)} changed=${again} />`}`;
}

const told = ({ count, exact }) => `${count.toLocaleString("en")}${exact ? "" : " or more"} ${count === 1 ? "run" : "runs"}`;

/** The last value, while the next is on its way. */
function useKept(value) {
  const last = useRef(null);
  last.current = value ?? last.current;
  return last.current;
}

const columns = () => [["Select", "pick"], ["Run", "id"], ["State", "state"], ["Job", "words"], ["Error", "grow"], [`Due (${zone.get()})`, "when"], ["Took", "number"], ["Peek", "peek"]];

function Row({ run, chosen, choose, peek, isPeeked, ...props }) {
  const took = run.started_at && run.finished_at && span(Date.parse(run.finished_at) - Date.parse(run.started_at));
  return html`<tr aria-rowindex=${props["aria-rowindex"]} class=${chosen || isPeeked ? "is-chosen" : ""}>
    <td class="pick">${may("operator", run.job) && html`<input type="checkbox" tabindex="-1" aria-label=${`Select run ${run.id}`} checked=${chosen} onChange=${(event) => choose(run.id, event.target.checked)} />`}</td>
    <td class="id"><${Link} parts=${["runs", run.id]} kind="mono whole" data-run=${run.id}>#${run.id}<//></td>
    <td class="state"><${Badge} state=${run.state} />${run.attempt > 1 && html`<span class="faint"> attempt ${run.attempt}</span>`}</td>
    <td class="words"><span class="name">${run.job}</span>${run.trigger !== "schedule" && html`<span class="faint"> ${run.trigger}${run.by && ` by ${run.by}`}</span>`}</td>
    <td class="grow" title=${run.error || null}>${run.error && html`<span class="problem">${briefError(run.error)}</span>`}</td>
    <td class="when"><${Time} at=${run.slot ?? run.due_at} short /></td>
    <td class="number">${took}</td>
    <td class="peek"><${Button} kind="quiet" icon="peek" label=${`Look into run ${run.id}`} title="Look into it here (p)" act=${() => peek(isPeeked ? null : run.id)} /></td></tr>`;
}

/** Views that everybody has, and those that somebody has saved. */
function Views({ q, change, children }) {
  const [saved, setSaved] = useState(() => JSON.parse(settings.get("views") ?? "[]"));
  const keep = (next) => (settings.set("views", JSON.stringify(next)), setSaved(next));
  const known = presets(now());
  return html`<div class="filters"><div class="views" role="group" aria-label="Views">
      <${Button} kind=${q ? "" : "chip"} act=${() => change({ q: "" })}>All<//>
      ${known.map(([word, query]) => html`<${Button} key=${word} kind=${q === query ? "chip" : ""} act=${() => change({ q: query })}>${word}<//>`)}
      ${saved.map((query) => html`<${Button} key=${query} kind=${q === query ? "chip" : ""} act=${() => change({ q: query })}>${query}<//>`)}
      ${q && !saved.includes(q) && !known.some(([, query]) => query === q) && html`<${Button} kind="quiet" act=${() => keep([...saved, q])}>Save view<//>`}
      ${saved.includes(q) && html`<${Button} kind="quiet" act=${() => keep(saved.filter((one) => one !== q))}>Forget view<//>`}</div>
    <div class="grow" />${children}</div>`;
}

/** What can be done with those that were marked. */
function Marked({ chosen, again, clear }) {
  if (!may("operator")) return null;
  const then = (act) => async () => (await act()) && again();
  const ids = [...chosen];
  return html`<div class="bulk" role="group" aria-label="Selected runs"><span>${ids.length} selected</span>
    <${Button} act=${then(() => actOnMarked(ids, "retry"))}>Retry<//><${Button} kind="danger" act=${then(() => actOnMarked(ids, "cancel"))}>Cancel<//><${Button} kind="quiet" act=${clear}>Clear selection<//></div>`;
}

/** What can be done with all that match. */
function AllThatMatch({ q, facets, again }) {
  if (!may("operator") || !q || !facets) return null;
  const then = (act) => async () => (await act()) && again();
  const some = (fits) => Object.keys(facets.state).some((state) => fits({ state }));
  return html`${some(canRetry) && html`<${Button} icon="runs" act=${then(() => actOnAll(q, "retry"))}>Retry all that match<//>`}
    ${some(isActive) && html`<${Button} kind="danger" icon="cancelled" act=${then(() => actOnAll(q, "cancel"))}>Cancel all that match<//>`}`;
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
      if (!view.current || view.current.scrollTop < NEAR) again();
      else if (fresh) setUnseen((count) => count + fresh);
      redraw();
    });
  }, []);
  const top = () => ((view.current.scrollTop = 0), setUnseen(0), current.current.pager.restart());
  return unseen > 0 && html`<${Button} kind="quiet" act=${top}>${unseen} new<//>`;
}

/** j and k walk, Enter opens, x marks, p looks into a run beside the list. */
function useKeys(page, view, acts) {
  const current = useRef(null);
  current.current = acts;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
      const { mark, peek, peeked } = current.current;
      const links = [...(view.current?.querySelectorAll("a[data-run]") ?? [])];
      const at = links.indexOf(document.activeElement);
      const way = { j: 1, k: -1 }[event.key];
      if (way) {
        const next = links[Math.min(links.length - 1, Math.max(0, at + way))];
        next?.focus();
        if (peeked && next) peek(next.dataset.run);
      } else if (event.key === "x" && at >= 0) mark(links[at].dataset.run);
      else if (event.key === "p" && at >= 0) peek(peeked === links[at].dataset.run ? null : links[at].dataset.run);
      else if (event.key === "Escape" && peeked) peek(null);
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    page.ends(() => document.removeEventListener("keydown", pressed));
  }, []);
}
