/** What is wrong, each with its way out; for those who may ask it, by the doctor, who sees more. */

import { get, mayAll } from "./api.js";
import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { button } from "./parts.js";
import { say } from "./say.js";
import { skew, span, timeAt } from "./time.js";

const EXAMINE = 300_000; // milliseconds between two visits of the doctor without a reason
const MANY = 1000; // schedules, from which on that is asked for by a button
const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/;

export class Warnings {
  #told = null; // the plain warnings that were shown
  #asked = 0;

  constructor(signal) {
    this.signal = signal;
    this.node = h("div", { class: "warnings", "aria-live": "polite" });
  }

  /** Show these; the doctor, who looks at every schedule, is asked when they change and now and then. */
  take(plain, schedules) {
    const texts = plain.map((one) => one.text).join();
    const isNew = texts !== this.#told;
    if (isNew) this.show(plain);
    this.#told = texts;
    if (!mayAll("operator") || schedules > MANY || (!isNew && Date.now() - this.#asked < EXAMINE)) return;
    this.#asked = Date.now();
    this.examine();
  }

  async examine() {
    const findings = await get("doctor", {}, this.signal).then((found) => found.findings, () => null);
    if (findings) this.show(findings); // without, the plain ones stay
    return findings;
  }

  show(found) {
    put(this.node, [...found, ...ownWarnings()].map(warning));
  }
}

/** The way out is a sentence, or a command of the doctor's. */
function warning({ text, advice, what, repair, severity }) {
  const [first, ...rest] = (text ?? what).split("\n"); // an error in a file shows its line
  return h("div", { class: `warning ${severity ?? ""}` },
    icon("warning"),
    h("div", {},
      h("strong", {}, told(first)),
      rest.length > 0 && h("pre", {}, rest.join("\n")),
      h("div", {}, advice ?? h("code", {}, repair)),
    ),
  );
}

/** A sentence, with its instants in the zone that is shown. */
const told = (text) => text.split(INSTANT).map((part, place) => (
  place % 2 && Date.parse(part) ? timeAt(part, { label: true }) : part
));

/** Where it is not done by itself. */
export function doctorButton(warnings, schedules) {
  const ask = async () => (await warnings.examine())?.length === 0 && say("No problems found.");
  return mayAll("operator") && schedules > MANY && button("Run the doctor", ask, { kind: "quiet" });
}

const ownWarnings = () =>
  skew.get() ? [
    {
      text: `This computer's clock is ${span(skew.get())} ${skew.get() > 0 ? "behind" : "ahead of"} the server's.`,
      advice: "Times here follow the server; set this computer's clock.",
    },
  ] : [];
