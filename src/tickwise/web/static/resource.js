/** What a page reads from the server, read again when something happens to it. */

import { reachable } from "./api.js";
import { partOf } from "./page.js";
import { batch, signal, useEffect, useMemo } from "./preact.js";

/** The resource of a component: it begins anew when one of `by` changes, and ends with the component. */
export function useResource(page, read, options, by = []) {
  const { life, found } = useMemo(() => {
    const life = partOf(page);
    return { life, found: resource(life, read, options) };
  }, by);
  useEffect(() => life.end, [life]);
  return found;
}

/**
 * `data` is what was read last (undefined before), `problem` why the last reading failed. It is read again when the
 * stream tells one of `on`, at most every `calm` milliseconds, every `every`, and when the server is back; `concerns`
 * narrows what is heard. A page that cannot reach the server keeps what it has: the banner tells.
 */
function resource(life, read, { on = [], concerns = () => true, calm, every } = {}) {
  const [data, problem] = [signal(undefined), signal(null)];
  let [asked, taken] = [0, 0]; // an answer counts unless a later one is there already
  const load = async () => {
    const mine = ++asked;
    try {
      const found = await read(life.signal);
      if (mine < taken || life.signal.aborted) return;
      taken = mine;
      batch(() => ((data.value = found), (problem.value = null)));
    } catch (failed) {
      if (life.signal.aborted || failed.name === "AbortError" || failed.status === 401) return;
      if (mine >= taken && (failed.status !== 0 || data.peek() === undefined)) problem.value = failed;
    }
  };
  const again = life.calmly(load, calm);
  for (const kind of on) life.listen(kind, (events) => events.some(concerns) && again());
  life.listen("reset", again);
  if (every) life.every(every, again);
  life.ends(reachable.on((well) => well && problem.peek() && load()));
  load();
  return { data, problem, load, again };
}
