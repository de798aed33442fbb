/** A list that comes page by page, drawn again as it grows. */

import { Pager } from "./pager.js";
import { useMemo, useState } from "./preact.js";

/**
 * The pager of a component, and the last problem; a new one begins when one of `by` changes. A list that cannot reach
 * the server keeps what it has: the banner tells.
 */
export function usePager(read, by) {
  const [state, setState] = useState({ problem: null });
  const pager = useMemo(() => {
    const made = new Pager(async (after) => read(after), () => setState({ problem: null }), (problem) => (problem.status !== 0 || !made.items.length) && setState({ problem }));
    made.restart();
    return made;
  }, by);
  return { pager, problem: state.problem, redraw: () => setState({ problem: null }) };
}
