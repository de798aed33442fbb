/** A panel beside the page; Escape closes it, and the focus goes back to where it was. */

import { Button } from "./components.js";
import { html, useEffect, useRef } from "./preact.js";

export function Drawer({ label, title, close, takesFocus = true, children }) {
  const node = useRef(null);
  useEffect(() => {
    if (!takesFocus) return undefined;
    const before = document.activeElement;
    node.current.focus({ preventScroll: true });
    return () => before?.isConnected && before.focus({ preventScroll: true });
  }, []);
  const pressed = (event) => event.key === "Escape" && (event.stopPropagation(), close());
  return html`<div class="drawer" ref=${node} tabindex="-1" role="dialog" aria-label=${label} onKeyDown=${pressed}>
    <header class="drawer-head"><h2>${title}</h2><${Button} kind="quiet" icon="failed" label="Close" act=${close} /></header>${children}</div>`;
}
