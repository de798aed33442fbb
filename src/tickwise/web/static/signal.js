/** A value that tells those who listen when it changes; a template that reads it is drawn again. */

import { signal as reactive } from "./vendor/signals-core.js";

export function signal(value) {
  const held = reactive(value);
  const listeners = new Set();
  return {
    get: () => held.value,
    set(next) {
      if (next === held.peek()) return;
      held.value = next;
      for (const listener of [...listeners]) listener(next);
    },
    /** Calls the listener with each new value; what it returns ends that. */
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
