/** How live pages are drawn: templates whose values change in place, so that focus and selection stay where they are. */

import htm from "./vendor/htm.js";
import { h, render } from "./vendor/preact.js";

export { Fragment, render } from "./vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";
export { batch, computed, effect, signal, untracked, useComputed, useSignal } from "./vendor/signals.js";

export const html = htm.bind(h);

/** What a page's file exports as `show`: the component is drawn with `page`, and goes when the page is left. */
export const shows = (Component) => (page) => {
  render(html`<${Component} page=${page} />`, page.view);
  page.ends(() => render(null, page.view));
};
