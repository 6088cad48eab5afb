// A chart of lines over time.

import { drawn } from "../dom.js";
import { frame } from "./frame.js";
import { instantsWords, numberScale, timeScale, valueWords } from "./scale.js";
import { pieces } from "./series.js";

const HEIGHT = 260;
const MOST_DOTS = 40;

/**
 * @param {{key: string, name: string, points: object[]}[]} lines the lines to draw
 * @param {{width: number, joined: boolean, tone: (key: string) => string}} look `tone`: the class of a line's colour
 * @returns a drawing (figure/surface.js)
 */
export function linesChart(lines, { width, joined, tone }) {
  const times = [...new Set(lines.flatMap(({ points }) => points.map(({ time }) => time)))].sort((a, b) => a - b);
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  const up = numberScale(least(values), most(values), 5);
  const across = timeScale(times[0], times.at(-1), Math.floor(width / 95));
  const { nodes, x, y, top, floor } = frame({ width, height: HEIGHT, across, up });
  const round = (number) => number.toFixed(1);
  for (const line of lines) {
    const parts = pieces(line, times, joined);
    const path = parts.map((piece) => piece.map(({ time, value }, i) => `${i === 0 ? "M" : "L"}${round(x(time))} ${round(y(value))}`).join(""));
    nodes.push(drawn("path", { class: `line ${tone(line.key)}`, d: path.join("") }));
    // A point that nothing leads to or from would not be seen.
    const dots = line.points.length <= MOST_DOTS ? line.points : parts.filter(({ length }) => length === 1).flat();
    for (const { time, value } of dots) nodes.push(drawn("circle", { class: `dot ${tone(line.key)}`, cx: round(x(time)), cy: round(y(value)), r: 2.5 }));
  }
  const words = instantsWords(times);
  const at = new Map(times.map((time) => [time, []]));
  for (const line of lines) for (const point of line.points) at.get(point.time).push({ line, point });
  const stops = times.map((time) => ({
    x: x(time),
    y: top,
    rule: [top, floor],
    title: words(time),
    dots: at.get(time).map(({ line, point }) => ({ x: x(time), y: y(point.value), tone: tone(line.key) })),
    values: at.get(time).map(({ line, point: { value, count } }) => {
      return { key: line.key, name: line.name, text: valueWords(value) + (count > 1 ? ` (mean of ${count})` : "") };
    }),
  }));
  const span = `from ${words(times[0])} to ${words(times.at(-1))}`;
  const summary = `${lines.length} ${lines.length === 1 ? "line" : "lines"} ${span}, values from ${valueWords(least(values))} to ${valueWords(most(values))}.`;
  return { width, height: HEIGHT, nodes, stops, nearest: "x", summary };
}

const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
