/** Ctrl-K: go anywhere and do anything by typing. `run`, `pause`, `resume` and `why` before a name do that. */

import { pause, resume, trigger } from "./actions.js";
import { get, may } from "./api.js";
import { Icon } from "./components.js";
import { html, render, useEffect, useRef, useState } from "./preact.js";
import { go } from "./routes.js";
import { places, turnTheme, turnZone } from "./shell.js";
import { openSlot } from "./slotpanel.js";

const FOUND = 8; // schedules
const TYPED = 120; // milliseconds
const VERBS = {
  run: { role: "operator", word: (name) => `Run ${name} now`, icon: "runs", act: ({ name }) => trigger([name]) },
  pause: { role: "operator", word: (name) => `Pause ${name}`, icon: "paused", act: ({ name }) => pause([name]) },
  resume: { role: "operator", word: (name) => `Resume ${name}`, icon: "runs", act: ({ name }) => resume([name]) },
  why: { role: "viewer", word: (name) => `Why did ${name} run, or not?`, icon: "lost", act: explain },
};
const GO = { word: (name) => name, icon: "schedules", act: ({ name }) => go(["schedules", name]) };

/** The newest slot that is past, explained beside its schedule's page. */
function explain({ name, slots }) {
  go(["schedules", name]);
  const last = slots?.at(-1);
  if (last) setTimeout(() => openSlot({ schedule: name, slot: last.slot }), 300); // when the page stands
}

export function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = document.createElement("dialog");
  dialog.className = "palette";
  dialog.setAttribute("aria-label", "Go to, or do");
  document.body.append(dialog);
  const before = document.activeElement;
  dialog.addEventListener("close", () => (render(null, dialog), dialog.remove(), before?.isConnected && before.focus()));
  dialog.addEventListener("pointerdown", (event) => event.target === dialog && dialog.close());
  render(html`<${Palette} close=${() => dialog.close()} />`, dialog);
  dialog.showModal();
}

function Palette({ close }) {
  const [text, setText] = useState("");
  const [schedules, setSchedules] = useState([]);
  const [at, setAt] = useState(0);
  const input = useRef(null);
  const [verb, name] = split(text);
  useEffect(() => void input.current.focus(), []);
  useEffect(() => {
    const timer = setTimeout(async () => {
      const found = await get("schedules", { text: name, limit: FOUND }).catch(() => ({ items: [] }));
      setSchedules(found.items);
    }, name ? TYPED : 0);
    return () => clearTimeout(timer);
  }, [name]);
  const fitting = schedules.filter((one) => `${one.name} ${one.job}`.toLowerCase().includes(name.toLowerCase())); // of what was typed before
  const entries = entriesOf(text, verb, fitting);
  const chosen = Math.min(at, entries.length - 1);
  const take = (entry) => (close(), entry.act());
  const pressed = (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way && entries.length) setAt((chosen + way + entries.length) % entries.length);
    else if (event.key === "Enter" && entries[chosen]) take(entries[chosen]);
    else return;
    event.preventDefault();
  };
  return html`<input ref=${input} aria-label="Go to, or do" placeholder="Go to, run, pause, why …" autocomplete="off" spellcheck=${false} role="combobox" aria-expanded="true" aria-controls="palette-found"
      aria-activedescendant=${entries.length ? `palette-${chosen}` : null} value=${text} onInput=${(event) => (setText(event.target.value), setAt(0))} onKeyDown=${pressed} />
    <ul id="palette-found" role="listbox" aria-label="Found">${entries.map((entry, place) => html`<li key=${entry.key} id=${`palette-${place}`} role="option" aria-selected=${String(place === chosen)}
      onPointerMove=${() => setAt(place)} onClick=${() => take(entry)}><${Icon} name=${entry.icon} />${entry.word}<span class="faint">${entry.about}</span></li>`)}</ul>
    ${entries.length === 0 && html`<p class="faint palette-none">Nothing is called so.</p>`}`;
}

function split(text) {
  const [first, ...rest] = text.trimStart().split(/\s+/);
  return first in VERBS && rest.length ? [first, rest.join(" ")] : [null, text.trim()];
}

function entriesOf(text, verb, schedules) {
  const what = verb ? VERBS[verb] : GO;
  const named = schedules.filter((one) => !what.role || may(what.role, one.job)).map((one) => ({
    key: `${verb} ${one.name}`, word: what.word(one.name), icon: what.icon, about: verb ? "" : one.means, act: () => what.act(one),
  }));
  if (verb) return named;
  const has = ({ word }) => word.toLowerCase().includes(text.trim().toLowerCase());
  const run = /^#?(\d+)$/.exec(text.trim());
  return [
    ...(run ? [{ key: "run", word: `Run #${run[1]}`, icon: "runs", about: "", act: () => go(["runs", run[1]]) }] : []),
    ...commands().filter(has),
    ...named,
  ];
}

const commands = () => [
  ...places().map(([path, word, icon]) => ({ key: `to ${path}`, word: `Go to ${word}`, icon, about: "", act: () => go(path ? [path] : []) })),
  ...(may("admin") ? [{ key: "new", word: "New schedule", icon: "plus", about: "", act: () => go(["create"]) }] : []),
  { key: "zone", word: "Switch the zone of times", icon: "zone", about: "", act: turnZone },
  { key: "theme", word: "Switch the colours", icon: "theme", about: "", act: turnTheme },
];
