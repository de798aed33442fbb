/** A text in what runs have printed: the logs of those that a list shows are read when somebody asks, a few at a time. */

import { get } from "./api.js";
import { Button, Failure, Link, Panel } from "./components.js";
import { LogLines } from "./loglines.js";
import { html, useEffect, useRef, useState } from "./preact.js";

const MOST = 100; // runs, the first of the list
const AT_ONCE = 4;
const PAGES = 20; // of a log
const LINES = 3; // of a run that are shown

/** `runs` are those of the list; `close` ends it. */
export function LogSearch({ page, runs, close }) {
  const [found, setFound] = useState(null); // {wanted, of, looked, hits, problem}
  const current = useRef(null);
  const stop = () => current.current?.abort();
  useEffect(() => (page.signal.addEventListener("abort", stop), stop), []);
  const search = (event) => {
    event.preventDefault();
    stop();
    const wanted = new FormData(event.target).get("wanted").trim();
    if (!wanted) return;
    const own = (current.current = new AbortController());
    const some = runs.slice(0, MOST);
    const state = { wanted, of: some.length, looked: 0, hits: [], problem: null };
    const tell = (changes) => own.signal.aborted || setFound({ ...Object.assign(state, changes) });
    tell({});
    searchAll(some, wanted, own.signal, (hit) => tell({ looked: state.looked + 1, hits: hit ? [...state.hits, hit] : state.hits }))
      .catch((problem) => tell({ problem }));
  };
  return html`<${Panel} title="Search in logs" about=${`of the first ${Math.min(runs.length, MOST)} of these runs`} aside=${html`<${Button} kind="quiet" act=${close}>Close<//>`}>
    <form class="row" onSubmit=${search}><input type="search" name="wanted" aria-label="Text in logs" placeholder="Text that they printed" autofocus ref=${(node) => node && !found && node.focus()} />
      <button class="button primary">Search</button><span class="faint" role="status">${found && told(found)}</span></form>
    ${found?.problem && html`<${Failure} problem=${found.problem} />`}
    ${found?.hits.length > 0 && html`<ul class="log-hits" aria-label="Found in logs">${found.hits.map(({ run, lines, more }) => html`<li key=${run.id}>
      <div><${Link} parts=${["runs", run.id]} kind="mono">#${run.id}<//> <strong>${run.job}</strong>${more > 0 && html` <span class="faint">and ${more.toLocaleString("en")} more lines</span>`}</div>
      ${lines.map((line) => html`<${Link} key=${line.number} parts=${["runs", run.id]} query=${{ line: line.number }} kind="log-hit"><span class="faint">${line.number}</span> ${line.text}<//>`)}</li>`)}</ul>`}<//>`;
}

function told({ of, looked, hits }) {
  const count = `${hits.length.toLocaleString("en")} ${hits.length === 1 ? "run has" : "runs have"} it`;
  return looked < of ? `${count}; looked into ${looked} of ${of} …` : `${count}, of ${of}.`;
}

/** `tell` is called for each run, with its lines if it has the text. */
async function searchAll(runs, wanted, signal, tell) {
  const left = [...runs];
  const next = async () => {
    for (let run = left.shift(); run && !signal.aborted; run = left.shift()) {
      const lines = (await linesOf(run, signal)).with(wanted);
      tell(lines.length ? { run, lines: lines.slice(0, LINES), more: lines.length - LINES } : null);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

async function linesOf(run, signal) {
  const lines = new LogLines();
  let after;
  for (let number = 0; number < PAGES; number += 1) {
    const part = await get(`runs/${encodeURIComponent(run.id)}/logs`, { after }, signal);
    for (const one of part.items) lines.add(one);
    after = part.next;
    if (!after) break;
  }
  return lines;
}
