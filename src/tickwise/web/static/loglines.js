/** The lines of a log as they come: complete, in order, and each once, also from a stream that was cut off. */

const MOST = 100_000; // lines kept
const REMEMBERED = 2000; // parts
const ESCAPES = /\u001b(?:\[[0-9;?]*[A-Za-z]|\][^\u0007]*\u0007)/g; // colours of terminals

export class LogLines {
  all = [];
  #told = []; // the newest parts, since a stream that is taken up again repeats some
  #repeats = false;

  /** A stream opens, from its beginning or after this event. */
  begin(last) {
    this.#repeats = last !== null;
    if (!this.#repeats) this.all = [];
  }

  add({ at, step, stream, text }) {
    const part = `${at} ${step} ${stream} ${text}`;
    this.#repeats &&= this.#told.includes(part);
    if (this.#repeats) return;
    this.#told.push(part);
    if (this.#told.length > 2 * REMEMBERED) this.#told.splice(0, REMEMBERED);
    const lines = text.replace(ESCAPES, "").split("\n");
    if (lines.at(-1) === "") lines.pop();
    for (const line of lines) this.all.push({ at, step, stream, text: line });
    if (this.all.length > 1.1 * MOST) this.all.splice(0, this.all.length - MOST);
  }

  /** Those with this text in them, or in the name of their step. */
  with(wanted) {
    const has = (text) => text.toLowerCase().includes(wanted.toLowerCase());
    return wanted ? this.all.filter((line) => has(line.text) || has(line.step)) : this.all;
  }
}
