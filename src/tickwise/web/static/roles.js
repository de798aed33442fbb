/** What a role allows, and the scopes that limit it, such as `team-a.*` and `viewer:*`. */

const RANKS = ["viewer", "operator", "admin"];

/** Whether a person may do what this role may: to a job, if one is named; else to any. */
export const allows = (person, role, job) =>
  patternsOf(person, role).some((pattern) => pattern === "*" || job === undefined || matches(pattern, job));

/** Whether they may do it to everything. */
export const allowsAll = (person, role) => patternsOf(person, role).includes("*");

/** Patterns of the jobs to which they may do what the role may. */
function patternsOf({ role: own, scopes }, role) {
  const given = scopes.length ? scopes.map((scope) => scope.split(":").reverse()) : [["*"]];
  return given.filter(([, named = own]) => RANKS.indexOf(named) >= RANKS.indexOf(role)).map(([pattern]) => pattern);
}

function matches(pattern, name) {
  const text = pattern.replace(/[^*?]/g, (letter) => (/\w/.test(letter) ? letter : `\\${letter}`));
  return new RegExp(`^${text.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(name);
}
