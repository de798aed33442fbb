/** What stands around every page: where one can go, who one is, how things should look. */

import { may, mayAll, reachable, signOut, who } from "./api.js";
import { h, put } from "./dom.js";
import { icon } from "./icons.js";
import { settings } from "./keep.js";
import { to } from "./routes.js";
import { chooseZone, OWN_ZONE, zone } from "./time.js";

const PLACES = [
  ["", "Overview", "overview"],
  ["schedules", "Schedules", "schedules"],
  ["runs", "Runs", "runs"],
  ["forecast", "Forecast", "forecast"],
  ["fleet", "Workers", "fleet"],
  ["audit", "Audit", "audit"],
];
const WHOLE = { fleet: "viewer", audit: "admin" }; // for those who see all jobs
const AWAY = "The server cannot be reached. This page may be out of date; retrying …";
const THEMES = { "": "as the system", light: "light", dark: "dark" };

applyTheme(settings.get("theme") ?? "");

/** The bar on top and the ways at the side. */
export function chrome() {
  const places = PLACES.filter(([path]) => path in WHOLE ? mayAll(WHOLE[path]) : may("viewer"));
  const side = h("nav", { class: "side", "aria-label": "Pages" },
    places.map(([path, word, name]) => h("a", { href: to(path ? [path] : []), "data-place": path },
      icon(name),
      h("span", {}, word),
    )),
  );
  const top = h("header", { class: "top" },
    h("a", { class: "brand", href: to([]) }, icon("schedules"), "Tickwise"),
    h("div", { class: "grow" }),
    zoneSwitch(),
    themeSwitch(),
    person(),
  );
  return { top, side };
}

/** Mark where one is. */
export function mark(place) {
  const at = place === "create" ? "schedules" : place;
  for (const node of document.querySelectorAll("[data-place]")) {
    if (node.dataset.place === at) node.setAttribute("aria-current", "page");
    else node.removeAttribute("aria-current");
  }
}

/** Says so while the server cannot be reached. */
export function banner() {
  const node = h("div", { class: "banner", role: "alert", hidden: reachable.get() });
  const draw = (well) => {
    node.hidden = well;
    put(node, !well && [icon("warning"), AWAY]);
  };
  reachable.on(draw);
  return node;
}

function zoneSwitch() {
  if (OWN_ZONE === "UTC") return h("span", { class: "quiet-text", title: "Times are shown in this zone" },
    icon("zone"),
    "UTC",
  );
  const other = zone.get() === "UTC" ? OWN_ZONE : "UTC";
  return h(
    "button",
    {
      type: "button",
      class: "button quiet",
      title: `Show times in ${other}`,
      on: { click: () => chooseZone(other) },
    },
    icon("zone"),
    h("span", {}, zone.get()),
  );
}

function themeSwitch() {
  const codes = Object.keys(THEMES);
  const button = h("button", { type: "button", class: "button quiet", on: { click: turn } }, icon("theme"));
  const name = () => {
    const text = `Colours: ${THEMES[settings.get("theme") ?? ""]}`;
    button.setAttribute("aria-label", text);
    button.title = text;
  };
  function turn() {
    const next = codes[(codes.indexOf(settings.get("theme") ?? "") + 1) % codes.length];
    settings.set("theme", next);
    applyTheme(next);
    name();
  }
  name();
  return button;
}

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function person() {
  const me = who.get();
  if (!me) return null;
  return h("span", { class: "person" },
    icon("person"),
    h("span", { class: "person-name" }, me.name),
    h("span", { class: "tag" }, me.role),
    h("button", { type: "button", class: "button quiet", on: { click: () => signOut() } }, "Sign out"),
  );
}
