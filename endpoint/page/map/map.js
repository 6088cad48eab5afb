// A map without a ground: shapes between lines of longitude and latitude, and how far a stretch of it is.

import { drawn } from "../dom.js";
import { numberScale } from "../chart/scale.js";
import { positionsOf } from "./features.js";

const HEIGHT = 360;
const MARGIN = { left: 52, right: 16, top: 12, bottom: 26 };
const LEAST_SPAN = 0.002;
const KILOMETRES_A_DEGREE = 111.32;

/** The bounds [west, south, east, north] of features, and of the bounds before, so that a map that moves does not jump. */
export function boundsOf(features, before = null) {
  let [west, south, east, north] = before ?? [Infinity, Infinity, -Infinity, -Infinity];
  for (const { shapes } of features) {
    for (const [x, y] of positionsOf(shapes)) {
      [west, east] = [Math.min(west, x), Math.max(east, x)];
      [south, north] = [Math.min(south, y), Math.max(north, y)];
    }
  }
  return west <= east ? [west, south, east, north] : null;
}

/** Where degrees lie on a drawing: a plate carrée that is true to scale in the middle of the bounds. */
export function projection([west, south, east, north], width, height) {
  const [longitude, latitude] = [(west + east) / 2, (south + north) / 2];
  const squeeze = Math.max(0.05, Math.cos((latitude * Math.PI) / 180));
  const room = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const span = [Math.max(east - west, LEAST_SPAN) * squeeze * 1.12, Math.max(north - south, LEAST_SPAN) * 1.12];
  const scale = Math.min(room[0] / span[0], room[1] / span[1]);
  const [x, y] = [MARGIN.left + room[0] / 2, MARGIN.top + room[1] / 2];
  return {
    x: (degrees) => x + (degrees - longitude) * squeeze * scale,
    y: (degrees) => y - (degrees - latitude) * scale,
    // What the whole drawing shows, more than the bounds.
    west: longitude - room[0] / 2 / squeeze / scale,
    east: longitude + room[0] / 2 / squeeze / scale,
    south: latitude - room[1] / 2 / scale,
    north: latitude + room[1] / 2 / scale,
    pixelsAKilometre: scale / KILOMETRES_A_DEGREE,
  };
}

/**
 * @param {object[]} features (map/features.js)
 * @param {{width: number, bounds: number[]}} look
 * @returns a drawing (figure/surface.js)
 */
export function mapDrawing(features, { width, bounds }) {
  const place = projection(bounds, width, HEIGHT);
  const { x, y } = place;
  const nodes = [...graticule(place, width)];
  const d = (line) => line.map(([lon, lat], i) => `${i === 0 ? "M" : "L"}${x(lon).toFixed(1)} ${y(lat).toFixed(1)}`).join("");
  const kinds = [
    ["areas", (rings) => drawn("path", { class: "area tone-0", d: `${rings.map(d).join("Z")}Z` })],
    ["lines", (line) => drawn("path", { class: "line tone-0", d: d(line) })],
    ["points", ([lon, lat]) => drawn("circle", { class: "place tone-0", cx: x(lon).toFixed(1), cy: y(lat).toFixed(1), r: 5 })],
  ];
  // Areas first: nothing lies hidden below them.
  for (const [kind, shape] of kinds) {
    for (const { name, shapes } of features) {
      for (const each of shapes[kind]) {
        const made = shape(each);
        made.append(drawn("title", {}, name));
        nodes.push(made);
      }
    }
  }
  const stops = features.map(({ name, shapes }) => {
    const all = positionsOf(shapes);
    const middle = [0, 1].map((i) => all.reduce((sum, position) => sum + position[i], 0) / Math.max(1, all.length));
    const dot = { x: x(middle[0]), y: y(middle[1]), tone: "tone-1" };
    const text = all.length === 0 ? "nowhere" : degreesWords(middle);
    return { x: dot.x, y: dot.y, title: name, dots: all.length === 0 ? [] : [dot], values: [{ key: name, name: "", text }] };
  });
  const summary = `A map of ${features.length} ${features.length === 1 ? "solution" : "solutions"}, from ${degreesWords([bounds[0], bounds[1]])} to ${degreesWords([bounds[2], bounds[3]])}.`;
  return { width, height: HEIGHT, nodes, stops, nearest: "xy", summary };
}

function degreesWords([longitude, latitude]) {
  return `${Math.abs(latitude).toFixed(4)}° ${latitude < 0 ? "S" : "N"}, ${Math.abs(longitude).toFixed(4)}° ${longitude < 0 ? "W" : "E"}`;
}

function* graticule(place, width) {
  const floor = HEIGHT - MARGIN.bottom;
  const right = width - MARGIN.right;
  const side = (value, letters) => (Math.abs(value) < 1e-9 ? "" : value < 0 ? letters[0] : letters[1]);
  const [west, east] = [Math.max(-180, place.west), Math.min(180, place.east)];
  const across = numberScale(west, east, Math.floor(width / 110), false);
  for (const tick of across.ticks.filter((each) => each >= west && each <= east)) {
    const x = place.x(tick);
    yield drawn("line", { class: "grid", x1: x, x2: x, y1: MARGIN.top, y2: floor });
    const words = `${across.words(Math.abs(tick))}° ${side(tick, "WE")}`;
    yield drawn("text", { class: "tick", x, y: HEIGHT - 8, "text-anchor": "middle" }, words);
  }
  const [south, north] = [Math.max(-90, place.south), Math.min(90, place.north)];
  const up = numberScale(south, north, 6, false);
  for (const tick of up.ticks.filter((each) => each >= south && each <= north)) {
    const y = place.y(tick);
    yield drawn("line", { class: "grid", x1: MARGIN.left, x2: right, y1: y, y2: y });
    yield drawn("text", { class: "tick", x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, `${up.words(Math.abs(tick))}° ${side(tick, "SN")}`);
  }
  const kilometres = numberScale(0, 90 / place.pixelsAKilometre, 1, true).high;
  const length = kilometres * place.pixelsAKilometre;
  const words = kilometres < 1 ? `${Math.round(kilometres * 1000)} m` : `${kilometres.toLocaleString("en")} km`;
  yield drawn("path", { class: "scale", d: `M${right - length - 8} ${floor - 13}v5h${length}v-5` });
  yield drawn("text", { class: "tick", x: right - 8, y: floor - 18, "text-anchor": "end" }, words);
}
