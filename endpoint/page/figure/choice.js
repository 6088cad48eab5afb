// Which figure suits an answer: lines over time, bars, a pie or a map; and which of its variables are drawn.

import { columnsOf, coordinatesOf, keyOf, numberOf } from "../answer/columns.js";
import { MOST_BARS } from "../chart/bars.js";
import { areParts } from "../chart/pie.js";
import { MOST_LINES } from "../chart/series.js";
import { placesOf } from "../map/features.js";

export const EVALUATION_TIME = "";
export const ALL = "*";

/** The kinds of figures, in the order in which they are offered. */
export const KINDS = ["lines", "bars", "pie", "map"];

/**
 * What can be drawn of an answer.
 *
 * @param {string[]} vars
 * @param {object[]} rows the solutions that are shown
 * @param {AnswerHistory|null} history those of the evaluations so far, where the query is followed
 * @returns {{kinds: string[], best: string|null, numbers: string[], times: string[], categories: string[], places: object|null}}
 *   `kinds` are those that fit, `best` the one that is chosen unless the person chooses; `times` are what lines may go
 *   along, where EVALUATION_TIME is the time of the evaluation
 */
export function possibilities(vars, rows, history = null) {
  // By all that came, so that the figure stays where an evaluation is empty.
  const all = history === null ? rows : history.rows.concat(rows);
  const columns = columnsOf(vars, all);
  const places = placesOf(vars, all);
  const pair = coordinatesOf(vars, all);
  const spatial = new Set(pair === null ? [] : Object.values(pair));
  const named = (kind) => columns.filter((column) => column.kind === kind && !spatial.has(column.name)).map(({ name }) => name);
  const [numbers, temporal, categories] = [named("number"), named("time"), named("category")];
  const times = [...(history === null ? [] : [EVALUATION_TIME]), ...temporal];
  const values = rows.map((row) => numberOf(row[numbers[0]])).filter((value) => value !== null);
  const several = history !== null || rows.length > 1;
  const fits = {
    lines: numbers.length > 0 && times.length > 0 && several,
    bars: values.length > 0 && categories.length > 0 && several,
    pie: values.length > 1 && categories.length > 0 && areParts(values),
    map: places !== null,
  };
  const kinds = KINDS.filter((kind) => fits[kind]);
  return { kinds, best: bestOf(fits, values), numbers, times, categories, places };
}

function bestOf(fits, values) {
  if (fits.map) return "map";
  if (fits.lines) return "lines";
  const whole = values.reduce((sum, value) => sum + value, 0);
  // Shares say so themselves: they are one, or a hundred percent, together.
  if (fits.pie && [1, 100].some((each) => Math.abs(whole - each) < each * 1e-6)) return "pie";
  return fits.bars && values.length <= 4 * MOST_BARS ? "bars" : null;
}

/** The variables whose values make a line each: as many as leave no more lines than can be told apart. */
export function groupsOf(categories, rows, most = MOST_LINES) {
  const different = (variables) => new Set(rows.map((row) => keyOf(row, variables))).size;
  const groups = [...categories];
  while (groups.length > 1 && different(groups) > most) {
    const counts = groups.map((name) => different([name]));
    groups.splice(counts.indexOf(Math.max(...counts)), 1);
  }
  return groups;
}
