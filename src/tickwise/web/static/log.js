/** What a run prints, as it prints it: only the lines in view are in the document, and a search narrows them. */

import { h, put } from "./dom.js";
import { LogLines } from "./loglines.js";
import { button } from "./parts.js";
import { copy } from "./say.js";
import { follow } from "./stream.js";
import { clock, wall } from "./time.js";

const LINE = 18; // pixels
const MARGIN = 20; // lines beyond the view

export function logView(run, signal, ended) {
  const view = new LogView();
  const hear = ({ kind, data }) => (kind === "end" ? (ended(), false) : view.hear(data));
  follow(`runs/${encodeURIComponent(run)}/logs`, { signal, begin: (last) => view.lines.begin(last), hear })
    .catch((problem) => put(view.state, problem.message));
  return view.node;
}

class LogView {
  lines = new LogLines();
  #waits = false;

  constructor() {
    const soon = () => this.soon();
    this.body = h("div", { class: "log-lines" });
    this.view = h("div", { class: "log", tabindex: "0", role: "log", "aria-label": "Log", "aria-live": "off" },
      this.body,
    );
    this.state = h("span", { class: "faint", role: "status" }, "waiting for output");
    this.wanted = h("input", {
      type: "search",
      placeholder: "Search the log",
      "aria-label": "Search the log",
      "data-search": true,
      on: { input: soon },
    });
    this.tail = h("input", { type: "checkbox", checked: true, on: { change: soon } });
    this.view.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.node = h("div", { class: "log-box" }, this.tools(), this.view);
  }

  tools() {
    const text = () => this.shown().map((line) => line.text).join("\n");
    return h("div", { class: "log-tools" },
      this.wanted,
      h("label", { class: "check" }, this.tail, "follow"),
      this.state,
      h("div", { class: "grow" }),
      button("Copy", () => copy(text()), { kind: "quiet", name: "copy" }),
    );
  }

  hear(part) {
    this.lines.add(part);
    this.soon();
  }

  shown() {
    return this.lines.with(this.wanted.value);
  }

  soon() {
    if (this.#waits) return;
    this.#waits = true;
    requestAnimationFrame(() => {
      this.#waits = false;
      this.draw();
    });
  }

  draw() {
    const shown = this.shown();
    const count = Math.ceil(this.view.clientHeight / LINE) + 2 * MARGIN;
    const first = this.tail.checked ? shown.length - count : Math.floor(this.view.scrollTop / LINE) - MARGIN;
    const begin = Math.max(0, first);
    this.body.style.setProperty("height", `${shown.length * LINE}px`);
    put(
      this.body,
      h("div", { class: "log-window", style: { transform: `translateY(${begin * LINE}px)` } },
        shown.slice(begin, begin + count).map(row),
      ),
    );
    if (this.tail.checked) this.view.scrollTop = this.view.scrollHeight;
    const all = this.lines.all.length === 1 ? "1 line" : `${this.lines.all.length} lines`;
    this.state.textContent = this.wanted.value ? `${shown.length} of ${all}` : all;
  }

  /** Who scrolls away from the end wants to read. */
  scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.view;
    if (scrollTop + clientHeight < scrollHeight - LINE) this.tail.checked = false;
    if (!this.tail.checked) this.soon();
  }
}

const row = (line) =>
  h("div", { class: `log-line ${line.stream === "stderr" ? "stderr" : ""}` },
    h("span", { class: "log-at" }, `${clock(line.at)}:${wall(line.at).second}`),
    h("span", { class: "log-step" }, line.step),
    h("span", { class: "log-text" }, line.text),
  );
