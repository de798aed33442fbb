/**
 * A table of any length: only the rows that are in view are in the document.
 *
 * Rows have one height, which the style sheet says (--row). Above and below those in view stands one empty row as
 * high as all that it stands for. `more` is called when the end comes near.
 */

import { h, put } from "./dom.js";

const MARGIN = 8; // rows beyond the view

export function virtualTable({ label, columns, row, more = () => {}, none }) {
  const body = h("tbody", {});
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": label });
  const head = h("tr", { "aria-rowindex": "1" },
    columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)),
  );
  const node = h("table", { class: "virtual", "aria-label": label }, h("thead", {}, head), body);
  scroller.append(node);
  let items = [];
  let waits = false;

  function draw() {
    const height = parseFloat(getComputedStyle(scroller).getPropertyValue("--row")) || 40;
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - MARGIN);
    const last = Math.min(items.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / height) + MARGIN);
    const shown = items.slice(first, last).map((item, place) => {
      const node = row(item);
      node.setAttribute("aria-rowindex", first + place + 2);
      return node;
    });
    put(
      body,
      space(first * height),
      shown,
      space((items.length - last) * height),
      !items.length && none && h("tr", {}, h("td", { class: "none", colspan: columns.length }, none())),
    );
    if (last > items.length - 2 * MARGIN) more();
  }

  function soon() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      draw();
    });
  }

  scroller.addEventListener("scroll", soon, { passive: true });
  new ResizeObserver(soon).observe(scroller);
  return {
    node: scroller,
    show(next) {
      items = next;
      node.setAttribute("aria-rowcount", items.length + 1);
      soon();
    },
  };
}

const space = (height) => (
  height > 0 ? h("tr", { class: "space", "aria-hidden": "true", style: { height: `${height}px` } }) : null
);
