/** The lines of a log as they come: complete, in order, and each once, also from a stream that was cut off. */

import { plain } from "./ansi.js";
import { stepOf } from "./steps.js";

const MOST = 100_000; // lines kept
const REMEMBERED = 2000; // parts

export class LogLines {
  all = []; // {number, at, step, stream, raw, text}
  #count = 0; // of all lines so far
  #told = []; // the newest parts, since a stream that is taken up again repeats some
  #repeats = false;

  /** A stream opens, from its beginning or after this event. */
  begin(last) {
    this.#repeats = last !== null;
    if (this.#repeats) return;
    this.all = [];
    this.#count = 0;
  }

  add({ at, step, stream, text }) {
    const part = `${at} ${step} ${stream} ${text}`;
    this.#repeats &&= this.#told.includes(part);
    if (this.#repeats) return;
    this.#told.push(part);
    if (this.#told.length > 2 * REMEMBERED) this.#told.splice(0, REMEMBERED);
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const raw of lines) this.all.push({ number: ++this.#count, at, step, stream, raw, text: plain(raw) });
    if (this.all.length > 1.1 * MOST) this.all.splice(0, this.all.length - MOST);
  }

  /** Those of a step and its items, or of one item, if one is given, with this text in them. */
  with(wanted, step) {
    const text = wanted.toLowerCase();
    if (!wanted && !step) return this.all;
    return this.all.filter((line) => (!step || line.step === step || stepOf(line.step) === step) && line.text.toLowerCase().includes(text));
  }
}

/** The lines as rows, with a mark where an attempt begins; `ends` are the instants at which earlier ones ended. */
export function rowsOf(lines, ends) {
  if (!ends.length) return lines;
  const rows = [];
  let passed = 0;
  for (const line of lines) {
    const before = passed;
    while (passed < ends.length && Date.parse(line.at) >= ends[passed]) passed += 1;
    if (passed > before || !rows.length) rows.push({ attempt: passed + 1 });
    rows.push(line);
  }
  return rows;
}
