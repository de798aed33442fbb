/** Values as the lines of a job file: each a list of pieces [text, kind], so that keys and values can differ in colour. */

import { Exact } from "./exactjson.js";

const PLAIN = /^[A-Za-z_./][A-Za-z0-9_./@:+'(),%=;-]*(?: [A-Za-z0-9_./@+'(),%=;-]+)*$/;
const DURATION = /^(?:\d+[smhd])+$/;
const NAME = /^[A-Za-z][\w.-]*$/;
const SHORT = 60; // letters of a list on one line
const WORDS = new Set(["true", "false", "null", "yes", "no", "on", "off", "~"]);

export const yamlLines = (value) => linesOf(value, 0);

const isNested = (value) => value !== null && typeof value === "object" && !(value instanceof Exact) && Object.keys(value).length > 0;

/** Whether a text can stand as lines below its key. */
const isBlock = (text) => text.includes("\n") && !/^\s|\n\n$|[^\P{C}\n\t]/u.test(text);

/** Whether a list is names that fit on a line. */
const isShort = (list) => list.length > 0 && list.every((one) => typeof one === "string" && NAME.test(one) && !WORDS.has(one.toLowerCase())) && list.join(", ").length < SHORT;

function linesOf(value, depth) {
  if (Array.isArray(value)) return value.flatMap((one) => listItem(one, depth));
  return Object.entries(value).flatMap(([key, one]) => entry(key, one, depth));
}

function entry(key, value, depth) {
  const named = [[" ".repeat(depth), ""], [spelled(key), "key"], [":", "mark"]];
  if (value === undefined) return [];
  if (Array.isArray(value) && isShort(value)) return [[...named, [" [", "mark"], ...value.flatMap((one, place) => [[place ? ", " : "", "mark"], [one, "text"]]), ["]", "mark"]]];
  if (isNested(value)) return [named, ...linesOf(value, depth + 2)];
  if (typeof value === "string" && isBlock(value)) {
    const lines = value.replace(/\n$/, "").split("\n").map((line) => [[" ".repeat(depth + 2) + line, "text"]]);
    return [[...named, [value.endsWith("\n") ? " |" : " |-", "mark"]], ...lines];
  }
  return [[...named, [" ", ""], scalar(value)]];
}

function listItem(value, depth) {
  const mark = [[" ".repeat(depth), ""], ["- ", "mark"]];
  if (!isNested(value)) return [[...mark, scalar(value)]];
  const [first, ...rest] = linesOf(value, depth + 2);
  return [[...mark, ...first.slice(1)], ...rest];
}

function scalar(value) {
  if (value instanceof Exact) return [value.digits, "number"];
  if (typeof value === "number") return [String(value), "number"];
  if (typeof value === "string") return [spelled(value), "text"];
  return [value === null ? "null" : Array.isArray(value) ? "[]" : typeof value === "object" ? "{}" : String(value), "word"];
}

/** A text as it may stand: plain if no reader could take it for something else. */
function spelled(text) {
  const isPlain = PLAIN.test(text) && !WORDS.has(text.toLowerCase()) && !/:(?: |$)/.test(text);
  return isPlain || DURATION.test(text) ? text : JSON.stringify(text);
}
