/**
 * A table of any length: only the rows in view are in the document, and a row keeps its nodes as others come and go.
 *
 * Rows have one height, which the style sheet says (--row). Above and below those in view stands one empty row as
 * high as all that it stands for. `more` is called when the end comes near.
 */

import { html, useEffect, useLayoutEffect, useRef, useState } from "./preact.js";

const MARGIN = 8; // rows beyond the view

export function LongTable({ label, columns, items, keyOf, row, more = () => {}, none, scroller }) {
  const own = useRef(null);
  const view = scroller ?? own;
  const [at, setAt] = useState({ top: 0, high: 600, row: 40 });
  const measure = () => {
    if (!view.current) return;
    const { scrollTop: top, clientHeight: high } = view.current;
    const height = parseFloat(getComputedStyle(view.current).getPropertyValue("--row")) || 40;
    setAt((old) => (old.top === top && old.high === high && old.row === height ? old : { top, high, row: height }));
  };
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    observer.observe(view.current);
    return () => observer.disconnect();
  }, []);
  const first = Math.max(0, Math.floor(at.top / at.row) - MARGIN);
  const last = Math.min(items.length, Math.ceil((at.top + at.high) / at.row) + MARGIN);
  useLayoutEffect(() => void (last > items.length - 2 * MARGIN && more()));
  const shown = items.slice(first, last);
  return html`<div class="scroller" ref=${view} tabindex="0" role="region" aria-label=${label} onScroll=${measure}>
    <table class="virtual" aria-label=${label} aria-rowcount=${items.length + 1}>
      <thead><tr aria-rowindex="1">${columns.map(([title, kind]) => html`<th scope="col" class=${kind}>${title}</th>`)}</tr></thead>
      <tbody>
        <${Space} key="above" high=${first * at.row} />
        ${shown.map((item, place) => row(item, { key: keyOf(item), "aria-rowindex": first + place + 2 }))}
        <${Space} key="below" high=${(items.length - last) * at.row} />
        ${!items.length && none && html`<tr key="none"><td class="none" colspan=${columns.length}>${none()}</td></tr>`}
      </tbody></table></div>`;
}

const Space = ({ high }) => high > 0 && html`<tr class="space" aria-hidden="true" style=${{ height: `${high}px` }} />`;
