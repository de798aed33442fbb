/** What a browser remembers for its owner; one that remembers nothing works as well. */

function within(store, act) {
  try {
    return act(store());
  } catch {
    return null; // storage may be turned off, or full
  }
}

const shelf = (store) => ({
  get: (name) => within(store, (found) => found.getItem(`tickwise.${name}`)),
  set: (name, value) => within(store, (found) => found.setItem(`tickwise.${name}`, value)),
  remove: (name) => within(store, (found) => found.removeItem(`tickwise.${name}`)),
});

/** How things should look, and our half of the session. */
export const settings = shelf(() => localStorage);
