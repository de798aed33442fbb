/** What is wrong, each with its way out; for those who may ask it, by the doctor, who sees more. */

import { get, mayAll } from "./api.js";
import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { skew, span } from "./time.js";

const EXAMINE = 60_000; // milliseconds between two visits of the doctor without a reason

export class Warnings {
  #told = null; // the plain warnings when the doctor was asked
  #asked = 0;

  constructor(signal) {
    this.signal = signal;
    this.node = h("div", { class: "warnings", "aria-live": "polite" });
  }

  /** Show these; the doctor, who takes longer, is asked when they change and now and then. */
  async take(plain) {
    if (!mayAll("operator")) return this.show(plain);
    const texts = plain.map((one) => one.text).join();
    if (texts === this.#told && Date.now() - this.#asked < EXAMINE) return;
    [this.#told, this.#asked] = [texts, Date.now()];
    this.show((await get("doctor", {}, this.signal)).findings);
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
      h("strong", {}, first),
      rest.length > 0 && h("pre", {}, rest.join("\n")),
      h("div", {}, advice ?? h("code", {}, repair)),
    ),
  );
}

const ownWarnings = () =>
  skew.get() ? [
    {
      text: `This computer's clock is ${span(skew.get())} ${skew.get() > 0 ? "behind" : "ahead of"} the server's.`,
      advice: "Times here follow the server; set this computer's clock.",
    },
  ] : [];
