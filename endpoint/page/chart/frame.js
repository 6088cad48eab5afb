// The frame of a chart: its axes with their grid, and where in it a value lies.

import { drawn } from "../dom.js";

const LETTER = 6.6;
const TOP = 10;
const BOTTOM = 26;

/** Roughly how wide a label is: there is nothing to measure before it is drawn. */
export const widthOf = (text) => text.length * LETTER;

/**
 * Lines of numbers over times: scales to frame, and where they lie.
 * @param {{width: number, height: number, across: object, up: object}} parts the scales (chart/scale.js)
 */
export function frame({ width, height, across, up }) {
  const labels = up.ticks.map((tick) => up.words(tick));
  const left = Math.max(28, Math.max(...labels.map(widthOf)) + 12);
  const right = width - 14;
  const floor = height - BOTTOM;
  const x = (value) => left + ((value - across.low) / (across.high - across.low)) * (right - left);
  const y = (value) => floor - ((value - up.low) / (up.high - up.low)) * (floor - TOP);
  const nodes = up.ticks.map((tick, i) =>
    drawn(
      "g",
      {},
      drawn("line", { class: tick === 0 ? "axis" : "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      drawn("text", { class: "tick", x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, labels[i]),
    ),
  );
  let free = -Infinity;
  for (const tick of across.ticks) {
    const text = across.words(tick);
    const half = widthOf(text) / 2;
    nodes.push(drawn("line", { class: "grid", x1: x(tick), x2: x(tick), y1: floor, y2: floor + 4 }));
    const middle = Math.min(x(tick), width - half);
    // Labels that would touch are left out: their ticks stay.
    if (middle - half < free) continue;
    free = middle + half + 10;
    nodes.push(drawn("text", { class: "tick", x: middle, y: height - 8, "text-anchor": "middle" }, text));
  }
  return { nodes, x, y, top: TOP, floor, left, right };
}
