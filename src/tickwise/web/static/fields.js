/** Where people write and choose. */

import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { setQuery } from "./routes.js";

let fields = 0; // so that each has an id of its own

/** A field of a form with its label; what is wrong with it is told below it. */
export function field(label, input, { hint } = {}) {
  const id = `field-${++fields}`;
  input.id = id;
  const error = h("span", { class: "field-error", id: `${id}-error`, role: "alert" });
  input.setAttribute("aria-describedby", error.id);
  const node = h("div", { class: "field" },
    h("label", { for: id }, label),
    input,
    hint && h("span", { class: "hint" }, hint),
    error,
  );
  node.fail = (text) => {
    input.setAttribute("aria-invalid", String(Boolean(text)));
    put(error, text ?? "");
  };
  return node;
}

export const select = (options, value, change) =>
  h("select", { on: { change: (event) => change?.(event.target.value) } },
    options.map(([code, word]) => h("option", { value: code, selected: String(code) === String(value ?? "") },
      word,
    )),
  );

/** A row of choices of which one holds. */
export function choices(label, options, value, change) {
  const node = h("div", { class: "choices", role: "group", "aria-label": label });
  const draw = () => put(
    node,
    options.map(([code, word]) => h(
      "button",
      { type: "button", class: "choice", "aria-pressed": String(code === value), on: { click: () => pick(code) } },
      word,
    )),
  );
  const pick = (code) => {
    value = code;
    draw();
    node.querySelector('[aria-pressed="true"]').focus();
    change(code);
  };
  draw();
  return node;
}

/** A text box that waits until somebody has stopped typing. */
export function searchBox(label, value, change) {
  let timer;
  const typed = (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => change(event.target.value.trim()), 200);
  };
  return h("label", { class: "search" },
    icon("search"),
    h("input", {
      type: "search",
      value: value ?? "",
      placeholder: label,
      "aria-label": label,
      "data-search": true,
      autocomplete: "off",
      spellcheck: "false",
      on: { input: typed },
    }),
  );
}

/** Change some filters, in the address as well. */
export function refine(query, changes) {
  Object.assign(query, changes);
  for (const name of Object.keys(query)) if (query[name] === "" || query[name] === undefined) delete query[name];
  setQuery(query);
}
