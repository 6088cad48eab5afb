// A pie: parts of a whole, few of them.

import { drawn } from "../dom.js";
import { valueWords } from "./scale.js";

export const MOST_SLICES = 8;
const SIZE = 240;
const OUTER = 110;
const INNER = 62;

const percent = (share) => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;

/** Whether values can be parts of a whole: none negative, and together more than nothing. */
export const areParts = (values) => values.every((value) => value >= 0) && values.some((value) => value > 0);

/** The largest categories, and one for the rest where there are more of them than can be told apart. */
export function slicesOf(categories) {
  const sorted = [...categories].sort((a, b) => b.value - a.value);
  if (sorted.length <= MOST_SLICES) return sorted;
  const rest = sorted.slice(MOST_SLICES - 1);
  const value = rest.reduce((sum, each) => sum + each.value, 0);
  return [...sorted.slice(0, MOST_SLICES - 1), { key: "rest", name: `${rest.length} others`, value }];
}

/**
 * @param {{key: string, name: string, value: number}[]} slices as `slicesOf` gives them
 * @param {{width: number, tone: (key: string) => string}} look
 * @returns a drawing (figure/surface.js)
 */
export function pieChart(slices, { width, tone }) {
  const whole = slices.reduce((sum, { value }) => sum + value, 0);
  const [x, y] = [width / 2, SIZE / 2];
  const at = (radius, turn) => `${(x + radius * Math.sin(turn)).toFixed(2)} ${(y - radius * Math.cos(turn)).toFixed(2)}`;
  const nodes = [];
  const stops = [];
  let from = 0;
  for (const { key, name, value } of slices) {
    const share = value / whole;
    // An arc from a point to itself is none: a slice that is everything ends just before.
    const turn = Math.min(share * 2 * Math.PI, 2 * Math.PI - 1e-4);
    const [to, large] = [from + turn, turn > Math.PI ? 1 : 0];
    const d = `M${at(OUTER, from)}A${OUTER} ${OUTER} 0 ${large} 1 ${at(OUTER, to)}L${at(INNER, to)}A${INNER} ${INNER} 0 ${large} 0 ${at(INNER, from)}Z`;
    nodes.push(drawn("path", { class: `slice ${tone(key)}`, d }, drawn("title", {}, `${name}: ${valueWords(value)} (${percent(share)})`)));
    const [middle, radius] = [(from + to) / 2, (OUTER + INNER) / 2];
    const dot = { x: x + radius * Math.sin(middle), y: y - radius * Math.cos(middle), tone: tone(key) };
    stops.push({ x: dot.x, y: dot.y, title: name, dots: [dot], values: [{ key, name: "", text: `${valueWords(value)} (${percent(share)})` }] });
    from = to;
  }
  nodes.push(drawn("text", { class: "whole", x, y: y - 2, "text-anchor": "middle" }, valueWords(whole)));
  nodes.push(drawn("text", { class: "tick", x, y: y + 16, "text-anchor": "middle" }, "together"));
  return { width, height: SIZE, nodes, stops, nearest: "xy", summary: `${slices.length} parts of ${valueWords(whole)}.` };
}
