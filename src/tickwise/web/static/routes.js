/** Addresses of pages: `#/schedules?text=etl`, below wherever the dashboard is served. */

/** The address of a page; parts are names, whatever letters they have. */
export function to(parts, query = {}) {
  const path = [parts].flat().map(encodeURIComponent).join("/");
  const asked = searched(query);
  return `#/${path}${asked ? `?${asked}` : ""}`;
}

/** Where we are. */
export function here() {
  const [path, asked = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const query = {};
  for (
    const [name, value] of new URLSearchParams(asked)
  ) query[name] = name in query ? [query[name], value].flat() : value;
  return { parts: path.split("/").filter(Boolean).map(decoded), query };
}

/** Write filters into the address without leaving the page. */
export function setQuery(query) {
  const { parts } = here();
  history.replaceState(null, "", to(parts, query));
}

/** Change some filters, in the address as well. */
export function refine(query, changes) {
  Object.assign(query, changes);
  for (const name of Object.keys(query)) if (query[name] === "" || query[name] === undefined) delete query[name];
  setQuery(query);
}

export const go = (parts, query) => (location.hash = to(parts, query));

function searched(query) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") asked.append(name, one);
  }
  return asked.toString();
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign
  }
}
