/** A value that tells those who listen when it changes. */

export function signal(value) {
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** Calls the listener with each new value; what it returns ends that. */
    on(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
