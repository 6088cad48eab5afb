// What the columns of an answer hold: numbers, times, places, and what the rest is told apart by.

import { datatypeOf, isNumeric, shown } from "./terms.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const WKT = "http://www.opengis.net/ont/geosparql#wktLiteral";
const TIMES = new Set(["dateTime", "dateTimeStamp", "date", "gYearMonth", "gYear"].map((name) => XSD + name));
const TIME = /^(-?\d{4,6})(?:-(\d\d)(?:-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?)?)?(Z|[+-]\d\d:\d\d)?$/;

/** Sums and differences of what is smaller are numbers, too. */
const LARGEST = 1e300;

/** The number of a numeric literal; null for any other term, and for INF, NaN and what is as large, which have no place on an axis. */
export function numberOf(term) {
  if (!isNumeric(term)) return null;
  const number = Number(String(term.value).trim());
  return Math.abs(number) < LARGEST && String(term.value).trim() !== "" ? number : null;
}

/** The milliseconds since 1970 of an xsd:dateTime, date, gYearMonth or gYear, UTC where it has no time zone; else null. */
export function timeOf(term) {
  return TIMES.has(datatypeOf(term)) ? instantOf(term.value) : null;
}

/** JavaScript's dates end 8.64e15 ms from 1970, some 273,000 years; an axis goes a little beyond the times along it. */
const FURTHEST = 8.63e15;

/** The milliseconds since 1970 that a lexical form means; null where it is none, or one that is too far for a date here. */
export function instantOf(text) {
  const match = TIME.exec(String(text).trim());
  if (match === null) return null;
  const [, year, month = "1", day = "1", hour = "0", minute = "0", second = "0", fraction = "", zone = "Z"] = match;
  const date = new Date(0);
  // Not Date.UTC, which takes the year 26 for 1926.
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second), Number(fraction.padEnd(3, "0").slice(0, 3)));
  const [hours, minutes] = zone === "Z" ? [0, 0] : zone.slice(1).split(":").map(Number);
  const instant = date.getTime() - (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000;
  return Math.abs(instant) < FURTHEST ? instant : null;
}

const isPlace = (term) => datatypeOf(term) === WKT;

/**
 * The columns of solutions, in their order.
 * @returns {{name: string, kind: "number"|"time"|"place"|"category"|"empty"}[]} what all that is bound in it is;
 *   a category is whatever is nothing else
 */
export function columnsOf(vars, rows) {
  const tests = [["number", (term) => numberOf(term) !== null], ["time", (term) => timeOf(term) !== null], ["place", isPlace]];
  return vars.map((name) => {
    const terms = rows.map((row) => row[name]).filter((term) => term !== undefined);
    if (terms.length === 0) return { name, kind: "empty" };
    return { name, kind: tests.find(([, holds]) => terms.every(holds))?.[0] ?? "category" };
  });
}

const LATITUDE = /^(.*?)_?lat(?:itude)?$/i;
const LONGITUDE = /^(.*?)_?(?:longitude|long|lng|lon)$/i;

const coordinate = (term) => (term?.type === "literal" && String(term.value).trim() !== "" ? Number(term.value) : NaN);

/** The latitude and longitude of a row, in degrees; null where they are not on the Earth. */
export function pairOf(row, { latitude, longitude }) {
  const [x, y] = [coordinate(row[longitude]), coordinate(row[latitude])];
  return Math.abs(x) <= 180 && Math.abs(y) <= 90 ? [x, y] : null;
}

/**
 * The two variables that are latitude and longitude by their names (`lat` and `long`, `fromLatitude` and
 * `fromLongitude`, …) and by their values, in every row that has both; null where there are none.
 */
export function coordinatesOf(vars, rows) {
  for (const latitude of vars) {
    const place = LATITUDE.exec(latitude)?.[1];
    if (place === undefined) continue;
    const longitude = vars.find((name) => LONGITUDE.exec(name)?.[1] === place);
    if (longitude === undefined) continue;
    const both = rows.filter((row) => row[latitude] !== undefined && row[longitude] !== undefined);
    if (both.length > 0 && both.every((row) => pairOf(row, { latitude, longitude }) !== null)) return { latitude, longitude };
  }
  return null;
}

/** What a row is called by some of its variables. */
export function nameOf(row, variables, prefixes) {
  const parts = variables.map((name) => (row[name] === undefined ? "–" : shown(row[name], prefixes).text));
  return parts.map((text) => (text.length > 60 ? `${text.slice(0, 59)}…` : text)).join(" · ");
}

/** The same text for rows that agree in some variables, and for no others. */
export const keyOf = (row, variables) => JSON.stringify(variables.map((name) => row[name] ?? null));
