/** The field for a schedule's times: what is typed is explained at once, or refused exactly where it is wrong. */

import { get, send } from "./api.js";
import { h, put } from "./dom.js";
import { field, select } from "./fields.js";
import { icon } from "./icons.js";
import { button } from "./parts.js";
import { countdown, timeAt, zone } from "./time.js";

const WAIT = 200;
const ZONES = () => Intl.supportedValuesOf?.("timeZone") ?? [];

export class ExpressionField {
  #timer;
  #asked = 0;

  /** `nameOf` tells the schedule's name, from which H follows; null if it has none yet. */
  constructor(value, timezone, nameOf) {
    const plain = { autocomplete: "off", spellcheck: "false", on: { input: () => this.soon() } };
    this.nameOf = nameOf;
    this.text = h("input", { ...plain, value, class: "mono expression", required: true });
    this.zone = h("input", { ...plain, value: timezone, list: "zones" });
    this.row = field("Times", this.text, { hint: "cron with five or six fields; @daily; @every 90s; H spreads" });
    this.zoneRow = field("Time zone", this.zone);
    this.preview = h("div", { class: "preview", "aria-live": "polite" });
    this.templates = h("div", {});
    this.node = h("div", { class: "expression-field" },
      this.row,
      h("div", { class: "pair" }, this.zoneRow, this.templates),
      h("datalist", { id: "zones" }, ZONES().map((name) => h("option", { value: name }))),
      this.preview,
    );
  }

  values() {
    return { schedule: this.text.value.trim(), timezone: this.zone.value.trim() || "UTC" };
  }

  async load() {
    const { items } = await get("templates");
    const named = items.map((one) => [one.expression, `${one.name}: ${one.description}`]);
    const use = (expression) => expression && this.use(expression);
    put(this.templates, field("Template", select([["", "choose …"], ...named], "", use)));
    await this.look();
  }

  soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.look(), WAIT);
  }

  async look() {
    const mine = ++this.#asked;
    const { schedule: expression, timezone } = this.values();
    this.row.fail("");
    this.zoneRow.fail("");
    if (!expression) return put(this.preview, h("p", { class: "faint" }, "The next ten runs appear here."));
    try {
      const found = await send("POST", "preview", { expression, timezone, name: this.nameOf() });
      if (mine === this.#asked) put(this.preview, previewOf(found, (better) => this.use(better)));
    } catch (problem) {
      if (mine === this.#asked) this.fail(problem);
    }
  }

  /** Show a refusal where the text is wrong. */
  fail(problem) {
    const ofZone = problem.position === undefined && /zone/.test(problem.message);
    const [told] = problem.message.split("\n"); // further lines mark the place for terminals
    (ofZone ? this.zoneRow : this.row).fail(told);
    put(
      this.preview,
      problem.position !== undefined && marked(this.values().schedule, problem.position),
      problem.nearest && h("p", {}, `Did you mean ${problem.nearest}?`),
    );
  }

  use(expression) {
    this.text.value = expression;
    this.text.focus();
    this.soon();
  }
}

/** The text with the letter marked at which it goes wrong. */
const marked = (text, position) =>
  h("pre", { class: "marked", "data-position": position },
    text.slice(0, position),
    h("mark", {}, text[position] ?? " "),
    text.slice(position + 1),
    "\n",
    `${" ".repeat(position)}↑ here`,
  );

const previewOf = (found, use) => [
  h("p", { class: "means" }, icon("succeeded"), found.means),
  found.warnings.map((warning) => h("p", { class: "warning" }, icon("warning"), warning)),
  found.suggestion && h("p", {},
    "Spread out: ",
    h("code", {}, found.suggestion),
    " ",
    button("Use it", () => use(found.suggestion), { kind: "quiet" }),
  ),
  found.next.length === 0 && h("p", { class: "faint" }, "It will not run again."),
  h("ol", { class: "times" },
    found.next.map((at) => h("li", {},
      timeAt(at, { zone: found.timezone, label: true }),
      found.timezone !== zone.get() && h("span", { class: "faint" }, " · ", timeAt(at, { label: true })),
      h("span", { class: "faint" }, " · ", countdown(at)),
    )),
  ),
];
