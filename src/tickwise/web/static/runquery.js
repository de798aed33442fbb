/** The query of the list of runs: its words, what may come next, and what old addresses mean. */

const STATES = "queued running succeeded failed skipped cancelled expired lost".split(" ");
const TRIGGERS = "schedule catchup restart backfill manual enqueue step".split(" ");
const NAMES = ["state", "job", "schedule", "error", "label", "params", "queue", "trigger", "key", "since", "until"];
const FIELDS = [...NAMES.map((name) => `${name}:`), "last "];
const SHOWN = 12; // words
const TIMES = ["1h", "12h", "24h", "7d"];

/** The word in which the caret stands: [its beginning, its text]. */
export function wordAt(query, caret) {
  const begin = query.slice(0, caret).search(/\S*$/);
  return [begin, query.slice(begin, caret)];
}

/** What may be meant by the word under the caret; `known` has values by name, such as the jobs that runs have. */
export function completions(query, caret, known = {}) {
  const [begin, word] = wordAt(query, caret);
  if (/\blast\s*$/.test(query.slice(0, begin))) return TIMES.filter((one) => one.startsWith(word));
  const bare = word.replace(/^-/, "");
  const minus = word.slice(0, word.length - bare.length);
  const [name, ...rest] = bare.split(":");
  if (!rest.length) return bare || begin === caret ? FIELDS.filter((one) => one.startsWith(bare) && one !== bare).map((one) => minus + one) : [];
  const given = rest.join(":");
  const [last] = given.split(",").slice(-1);
  const before = given.slice(0, given.length - last.length);
  return valuesOf(name, known).filter((one) => one.startsWith(last) && one !== last).slice(0, SHOWN).map((one) => `${minus}${name}:${before}${quoted(one)}`);
}

function valuesOf(name, known) {
  if (name === "state") return STATES;
  if (name === "trigger") return TRIGGERS;
  if (name === "since" || name === "until") return TIMES;
  return known[name] ?? [];
}

const quoted = (text) => (/[\s"]/.test(text) ? `"${text.replaceAll('"', "*")}"` : text);

/** The query with this word in the place of the one under the caret; and where the caret stands then. */
export function completed(query, caret, word) {
  const [begin] = wordAt(query, caret);
  const end = /[: >]$/.test(word) ? "" : " ";
  const text = query.slice(0, begin) + word + end;
  return [text + query.slice(caret).replace(/^\S*\s?/, ""), text.length];
}

/** The query that an address means, also one with single filters. */
export function queryOf({ q, state, trigger, job, schedule, queue, since, until, text }) {
  const among = (name, value) => [value].flat().filter(Boolean).length > 0 && `${name}:${[value].flat().map(quoted).join(",")}`;
  const parts = [among("state", state), among("trigger", trigger), among("job", job), among("schedule", schedule), among("queue", queue), among("since", since), among("until", until), text, q];
  return parts.filter(Boolean).join(" ");
}

/** The query with this value of a name; without it, if it has it already and nothing else of that name. */
export function toggled(query, name, value) {
  const words = wordsOf(query);
  const own = words.find((word) => word.startsWith(`${name}:`));
  const rest = words.filter((word) => word !== own);
  const word = `${name}:${quoted(value)}`;
  return (own === word ? rest : [...rest, word]).join(" ");
}

export const has = (query, name, value) => wordsOf(query).includes(`${name}:${quoted(value)}`);

const wordsOf = (query) => query.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];

/** Views that everybody has: [word, query]; last night begins at ten in the evening. */
export function presets(now) {
  const night = new Date(now);
  night.setHours(6, 0, 0, 0);
  if (night > now) night.setDate(night.getDate() - 1);
  const eve = new Date(night.getTime() - 8 * 3_600_000);
  const iso = (date) => date.toISOString().replace(/\.\d+Z$/, "Z");
  return [["Failed, 24 h", "state:failed,lost last 24h"], ["Running", "state:running"], ["Last night", `since:${iso(eve)} until:${iso(night)}`], ["By hand", "trigger:manual"]];
}
