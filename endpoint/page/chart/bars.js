// A chart of bars: one a category, the names beside them.

import { drawn } from "../dom.js";
import { widthOf } from "./frame.js";
import { numberScale, valueWords } from "./scale.js";

export const MOST_BARS = 24;
const ROW = 26;
const TOP = 8;
const BOTTOM = 24;

/**
 * @param {{key: string, name: string, value: number}[]} categories at most MOST_BARS of them are drawn
 * @param {{width: number}} look
 * @returns a drawing (figure/surface.js)
 */
export function barsChart(categories, { width }) {
  const shown = categories.slice(0, MOST_BARS);
  const values = shown.map(({ value }) => value);
  const height = TOP + shown.length * ROW + BOTTOM;
  const scale = numberScale(Math.min(...values), Math.max(...values), Math.max(2, Math.floor(width / 130)), true);
  const longest = Math.max(...shown.map(({ name }) => widthOf(name)));
  const left = Math.min(longest + 12, width * 0.4);
  const letters = Math.floor((left - 12) / widthOf("x"));
  // The words beside the longest bar need room, too.
  const right = width - Math.max(...values.map((value) => widthOf(valueWords(value)))) - 12;
  const x = (value) => left + ((value - scale.low) / (scale.high - scale.low)) * (right - left);
  const floor = height - BOTTOM;
  const nodes = [];
  let free = -Infinity;
  for (const tick of scale.ticks) {
    const half = widthOf(scale.words(tick)) / 2;
    nodes.push(drawn("line", { class: tick === 0 ? "axis" : "grid", x1: x(tick), x2: x(tick), y1: TOP, y2: floor }));
    if (x(tick) - half < free || x(tick) + half > width) continue;
    free = x(tick) + half + 10;
    nodes.push(drawn("text", { class: "tick", x: x(tick), y: height - 7, "text-anchor": "middle" }, scale.words(tick)));
  }
  const stops = shown.map(({ key, name, value }, i) => {
    const y = TOP + i * ROW;
    const [from, to] = [Math.min(x(0), x(value)), Math.max(x(0), x(value))];
    const text = name.length > letters ? `${name.slice(0, Math.max(1, letters - 1))}…` : name;
    nodes.push(
      drawn("text", { class: "name", x: left - 8, y: y + ROW / 2 + 4, "text-anchor": "end" }, text, drawn("title", {}, name)),
      drawn("rect", { class: "bar tone-0", x: from, y: y + 4, width: Math.max(1, to - from), height: ROW - 8, rx: 2 }),
      drawn("text", { class: "tick", x: Math.max(to, x(0)) + 6, y: y + ROW / 2 + 4 }, valueWords(value)),
    );
    return { x: to, y: y + ROW / 2, title: name, dots: [{ x: to, y: y + ROW / 2, tone: "tone-0" }], values: [{ key, name: "", text: valueWords(value) }] };
  });
  const summary = `${shown.length} bars, values from ${valueWords(Math.min(...values))} to ${valueWords(Math.max(...values))}.`;
  return { width, height, nodes, stops, nearest: "y", summary };
}
