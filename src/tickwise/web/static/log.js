/** What a run prints, as it prints it, at full height: only the rows in view are in the document. */

import { pieces } from "./ansi.js";
import { Button } from "./components.js";
import { LogLines, rowsOf } from "./loglines.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./preact.js";
import { follow } from "./stream.js";
import { clock, wall } from "./time.js";
import { copy } from "./toasts.js";

const LINE = 19; // pixels
const MARGIN = 20; // lines beyond the view
const WRAPPED = 2000; // lines that are drawn where they may have any height

/**
 * The log of a run; of one step, if it is given. `ends` are the ends of earlier attempts. A line can be linked: `line`
 * is the number in the address, `setLine` changes it. `ended` is called when the stream has ended.
 */
export function Log({ run, step, ends, line, setLine, ended, again }) {
  const [version, setVersion] = useState(0);
  const [state, setState] = useState("waiting for output");
  const [wanted, setWanted] = useState("");
  const [tail, setTail] = useState(!line);
  const [wrap, setWrap] = useState(false);
  const lines = useMemo(() => new LogLines(), [run, again]);
  useEffect(() => {
    const stop = new AbortController();
    let frame = 0;
    const soon = () => (frame ||= requestAnimationFrame(() => ((frame = 0), setVersion((one) => one + 1))));
    const hear = ({ kind, data }) => (kind === "end" ? (ended(), false) : (lines.add(data), soon()));
    follow(`runs/${encodeURIComponent(run)}/logs`, { signal: stop.signal, begin: (last) => lines.begin(last), hear })
      .catch((problem) => setState(problem.message));
    return () => (stop.abort(), cancelAnimationFrame(frame));
  }, [run, again]);
  const shown = useMemo(() => lines.with(wanted, step), [lines, version, wanted, step]);
  const rows = useMemo(() => rowsOf(shown, ends), [shown, ends.join(), version]);
  const all = lines.all.length;
  const told = all ? (wanted || step ? `${shown.length.toLocaleString("en")} of ${count(all)}` : count(all)) : state;
  const text = () => shown.map((one) => one.text).join("\n");
  return html`<div class="log-box">
    <div class="log-tools">
      <input type="search" placeholder="Search the log" aria-label="Search the log" data-search value=${wanted} onInput=${(event) => setWanted(event.target.value)} />
      <label class="check"><input type="checkbox" checked=${tail} onChange=${(event) => setTail(event.target.checked)} />follow</label>
      <label class="check"><input type="checkbox" checked=${wrap} onChange=${(event) => setWrap(event.target.checked)} />wrap</label>
      <span class="faint" role="status">${told}</span><div class="grow" />
      <${Button} kind="quiet" icon="copy" act=${() => copy(text())}>Copy<//>
      <${Button} kind="quiet" act=${() => download(`run-${run}.log`, text())}>Download<//></div>
    <${Rows} rows=${rows} wrap=${wrap} tail=${tail && !wanted} leaveTail=${() => setTail(false)} wanted=${wanted} line=${line}
      choose=${(number) => (setTail(false), setWanted(""), setLine(number))} /></div>`;
}

const count = (number) => (number === 1 ? "1 line" : `${number.toLocaleString("en")} lines`);

function Rows({ rows, wrap, tail, leaveTail, wanted, line, choose }) {
  const view = useRef(null);
  const [top, setTop] = useState(0);
  const jumped = useRef(null);
  const height = view.current?.clientHeight ?? 400;
  useLayoutEffect(() => {
    const place = line && jumped.current !== line ? rows.findIndex((row) => row.number === line) : -1;
    if (place >= 0) {
      jumped.current = line;
      view.current.scrollTop = Math.max(0, place * LINE - height / 3);
    } else if (tail) view.current.scrollTop = view.current.scrollHeight;
  });
  /** Who scrolls away from the end wants to read. */
  const scrolled = ({ target }) => {
    if (tail && target.scrollTop + target.clientHeight < target.scrollHeight - LINE) leaveTail();
    setTop(target.scrollTop);
  };
  const fits = Math.ceil(height / LINE) + 2 * MARGIN;
  const first = wrap ? Math.max(0, rows.length - WRAPPED) : Math.max(0, tail ? rows.length - fits : Math.floor(top / LINE) - MARGIN);
  const shown = rows.slice(first, wrap ? rows.length : first + fits);
  const draw = (row) => row.attempt
    ? html`<div class="log-attempt" key=${`a${row.attempt}`}>attempt ${row.attempt}</div>`
    : html`<${Line} key=${row.number} row=${row} wanted=${wanted} chosen=${row.number === line} choose=${choose} />`;
  return html`<div class=${`log ${wrap ? "wraps" : ""}`} ref=${view} tabindex="0" role="log" aria-label="Log" aria-live="off" onScroll=${scrolled}>
    ${wrap && first > 0 && html`<div class="log-attempt">${count(first)} before are left out while lines wrap</div>`}
    <div class="log-lines" style=${wrap ? {} : { height: `${rows.length * LINE}px` }}>
      <div class="log-window" style=${wrap ? {} : { transform: `translateY(${first * LINE}px)` }}>${shown.map(draw)}</div></div></div>`;
}

function Line({ row, wanted, chosen, choose }) {
  return html`<div class=${`log-line ${row.stream === "stderr" ? "stderr" : ""} ${chosen ? "is-chosen" : ""}`}>
    <button type="button" class="log-number" tabindex="-1" aria-label=${`Link line ${row.number}`} onClick=${() => choose(row.number)}>${row.number}</button>
    <span class="log-at">${clock(row.at)}:${wall(row.at).second}</span>
    <span class="log-text">${wanted ? marked(row.text, wanted) : pieces(row.raw).map(({ text, kind }) => (kind ? html`<span class=${kind}>${text}</span>` : text))}</span></div>`;
}

/** The text with what was searched for marked. */
function marked(text, wanted) {
  const parts = [];
  const [low, searched] = [text.toLowerCase(), wanted.toLowerCase()];
  let from = 0;
  for (let at = low.indexOf(searched); at >= 0; at = low.indexOf(searched, from)) {
    parts.push(text.slice(from, at), html`<mark>${text.slice(at, at + searched.length)}</mark>`);
    from = at + searched.length;
  }
  return [...parts, text.slice(from)];
}

function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
