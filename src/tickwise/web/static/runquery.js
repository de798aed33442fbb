/** The query of the list of runs: its words, what may come next, and what old addresses mean. */

const STATES = "queued running succeeded failed skipped cancelled expired lost".split(" ");
const TRIGGERS = "schedule catchup restart backfill manual enqueue".split(" ");
const NAMES = ["state", "job", "schedule", "queue", "trigger", "since", "until"];
const FIELDS = [...NAMES.map((name) => `${name}:`), "last "];
const SEVERAL = new Set(["state"]);
const UNITS = { s: 1, m: 60, h: 3600, d: 86_400 };
const TIMES = ["1h", "12h", "24h", "7d"];

/** The word in which the caret stands: [its beginning, its text]. */
export function wordAt(query, caret) {
  const begin = query.slice(0, caret).search(/\S*$/);
  return [begin, query.slice(begin, caret)];
}

/** What may be meant by the word under the caret. */
export function completions(query, caret) {
  const [begin, word] = wordAt(query, caret);
  if (/\blast\s*$/.test(query.slice(0, begin))) return TIMES.filter((one) => one.startsWith(word));
  const bare = word.replace(/^-/, "");
  const minus = word.slice(0, word.length - bare.length);
  const [name, ...rest] = bare.split(":");
  if (!rest.length) return bare || begin === caret ? FIELDS.filter((one) => one.startsWith(bare) && one !== bare).map((one) => minus + one) : [];
  const given = rest.join(":");
  const [last] = given.split(",").slice(-1);
  const before = given.slice(0, given.length - last.length);
  return valuesOf(name).filter((one) => one.startsWith(last) && one !== last).slice(0, 12).map((one) => `${minus}${name}:${before}${quoted(one)}`);
}

function valuesOf(name) {
  if (name === "state") return STATES;
  if (name === "trigger") return TRIGGERS;
  if (name === "since" || name === "until") return TIMES;
  return [];
}

const quoted = (text) => (/[\s"]/.test(text) ? JSON.stringify(text) : text);

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

/** The query as single filters of the API; throws what is wrong with it. */
export function filtersOf(q, now) {
  const filters = {};
  const text = [];
  const words = q.replace(/\blast\s+(\S+)/g, "since:$1").match(/(?:[^\s"]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  for (const word of words) {
    const found = /^([a-z]+):(.+)$/.exec(word);
    if (!found) text.push(word.replace(/^"(.*)"$/, "$1"));
    else if (!NAMES.includes(found[1])) throw new QueryProblem(`there is no filter ${found[1]}: use ${NAMES.join(", ")}`);
    else filters[found[1]] = valueOf(found[1], found[2].replace(/^"(.*)"$/, "$1"), now);
  }
  return { ...filters, text: text.join(" ") };
}

class QueryProblem extends Error {
  status = 422;
}

function valueOf(name, value, now) {
  if (name === "since" || name === "until") return instantOf(value, now);
  const values = value.split(",");
  if (values.length > 1 && !SEVERAL.has(name)) throw new QueryProblem(`${name}: takes one value`);
  return SEVERAL.has(name) ? values : value;
}

function instantOf(value, now) {
  const length = /^(\d+)([smhd])$/.exec(value);
  const instant = length ? new Date(now - Number(length[1]) * UNITS[length[2]] * 1000) : new Date(value);
  if (Number.isNaN(instant.getTime())) throw new QueryProblem(`${value} is no time: write 12h, or 2026-11-18T17:00Z`);
  return instant.toISOString();
}

/** Views that everybody has: [word, query]; last night begins at ten in the evening. */
export function presets(now) {
  const night = new Date(now);
  night.setHours(6, 0, 0, 0);
  if (night > now) night.setDate(night.getDate() - 1);
  const eve = new Date(night.getTime() - 8 * 3_600_000);
  const iso = (date) => date.toISOString().replace(/\.\d+Z$/, "Z");
  return [["Failed, 24 h", "state:failed,lost last 24h"], ["Running", "state:running"], ["Last night", `since:${iso(eve)} until:${iso(night)}`], ["By hand", "trigger:manual"]];
}
