/**
 * Slots over time as stacked bins: every slot is in exactly one piece, whose height is its share of the bin.
 *
 * A ribbon is one stop of the keyboard: left and right move through its bins, up and down to the ribbon beside it,
 * Enter opens. Where `select` is given, dragging over the ribbon, or Shift with the arrows and Enter, chooses a stretch
 * of time. What is under the pointer, or under the keys, is read in words.
 */

import { html, signal, useRef, useState } from "./preact.js";
import { binTime, counted, marks, slotClass, slotWords, STATES, total } from "./slots.js";
import { now, second } from "./time.js";

const EDGE = 0.03; // of the whole, in which no mark would be whole
const under = signal(null); // {x, y, title, text}: what is read beside the pointer

/** `open(bin)` is called for a bin with slots, `select(from, until)` with the seconds of a stretch. */
export function Ribbon({ label, bins, scale, open, select, shade }) {
  const place = useRef(null);
  const at = useRef(null); // the bin under the keys
  const [stretch, setStretch] = useState(null); // [the bin where it began, the bin where it ends]
  const filled = bins.filter(([, counts]) => total(counts) > 0);
  const most = Math.max(1, ...filled.map(([, counts]) => total(counts)));
  const found = (number) => filled.find(([one]) => one === number);
  const told = (number) => `${binTime(scale.since, scale.step, number)}: ${counted(found(number)?.[1] ?? {}) || "no slots"}`;
  const within = (number) => Math.min(scale.bins - 1, Math.max(0, number));

  function read(number, x, y) {
    const counts = found(number)?.[1];
    under.value = counts ? { x, y, title: binTime(scale.since, scale.step, number), counts } : null;
  }
  function choose(number) {
    at.current = number;
    const node = place.current;
    node.setAttribute("aria-valuenow", number);
    node.setAttribute("aria-valuetext", told(number));
    node.style.setProperty("--at", `${((number + 0.5) / scale.bins) * 100}%`);
    const { left, width, top } = node.getBoundingClientRect();
    read(number, left + ((number + 0.5) / scale.bins) * width, top);
  }
  function finish([begin, end]) {
    const [first, last] = [Math.min(begin, end), Math.max(begin, end)];
    setStretch(null);
    select(scale.since + first * scale.step, scale.since + (last + 1) * scale.step);
  }
  const start = () => at.current ?? filled.filter(([number]) => (scale.since + number * scale.step) * 1000 <= now()).at(-1)?.[0] ?? filled[0]?.[0] ?? 0;
  function pressed(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (way && event.shiftKey && select) {
      const next = within(start() + way);
      setStretch([stretch?.[0] ?? start(), next]);
      choose(next);
    } else if (way) (setStretch(null), choose(beside(filled, start(), way)));
    else if (event.key === "Home" || event.key === "End") choose(filled.at(event.key === "Home" ? 0 : -1)?.[0] ?? 0);
    else if ((event.key === "Enter" || event.key === " ") && stretch) finish(stretch);
    else if (event.key === "Enter" || event.key === " ") found(start()) && open?.(start());
    else if (event.key === "Escape" && stretch) setStretch(null);
    else if (event.key === "ArrowUp" || event.key === "ArrowDown") step(place.current, event.key === "ArrowUp" ? -1 : 1);
    else return;
    event.preventDefault();
  }
  const pointed = (event) => {
    const { left, width } = place.current.getBoundingClientRect();
    return within(Math.floor(((event.clientX - left) / width) * scale.bins));
  };
  function pointerDown(event) {
    if (!select || event.button) return;
    setStretch([pointed(event), pointed(event)]);
    place.current.setPointerCapture(event.pointerId);
  }
  function pointerMoved(event) {
    if (event.buttons && stretch) setStretch([stretch[0], pointed(event)]);
    if (event.pointerType !== "touch") read(pointed(event), event.clientX, place.current.getBoundingClientRect().top);
  }
  function pointerUp(event) {
    if (event.button) return;
    if (stretch && stretch[0] !== stretch[1]) return finish(stretch);
    setStretch(null);
    const number = nearest(filled, pointed(event));
    if (number !== null) (choose(number), open?.(number));
  }
  const share = (second) => ((second - scale.since) / (scale.until - scale.since)) * 100;
  const chosen = stretch && (stretch[0] !== stretch[1]) && [Math.min(...stretch), Math.max(...stretch) + 1].map((number) => (number / scale.bins) * 100);

  return html`<div class=${`ribbon ${select ? "is-selectable" : ""}`} ref=${place} tabindex="0" role="slider" aria-label=${`Slots of ${label}`}
      aria-valuemin="0" aria-valuemax=${scale.bins - 1} aria-valuenow=${start()} aria-valuetext=${told(start())} aria-orientation="horizontal"
      onKeyDown=${pressed} onFocus=${(event) => event.currentTarget.matches(":focus-visible") && choose(start())} onBlur=${() => (under.value = null)}
      onPointerDown=${pointerDown} onPointerMove=${pointerMoved} onPointerUp=${pointerUp} onPointerCancel=${() => setStretch(null)} onPointerLeave=${() => (under.value = null)}>
    ${shade && html`<div class="ribbon-shade" style=${{ left: `${share(shade[0])}%`, width: `${share(shade[1]) - share(shade[0])}%` }} />`}
    ${filled.map(([number, counts]) => html`<${Bin} key=${number} number=${number} of=${scale.bins} counts=${counts} most=${most} />`)}
    ${chosen && html`<div class="ribbon-stretch" style=${{ left: `${chosen[0]}%`, width: `${chosen[1] - chosen[0]}%` }} />`}
    <${NowLine} scale=${scale} /></div>`;
}

/** A bin is as high as it is full, from half the height on; its pieces share that by their counts. */
function Bin({ number, of, counts, most }) {
  const all = total(counts);
  const isAhead = counts.to_come === all;
  const height = isAhead ? 24 : 56 + 44 * (all / most);
  return html`<div class="bin" style=${{ left: `${(number / of) * 100}%`, width: `${100 / of}%`, height: `${height}%` }}>
    ${Object.keys(STATES).filter((state) => counts[state]).map((state) =>
      html`<i key=${state} class=${`slot is-${state}`} data-state=${state} data-count=${counts[state]} style=${{ "flex-grow": counts[state] }} />`)}</div>`;
}

function NowLine({ scale }) {
  second.value; // moves with the time
  const share = (now() / 1000 - scale.since) / (scale.until - scale.since);
  return share > 0 && share < 1 && html`<div class="now-line" style=${{ left: `${share * 100}%` }} />`;
}

const beside = (filled, number, way) =>
  (way < 0 ? filled.filter(([one]) => one < number).at(-1) : filled.find(([one]) => one > number))?.[0] ?? number;

const nearest = (filled, number) =>
  filled.map(([one]) => one).filter((one) => Math.abs(one - number) <= 1).sort((a, b) => Math.abs(a - number) - Math.abs(b - number))[0] ?? null;

/** To the ribbon above or below. */
function step(node, way) {
  const all = [...document.querySelectorAll(".ribbon")];
  all[all.indexOf(node) + way]?.focus();
}

export const Axis = ({ scale }) => html`<div class="axis" aria-hidden="true">${marks(scale).filter(({ at }) => at - scale.since > EDGE * (scale.until - scale.since)).map(({ at, text }) =>
  html`<span key=${at} style=${{ left: `${((at - scale.since) / (scale.until - scale.since)) * 100}%` }}>${text}</span>`)}</div>`;

export const Legend = ({ states = Object.keys(STATES) }) => html`<p class="legend" aria-hidden="true">${states.map((state) =>
  html`<span key=${state}><i class=${`slot is-${state}`} />${STATES[state]}</span>`)}</p>`;

/** What is under the pointer, in words; drawn once on a page. */
export function Reading() {
  const shown = under.value;
  if (!shown) return null;
  const side = shown.x > innerWidth / 2 ? { right: `${innerWidth - shown.x}px` } : { left: `${shown.x}px` };
  return html`<div class="reading" role="presentation" style=${{ ...side, top: `${shown.y}px` }}>
    <strong>${shown.title}</strong>
    ${Object.keys(STATES).filter((state) => shown.counts[state]).map((state) =>
      html`<span key=${state}><i class=${`slot is-${state}`} />${shown.counts[state].toLocaleString("en")} ${STATES[state]}</span>`)}</div>`;
}

/** The last slots of a schedule, oldest left, one cell each. */
export function Strip({ slots, most = 30, open }) {
  const shown = slots.slice(-most);
  const told = counted(tally(shown)) || "no slots yet";
  const cells = [
    ...Array.from({ length: most - shown.length }, () => html`<i class="slot is-none" />`),
    ...shown.map((one) => html`<i class=${slotClass(one)} data-state=${one.state} title=${open && slotWords(one)} onClick=${open && (() => open(one))} />`),
  ];
  return html`<span class="slot-strip" role="img" aria-label=${`last slots: ${told}`} title=${told}>${cells}</span>`;
}

export function tally(slots) {
  const counts = {};
  for (const { state, count = 1 } of slots) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}
