/** JSON for people: a tree that opens where it is asked to, with every digit of every number. */

import { h } from "./dom.js";
import { Exact, writeExact } from "./exact.js";
import { button } from "./parts.js";
import { copy } from "./say.js";

const OPEN_AT_ONCE = 20; // entries
const SHOWN = 200;

export function jsonView(label, value) {
  return h("div", { class: "json", role: "group", "aria-label": label },
    h("div", { class: "json-tools" },
      button("Copy", () => copy(writeExact(value, 2)), { kind: "quiet", name: "copy" }),
    ),
    tree(value, 0, []),
  );
}

/** The value behind what names it. */
function tree(value, depth, named) {
  if (value === null || typeof value !== "object" || value instanceof Exact) return [named, leaf(value)];
  const entries = Object.entries(value);
  const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return [named, h("span", { class: "json-mark" }, begin + end)];
  const body = h("ul", {});
  const node = h("details", {},
    h("summary", {}, named, begin, h("span", { class: "faint" }, ` ${entries.length} `), end),
    body,
  );
  const fill = () => body.childElementCount || more(body, entries, 0, depth, Array.isArray(value));
  node.addEventListener("toggle", fill);
  if (depth < 2 && entries.length <= OPEN_AT_ONCE) {
    fill();
    node.open = true;
  }
  return node;
}

function more(body, entries, from, depth, isList) {
  for (const [key, value] of entries.slice(from, from + SHOWN)) {
    body.append(
      h("li", {}, tree(value, depth + 1, [h("span", { class: isList ? "json-mark" : "json-key" }, key), ": "])),
    );
  }
  if (entries.length <= from + SHOWN) return;
  const next = h("li", {},
    button(
      `${entries.length - from - SHOWN} more`,
      () => (next.remove(), more(body, entries, from + SHOWN, depth, isList)),
      { kind: "quiet" },
    ),
  );
  body.append(next);
}

function leaf(value) {
  if (value instanceof Exact) return h("span", { class: "json-number" }, value.digits);
  if (typeof value === "string") return h("span", { class: "json-text" }, JSON.stringify(value));
  return h("span", { class: typeof value === "number" ? "json-number" : "json-word" }, String(value));
}
