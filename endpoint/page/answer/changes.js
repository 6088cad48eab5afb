// What is different between one answer and the next: rows are known again by what in them is no number.

import { keyOf, numberOf } from "./columns.js";

/**
 * Compares the rows of an answer with those of the one before.
 * @param {string[]} vars the variables of both
 * @returns {{rows: {kind: "same"|"new"|"changed", cells: Map<string, "up"|"down"|"other">}[], gone: object[]}} for
 *   each row what it is, with the cells of it that changed; and the rows that are there no more
 */
export function changes(vars, before, after) {
  const names = vars.filter((name) => [...before, ...after].some((row) => row[name] !== undefined && numberOf(row[name]) === null));
  const known = identified(before, names);
  const now = identified(after, names);
  // Where names do not tell rows apart, nobody can say which row became which.
  const variables = known === null || now === null ? vars : names;
  const old = byKey(before, variables);
  const rows = after.map((row) => {
    const earlier = old.get(keyOf(row, variables))?.pop();
    if (earlier === undefined) return { kind: "new", cells: new Map() };
    const cells = new Map(vars.map((name) => [name, change(earlier[name], row[name])]).filter(([, how]) => how !== null));
    return { kind: cells.size === 0 ? "same" : "changed", cells };
  });
  return { rows, gone: [...old.values()].flat() };
}

function identified(rows, names) {
  const keys = byKey(rows, names);
  return keys.size === rows.length ? keys : null;
}

function byKey(rows, variables) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row, variables);
    if (found.has(key)) found.get(key).push(row);
    else found.set(key, [row]);
  }
  return found;
}

function change(before, after) {
  if (JSON.stringify(before) === JSON.stringify(after)) return null;
  const [from, to] = [numberOf(before), numberOf(after)];
  if (from === null || to === null) return "other";
  return to > from ? "up" : to < from ? "down" : null;
}

/** The changes in words: `2 changed, 1 new, 3 gone`; "nothing has changed" where nothing has. */
export function changeWords({ rows, gone }) {
  const count = (kind) => rows.filter((row) => row.kind === kind).length;
  const counts = [[count("changed"), "changed"], [count("new"), "new"], [gone.length, "gone"]];
  const said = counts.filter(([n]) => n > 0).map(([n, word]) => `${n.toLocaleString("en")} ${word}`);
  return said.length === 0 ? "nothing has changed" : said.join(", ");
}
