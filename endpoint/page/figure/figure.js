// The figure above the table: a chart or a map of an answer, with the choice of what it shows.

import { element, plural, setText } from "../dom.js";
import { MOST_BARS, barsChart } from "../chart/bars.js";
import { linesChart } from "../chart/lines.js";
import { pieChart, slicesOf } from "../chart/pie.js";
import { MOST_LINES, categoriesOf, foremost, linesOf } from "../chart/series.js";
import { featuresOf } from "../map/features.js";
import { boundsOf, mapDrawing } from "../map/map.js";
import { Controls } from "./controls.js";
import { EVALUATION_TIME, groupsOf, possibilities } from "./choice.js";
import { Legend } from "./legend.js";
import { Surface } from "./surface.js";
import { ValueTable } from "./values.js";

const NARROWEST = 260;

export class Figure {
  #container;
  #controls;
  #legend;
  #surface;
  #readout = element("p", { class: "readout" });
  #note = element("p", { class: "note" });
  #values = new ValueTable();
  #shown = null;
  #bounds = null;
  #resting = null;
  #figures = {
    lines: (choice, width) => this.#lines(choice, width),
    bars: (choice, width) => this.#bars(choice, width),
    pie: (choice, width) => this.#pie(choice, width),
    map: (choice, width) => this.#map(width),
  };

  /** @param {HTMLElement} container hidden as long as there is nothing to draw */
  constructor(container) {
    this.#container = container;
    this.#controls = new Controls(() => this.#draw());
    this.#legend = new Legend(() => this.#draw());
    this.#surface = new Surface((stop) => this.#read(stop));
    container.append(this.#controls.root, ...this.#surface.parts, this.#readout, this.#legend.root, this.#note, this.#values.root);
    let width = 0;
    new ResizeObserver(() => {
      if (container.clientWidth === width) return;
      width = container.clientWidth;
      this.#draw();
    }).observe(container);
  }

  clear() {
    this.#shown = null;
    this.#bounds = null;
    this.#legend.clear();
    this.#controls.clear();
    this.#container.hidden = true;
  }

  /**
   * Shows what of an answer can be drawn, or nothing.
   * @param {{vars: string[], rows: object[]}} answer the solutions that are shown
   * @param {{prefixes: Map<string, string>, history: AnswerHistory|null, joined: boolean}} circumstances `joined`: the answers
   *   are changes, so that a group that is not among them has stayed as it was
   */
  show({ vars, rows }, { prefixes, history = null, joined = false }) {
    const possible = possibilities(vars, rows, history);
    this.#container.hidden = possible.kinds.length === 0;
    this.#shown = { vars, rows, prefixes, history, joined, possible };
    if (possible.kinds.length > 0) this.#draw();
  }

  #draw() {
    if (this.#shown === null || this.#container.hidden) return;
    const choice = this.#controls.offer(this.#shown.possible);
    const figure = choice.kind === "none" ? null : this.#figures[choice.kind](choice, this.#width());
    for (const part of [...this.#surface.parts, this.#readout]) part.hidden = figure === null;
    this.#legend.root.hidden = figure === null || figure.legend.length === 0;
    setText(this.#note, figure?.note ?? "");
    this.#values.show(figure?.lines ?? []);
    if (figure === null) return;
    this.#resting = figure.drawing.nearest === "x" ? figure.drawing.stops.at(-1) : null;
    this.#surface.show(figure.drawing, figure.label);
  }

  /** The width there is to draw in, in pixels. */
  #width() {
    const { paddingLeft, paddingRight } = getComputedStyle(this.#container);
    return Math.max(NARROWEST, this.#container.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
  }

  #read(stop) {
    const { title = "", values = [] } = stop ?? this.#resting ?? {};
    this.#legend.read(values);
    const said = values.filter(({ name }) => name === "").map(({ text }) => text);
    setText(this.#readout, [title, ...said].join("  "));
  }

  #lines({ value, values, over, groups }, width) {
    const { rows, prefixes, history, joined, possible } = this.#shown;
    const evaluations = over === EVALUATION_TIME ? history.evaluations : [{ time: null, rows }];
    const all = evaluations.flatMap((evaluation) => evaluation.rows);
    const by = groups ?? groupsOf(possible.categories, all);
    const variables = values ?? [value];
    const found = linesOf(evaluations, { over: over === EVALUATION_TIME ? null : over, values: variables, groups: by }, prefixes);
    const lines = foremost(found);
    this.#legend.show(lines);
    const visible = lines.filter(({ key }) => !this.#legend.isHidden(key));
    const drawing =
      visible.length === 0 ? blank(width) : linesChart(visible, { width, joined: joined || over !== EVALUATION_TIME, tone: this.#legend.tone });
    const left = found.length - lines.length;
    const note = left > 0 ? `The ${MOST_LINES} lines that came last are drawn, ${left.toLocaleString("en")} more are not.` : "";
    const label = `Chart of ${variables.join(", ")} over ${over === EVALUATION_TIME ? "the time of evaluation" : over}`;
    return { drawing, legend: lines, note, label, lines: visible };
  }

  #bars({ value }, width) {
    const { rows, prefixes, possible } = this.#shown;
    this.#legend.show([]);
    const categories = categoriesOf(rows, { value, groups: possible.categories }, prefixes);
    const left = categories.length - MOST_BARS;
    const note = left > 0 ? `The first ${MOST_BARS} of ${plural(categories.length, "category", "categories")} are drawn.` : "";
    const drawing = categories.length === 0 ? blank(width) : barsChart(categories, { width });
    return { drawing, legend: [], note, label: `Bars of ${value}` };
  }

  #pie({ value }, width) {
    const { rows, prefixes, possible } = this.#shown;
    const slices = slicesOf(categoriesOf(rows, { value, groups: possible.categories }, prefixes));
    this.#legend.show(slices);
    const visible = slices.filter(({ key, value: size }) => !this.#legend.isHidden(key) && size > 0);
    const drawing = visible.length === 0 ? blank(width) : pieChart(visible, { width, tone: this.#legend.tone });
    return { drawing, legend: slices, note: "", label: `Pie of ${value}` };
  }

  #map(width) {
    const { vars, rows, prefixes, possible } = this.#shown;
    this.#legend.show([]);
    const { features, left, problems } = featuresOf(vars, rows, possible.places, prefixes);
    this.#bounds = boundsOf(features, this.#bounds);
    const notes = [];
    if (left > 0) notes.push(`${plural(left, "more solution")} not drawn.`);
    if (problems.length > 0) notes.push(`${plural(problems.length, "geometry", "geometries")} cannot be drawn: ${problems[0]}.`);
    const drawing = this.#bounds === null ? blank(width) : mapDrawing(features, { width, bounds: this.#bounds });
    return { drawing, legend: [], note: notes.join(" "), label: "Map" };
  }
}

/** A drawing with nothing in it. */
const blank = (width) => ({ width, height: 60, nodes: [], stops: [], nearest: "xy", summary: "Nothing is drawn." });

