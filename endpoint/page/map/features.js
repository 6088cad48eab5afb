// What of an answer has a place: geometries as well-known text, or pairs of latitude and longitude.

import { columnsOf, coordinatesOf, nameOf, pairOf } from "../answer/columns.js";
import { UnreadGeometry, geometryOf } from "./wkt.js";

const MOST = 2000;

/** Which variables have places: one of well-known text, or two of coordinates; null where none have. */
export function placesOf(vars, rows) {
  const geometry = columnsOf(vars, rows).find(({ kind }) => kind === "place");
  if (geometry !== undefined) return { geometry: geometry.name };
  return coordinatesOf(vars, rows);
}

/**
 * The rows of an answer with their shapes.
 * @returns {{features: {name: string, key: string, shapes: object}[], left: number, problems: string[]}} `left` rows are not
 *   drawn because there are too many; `problems` says of others why they cannot be
 */
export function featuresOf(vars, rows, places, prefixes) {
  const spatial = new Set(Object.values(places));
  const names = vars.filter((name) => !spatial.has(name));
  const features = [];
  const problems = [];
  for (const row of rows.slice(0, MOST)) {
    const shapes = shapesOf(row, places, problems);
    if (shapes !== null) features.push({ name: nameOf(row, names, prefixes) || "here", shapes });
  }
  return { features, left: Math.max(0, rows.length - MOST), problems };
}

function shapesOf(row, places, problems) {
  if (places.geometry === undefined) {
    if (row[places.latitude] === undefined || row[places.longitude] === undefined) return null;
    return { points: [pairOf(row, places)], lines: [], areas: [] };
  }
  if (row[places.geometry] === undefined) return null;
  try {
    return geometryOf(row[places.geometry].value);
  } catch (error) {
    if (!(error instanceof UnreadGeometry)) throw error;
    problems.push(error.message);
    return null;
  }
}

/** All positions of a feature. */
export const positionsOf = ({ points, lines, areas }) => [...points, ...lines.flat(), ...areas.flat(2)];
