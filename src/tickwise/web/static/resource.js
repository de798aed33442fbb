/** What a page reads from the server, read again when something happens to it. */

import { reachable } from "./api.js";
import { batch, signal } from "./view.js";

/**
 * `data` is what was read last (undefined before), `problem` why the last reading failed. It is read again when the
 * stream tells one of `on`, at most every `calm` milliseconds, every `every`, and when the server is back; `concerns`
 * narrows what is heard. A page that cannot reach the server keeps what it has: the banner tells.
 */
export function resource(page, read, { on = [], concerns = () => true, calm, every } = {}) {
  const [data, problem] = [signal(undefined), signal(null)];
  let newest = 0;
  const load = async () => {
    const mine = ++newest;
    try {
      const found = await read(page.signal);
      if (mine === newest && !page.signal.aborted) batch(() => ((data.value = found), (problem.value = null)));
    } catch (failed) {
      if (page.signal.aborted || failed.name === "AbortError" || failed.status === 401) return;
      if (mine === newest && (failed.status !== 0 || data.peek() === undefined)) problem.value = failed;
    }
  };
  const again = page.calmly(load, calm);
  for (const kind of on) page.listen(kind, (events) => events.some(concerns) && again());
  page.listen("reset", again);
  if (every) page.every(every, again);
  page.ends(reachable.on((well) => well && problem.peek() && load()));
  load();
  return { data, problem, load, again };
}
