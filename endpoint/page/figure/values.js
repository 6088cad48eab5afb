// The values of a chart over time as a table, for whoever reads rather than looks.

import { element } from "../dom.js";
import { instantsWords, valueWords } from "../chart/scale.js";

export class ValueTable {
  #lines = [];
  #place = element("div", { class: "scroll", tabIndex: 0, attrs: { role: "region", "aria-label": "Values of the chart" } });

  constructor() {
    const summary = element("summary", {}, "Values as a table");
    this.root = element("details", { class: "values" }, summary, this.#place);
    this.root.addEventListener("toggle", () => this.#fill());
  }

  /** Takes the lines that are drawn; the table is made when it is opened, the newest values first. */
  show(lines) {
    this.#lines = lines;
    this.root.hidden = lines.length === 0;
    this.#fill();
  }

  #fill() {
    if (!this.root.open) return;
    const heads = ["time", ...this.#lines.map(({ name }) => name)];
    const times = [...new Set(this.#lines.flatMap(({ points }) => points.map(({ time }) => time)))].sort((a, b) => b - a);
    const words = instantsWords(times);
    const values = this.#lines.map(({ points }) => new Map(points.map(({ time, value }) => [time, valueWords(value)])));
    const rows = times.map((time) => {
      const cells = values.map((line) => element("td", { class: "number", textContent: line.get(time) ?? "–" }));
      return element("tr", {}, element("th", { scope: "row", textContent: words(time) }), ...cells);
    });
    const head = element("thead", {}, element("tr", {}, ...heads.map((text) => element("th", { scope: "col", textContent: text }))));
    this.#place.replaceChildren(element("table", {}, head, element("tbody", {}, ...rows)));
  }
}
