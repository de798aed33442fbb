/** Elements made of data. Children are nodes or texts; a text stays a text, whatever it says. */

const SVG = "http://www.w3.org/2000/svg";
const PROPERTIES = new Set(["value", "checked", "disabled", "selected", "indeterminate", "open", "hidden"]);

export const h = (tag, props, ...children) => filled(document.createElement(tag), props, children);

export const svg = (tag, props, ...children) => filled(document.createElementNS(SVG, tag), props, children);

/** The node, with these children instead of those that it had; the focus stays at the same place. */
export function put(node, ...children) {
  const focused = node.contains(document.activeElement) ? focusable(node).indexOf(document.activeElement) : -1;
  node.replaceChildren(...shown(children));
  if (focused >= 0) focusable(node)[focused]?.focus({ preventScroll: true });
  return node;
}

const focusable = (node) => [...node.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")];

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) set(node, name, value);
  node.append(...shown(children));
  return node;
}

function set(node, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
  else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
  else if (PROPERTIES.has(name)) node[name] = value;
  else node.setAttribute(name, value === true ? "" : value);
}

const shown = (children) =>
  children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false);
