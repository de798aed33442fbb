/** A list that comes page by page, drawn again as it grows. */

import { Pager } from "./pager.js";
import { useMemo, useState } from "./view.js";

/** The pager of a component, and the last problem; a new one begins when one of `by` changes. */
export function usePager(read, by) {
  const [state, setState] = useState({ problem: null });
  const pager = useMemo(() => {
    const made = new Pager(async (after) => read(after), () => setState({ problem: null }), (problem) => setState({ problem }));
    made.restart();
    return made;
  }, by);
  return { pager, problem: state.problem, redraw: () => setState({ problem: null }) };
}
