/** Lists that come page by page, by key. */

const key = (item) => item.id ?? item.name;

/**
 * Reads pages with `read(after)` into `items`; `changed` is told after each. While a page is under way, asking for
 * more does nothing. After `restart` the old items stay until the first new page is there, and what was asked
 * before is forgotten when it arrives; what `tell` has put on top meanwhile is not lost.
 */
export class Pager {
  items = [];
  done = false;
  #next = undefined;
  #generation = 0;
  #busy = false;
  #anew = false;
  #told = new Set(); // keys of what was told while the list begins anew

  constructor(read, changed, failed) {
    Object.assign(this, { read, changed, failed });
  }

  async more() {
    if (this.#busy || this.done) return;
    this.#busy = true;
    const mine = this.#generation;
    let asked; // a page may be empty before the last: the server looks at so many rows for each
    do {
      asked = await this.read(asked?.page.next ?? this.#next).then((page) => ({ page }), (problem) => ({ problem }));
      if (mine !== this.#generation || asked.problem?.name === "AbortError") return;
    } while (asked.page && !asked.page.items.length && asked.page.next !== null);
    this.#busy = false;
    if (asked.page) this.#take(asked.page);
    this.done ||= Boolean(asked.problem);
    if (asked.problem) this.failed(asked.problem);
    else this.changed();
  }

  restart() {
    this.#generation += 1;
    this.#anew = true;
    this.#busy = this.done = false;
    this.#next = undefined;
    this.#told.clear();
    return this.more();
  }

  /** Put what is new on top. */
  tell(items) {
    this.items.unshift(...items);
    if (this.#anew) for (const item of items) this.#told.add(key(item));
  }

  #take(page) {
    if (this.#anew) this.items = this.items.filter((item) => this.#told.has(key(item)));
    this.#anew = false;
    const known = new Set(this.items.map(key));
    this.items.push(...page.items.filter((item) => !known.has(key(item))));
    this.#next = page.next;
    this.done = page.next === null;
  }
}
