// From solutions to what is drawn: points in lines, a line each group and variable; or one value each category.

import { keyOf, nameOf, numberOf, timeOf } from "../answer/columns.js";

export const MOST_LINES = 12;

/**
 * The lines over evaluation time, or over a variable of times.
 *
 * Several rows of one group at one time are one point, their mean, and `count` says how many they were.
 * @param {{time: number|null, rows: object[]}[]} evaluations
 * @param {{over: string|null, values: string[], groups: string[]}} choice `over`: a variable, or null for the time of
 *   the evaluation
 * @returns {{key: string, group: string, name: string, points: {time: number, value: number, count: number}[]}[]}
 *   points in the order of their times
 */
export function linesOf(evaluations, { over, values, groups }, prefixes) {
  const lines = new Map();
  for (const { time, rows } of evaluations) {
    for (const row of rows) {
      const at = over === null ? time : timeOf(row[over]);
      if (at !== null) place(lines, row, at, values, groups, prefixes);
    }
  }
  return [...lines.values()].map(({ sums, ...line }) => {
    const times = [...sums].sort(([a], [b]) => a - b);
    return { ...line, points: times.map(([time, { sum, count }]) => ({ time, value: sum / count, count })) };
  });
}

function place(lines, row, time, values, groups, prefixes) {
  const group = keyOf(row, groups);
  for (const variable of values) {
    const value = numberOf(row[variable]);
    if (value === null) continue;
    const key = `${variable} ${group}`;
    let line = lines.get(key);
    if (line === undefined) {
      const called = groups.length === 0 ? "" : nameOf(row, groups, prefixes);
      const name = called === "" ? variable : values.length > 1 ? `${called}, ${variable}` : called;
      line = { key, group, name, sums: new Map() };
      lines.set(key, line);
    }
    const sum = line.sums.get(time) ?? { sum: 0, count: 0 };
    line.sums.set(time, { sum: sum.sum + value, count: sum.count + 1 });
  }
}

/** At most so many lines: those that have come last, in the order of their names. */
export function foremost(lines, most = MOST_LINES) {
  const latest = [...lines].sort((a, b) => b.points.at(-1).time - a.points.at(-1).time).slice(0, most);
  return latest.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

/**
 * The times at which some line has a point, and where a line is broken.
 *
 * A line is broken where an evaluation had no row of its group; `joined` leaves it whole, for answers that are
 * changes (ISTREAM, DSTREAM), where no row says that nothing has changed.
 * @returns {{time: number, value: number}[][]} the pieces of a line
 */
export function pieces(line, times, joined) {
  if (joined) return [line.points];
  const at = new Map(times.map((time, i) => [time, i]));
  const found = [];
  let last = -2;
  for (const point of line.points) {
    const i = at.get(point.time);
    if (i !== last + 1) found.push([]);
    found.at(-1).push(point);
    last = i;
  }
  return found;
}

/** One value a category: rows that agree in `groups` are added up. */
export function categoriesOf(rows, { value, groups }, prefixes) {
  const found = new Map();
  for (const row of rows) {
    const number = numberOf(row[value]);
    if (number === null) continue;
    const key = keyOf(row, groups);
    const one = found.get(key) ?? { key, name: groups.length === 0 ? value : nameOf(row, groups, prefixes), value: 0 };
    one.value += number;
    found.set(key, one);
  }
  return [...found.values()];
}
