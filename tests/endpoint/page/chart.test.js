import assert from "node:assert/strict";
import { test } from "node:test";

import { changeWords, changes } from "../../../endpoint/page/answer/changes.js";
import { columnsOf, coordinatesOf, instantOf, numberOf, timeOf } from "../../../endpoint/page/answer/columns.js";
import { AnswerHistory } from "../../../endpoint/page/chart/history.js";
import { areParts, slicesOf } from "../../../endpoint/page/chart/pie.js";
import { instantWords, instantsWords, numberScale, timeScale, valueWords } from "../../../endpoint/page/chart/scale.js";
import { categoriesOf, foremost, linesOf, pieces } from "../../../endpoint/page/chart/series.js";
import { EVALUATION_TIME, groupsOf, possibilities } from "../../../endpoint/page/figure/choice.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NONE = new Map();
const number = (value) => ({ type: "literal", value: String(value), datatype: `${XSD}decimal` });
const text = (value) => ({ type: "literal", value });
const dateTime = (value) => ({ type: "literal", value, datatype: `${XSD}dateTime` });

// A generator that gives the same numbers each time (mulberry32), so that what fails once fails again.
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("a number is a numeric literal that has a place on an axis", () => {
  assert.equal(numberOf(number("-1.5e3")), -1500);
  assert.equal(numberOf({ type: "literal", value: "INF", datatype: `${XSD}double` }), null);
  assert.equal(numberOf(number("NaN")), null);
  assert.equal(numberOf(number("")), null);
  assert.equal(numberOf(text("1")), null);
  assert.equal(numberOf(undefined), null);
});

test("a time is what its lexical form means, with its time zone, in all years", () => {
  assert.equal(instantOf("1970-01-01T00:00:01.5Z"), 1500);
  assert.equal(instantOf("1970-01-01T02:00:00+02:00"), 0);
  assert.equal(instantOf("1969-12-31T22:30:00-01:30"), 0);
  assert.equal(instantOf("1970-01-01T00:00:00.0019Z"), 1);
  assert.equal(new Date(instantOf("0026-03-01T00:00:00Z")).getUTCFullYear(), 26);
  assert.equal(timeOf({ type: "literal", value: "2026-03", datatype: `${XSD}gYearMonth` }), Date.UTC(2026, 2, 1));
  assert.equal(timeOf(text("2026-03-01T00:00:00Z")), null);
  assert.equal(timeOf(dateTime("soon")), null);
  // Dates of JavaScript end before: such a time stays text, and an axis of times that are nearly as far has its words.
  assert.equal(timeOf(dateTime("300000-01-01T00:00:00Z")), null);
  assert.equal(timeOf(dateTime("275760-09-13T00:00:00+14:00")), null);
  const far = timeOf(dateTime("-271000-01-01T00:00:00Z"));
  const { ticks, words } = timeScale(far, far, 5);
  assert.ok(ticks.length > 0 && ticks.map(words).every((each) => each.length > 0));
});

test("a column is what all that is bound in it is", () => {
  const rows = [{ n: number(1), t: dateTime("2026-01-01T00:00:00Z"), c: number(1) }, { n: number(2), c: text("x") }];
  assert.deepEqual(columnsOf(["n", "t", "c", "e"], rows).map(({ kind }) => kind), ["number", "time", "category", "empty"]);
});

test("latitude and longitude are known by their names together with their values", () => {
  const row = (names, x, y) => ({ [names[0]]: number(y), [names[1]]: number(x) });
  for (const names of [["lat", "long"], ["Latitude", "lng"], ["from_lat", "from_lon"], ["placeLatitude", "placeLongitude"]]) {
    assert.deepEqual(coordinatesOf(names, [row(names, 8.4, 49)]), { latitude: names[0], longitude: names[1] });
  }
  assert.equal(coordinatesOf(["lat", "long"], [row(["lat", "long"], 8.4, 91)]), null);
  assert.equal(coordinatesOf(["flat", "long"], [row(["flat", "long"], 8.4, 49)]), null);
  assert.equal(coordinatesOf(["lat", "long"], []), null);
});

test("rows are known again by what is no number, and their cells say how they changed", () => {
  const row = (name, a, b) => ({ name: text(name), a: number(a), b: text(b) });
  const before = [row("x", 1, "p"), row("y", 5, "p"), row("z", 3, "p")];
  const after = [row("y", 4, "p"), row("x", 1, "p"), row("w", 9, "p")];
  const found = changes(["name", "a", "b"], before, after);
  assert.deepEqual(found.rows.map(({ kind, cells }) => [kind, [...cells]]), [["changed", [["a", "down"]]], ["same", []], ["new", []]]);
  assert.deepEqual(found.gone.map((each) => each.name.value), ["z"]);
  assert.equal(changeWords(found), "1 changed, 1 new, 1 gone");
  assert.equal(changeWords(changes(["name"], before, before)), "nothing has changed");
});

test("where names do not tell rows apart, rows are the same, new or gone as a whole", () => {
  const rows = (...values) => values.map((value) => ({ n: number(value) }));
  const found = changes(["n"], rows(1, 1, 2), rows(1, 2, 2));
  assert.deepEqual(found.rows.map(({ kind }) => kind), ["same", "same", "new"]);
  assert.deepEqual(found.gone, rows(1));
});

test("ticks are round, at most a little more than asked for, and enclose the values", () => {
  const next = random(7);
  for (let i = 0; i < 2000; i += 1) {
    const size = 10 ** (next() * 20 - 8);
    const [a, b] = [(next() - 0.5) * size, (next() - 0.5) * size];
    const count = 2 + Math.floor(next() * 8);
    const { low, high, ticks, words } = numberScale(Math.min(a, b), Math.max(a, b), count);
    assert.ok(low <= Math.min(a, b) + size * 1e-9 && high >= Math.max(a, b) - size * 1e-9);
    assert.ok(ticks.length >= 2 && ticks.length <= count + 2, `${ticks.length} of ${count}`);
    assert.equal(new Set(ticks.map(words)).size, ticks.length, `${ticks.map(words)}`);
  }
});

test("an axis has zero where it is not far, and room around one value", () => {
  assert.equal(numberScale(3, 98, 5).low, 0);
  assert.ok(numberScale(95, 98, 5).low > 90);
  assert.equal(numberScale(95, 98, 5, true).low, 0);
  assert.equal(numberScale(-98, -3, 5).high, 0);
  for (const value of [0, 5, -5, 1e-9]) {
    const { low, high } = numberScale(value, value, 5);
    assert.ok(low <= value && value <= high && low < high);
  }
});

test("values that differ by what doubles lose are one value, and those at the end of doubles have an axis", () => {
  for (const [least, most] of [[-192, -191.99999999999997], [21.3, 21.300000000000004], [1e17, 1e17 + 16], [5e-324, 5e-324], [0, 3e-320], [-9e299, 9e299]]) {
    const { low, high, ticks, words } = numberScale(least, most, 8);
    assert.ok(Number.isFinite(low) && Number.isFinite(high) && low < high, `${low}, ${high}`);
    assert.ok(low <= least && most <= high, `${low}, ${high}`);
    assert.equal(new Set(ticks.map(words)).size, ticks.length, `${ticks.map(words)}`);
    assert.ok(ticks.every((tick) => words(tick).length < 12), `${ticks.map(words)}`);
  }
  assert.equal(numberOf(number("1e300")), null);
});

test("times have ticks at round times, whatever the span", () => {
  const next = random(11);
  const start = Date.UTC(2026, 0, 1);
  for (let i = 0; i < 2000; i += 1) {
    const low = start + Math.floor((next() - 0.5) * 1e13);
    const span = Math.floor(10 ** (next() * 12.5)) + 1;
    const { ticks, words } = timeScale(low, low + span, 6);
    assert.ok(ticks.length <= 13, `${ticks.length} ticks in ${span} ms`);
    assert.ok(ticks.every((tick) => tick >= low && tick <= low + span));
    assert.ok(ticks.every((tick) => words(tick).length > 0));
    const days = ticks.map(words).filter((each) => !each.includes(":"));
    assert.equal(new Set(days).size, days.length, `${days}`);
  }
  const { ticks, words } = timeScale(start, start + 50_000, 5);
  assert.deepEqual(ticks.map(words), ["00:00:00", "00:00:10", "00:00:20", "00:00:30", "00:00:40", "00:00:50"]);
  const years = timeScale(start, start + 4 * 365.25 * 86_400_000, 5);
  assert.deepEqual(years.ticks.map(years.words), ["2026", "2027", "2028", "2029", "2030"]);
});

test("values and instants are short", () => {
  assert.deepEqual([0, 12, 1234567, 21.456, 1234.56, 0.00001234, 1e18].map(valueWords), ["0", "12", "1,234,567", "21.46", "1,234.6", "1.234e-5", "1.000e+18"]);
  const now = Date.UTC(2026, 2, 1, 12);
  assert.equal(instantWords(now + 125, now), "12:00:00.125");
  assert.equal(instantWords(0, now), "1970-01-01 00:00:00");
  const year = instantOf("2000");
  assert.equal(instantsWords([year, instantOf("2001-02-03")])(year), "2000-01-01");
  assert.equal(instantsWords([year, year + 1])(year), "2000-01-01 00:00:00 UTC");
});

const evaluation = (time, values) => ({ time, rows: Object.entries(values).map(([name, value]) => ({ name: text(name), n: number(value) })) });
const choice = { over: null, values: ["n"], groups: ["name"] };

test("a line is a group's values over the evaluations, several at once their mean", () => {
  const lines = linesOf([evaluation(0, { a: 1, b: 2 }), evaluation(5, { a: 3 })], choice, NONE);
  assert.deepEqual(lines.map(({ name, points }) => [name, points.map(({ time, value }) => [time, value])]), [["a", [[0, 1], [5, 3]]], ["b", [[0, 2]]]]);
  const [mean] = linesOf([evaluation(0, { a: 1, b: 2 })], { ...choice, groups: [] }, NONE);
  assert.deepEqual([mean.name, mean.points], ["n", [{ time: 0, value: 1.5, count: 2 }]]);
});

test("a line is broken where an evaluation had none of it, unless answers are changes", () => {
  const [line] = linesOf([evaluation(0, { a: 1 }), evaluation(1, { a: 2 }), evaluation(3, { a: 3 })], choice, NONE);
  assert.deepEqual(pieces(line, [0, 1, 2, 3], false).map(({ length }) => length), [2, 1]);
  assert.deepEqual(pieces(line, [0, 1, 2, 3], true).map(({ length }) => length), [3]);
});

test("of many lines those that came last are drawn, in the order of their names", () => {
  const evaluations = Array.from({ length: 30 }, (_, i) => evaluation(i, { [`g${i}`]: i }));
  const names = foremost(linesOf(evaluations, choice, NONE), 3).map(({ name }) => name);
  assert.deepEqual(names, ["g27", "g28", "g29"]);
});

test("a history is bounded in evaluations and in rows, and takes nothing twice", () => {
  const history = new AnswerHistory();
  for (let i = 0; i < 1000; i += 1) history.take(i, ["n"], [{ n: number(i) }]);
  history.take(999, ["n"], [{ n: number(0) }]);
  assert.equal(history.evaluations.length, 300);
  assert.equal(history.evaluations.at(-1).rows[0].n.value, "999");
  for (let i = 0; i < 10; i += 1) history.take(1000 + i, ["n"], Array.from({ length: 5000 }, () => ({ n: number(i) })));
  assert.equal(history.evaluations.length, 2);
});

test("categories are added up, and a pie has few slices and no negative ones", () => {
  const rows = evaluation(0, Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`g${i}`, i]))).rows;
  const categories = categoriesOf([...rows, rows[5]], { value: "n", groups: ["name"] }, NONE);
  assert.equal(categories.find(({ name }) => name === "g5").value, 10);
  const slices = slicesOf(categories);
  assert.deepEqual([slices.length, slices[0].name, slices.at(-1).name], [8, "g19", "13 others"]);
  assert.equal(slices.reduce((sum, { value }) => sum + value, 0), 195);
  assert.ok(areParts([0, 1]) && !areParts([-1, 2]) && !areParts([0, 0]));
});

const history = (evaluations) => {
  const made = new AnswerHistory();
  for (const { time, rows } of evaluations) made.take(time, ["name", "n"], rows);
  return made;
};

test("the figure that fits is chosen", () => {
  const { rows } = evaluation(0, { a: 1, b: 2 });
  const best = (...given) => possibilities(...given).best;
  assert.equal(best(["name", "n"], rows), "bars");
  assert.equal(best(["name", "n"], evaluation(0, { a: 40, b: 60 }).rows), "pie");
  assert.equal(best(["name", "n"], rows, history([evaluation(0, { a: 1 })])), "lines");
  assert.equal(best(["name"], rows), null);
  assert.equal(best(["n"], rows), null);
  const dated = rows.map((row, i) => ({ ...row, t: dateTime(`2026-01-0${i + 1}T00:00:00Z`) }));
  assert.equal(best(["name", "n", "t"], dated), "lines");
  assert.deepEqual(possibilities(["name", "n", "t"], dated).times, ["t"]);
  assert.deepEqual(possibilities(["name", "n"], rows, history([])).times, [EVALUATION_TIME]);
  const placed = rows.map((row) => ({ ...row, lat: number(49), long: number(8) }));
  assert.equal(best(["name", "n", "lat", "long"], placed), "map");
  assert.deepEqual(possibilities(["name", "n", "lat", "long"], placed).numbers, ["n"]);
});

test("lines are grouped by as many variables as leave them few", () => {
  const rows = Array.from({ length: 40 }, (_, i) => ({ id: text(`o${i}`), room: text(`r${i % 3}`), floor: text(`f${i % 2}`) }));
  assert.deepEqual(groupsOf(["id", "room", "floor"], rows), ["room", "floor"]);
  assert.deepEqual(groupsOf(["id"], rows), ["id"]);
  assert.deepEqual(groupsOf([], rows), []);
});
