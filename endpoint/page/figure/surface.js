// What a drawing is shown on: with a cursor that a pointer or the arrow keys move from one value to the next.

import { drawn, element, setText } from "../dom.js";

const KEYS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -10, PageDown: 10 };
const DISTANCES = {
  x: (stop, x) => Math.abs(stop.x - x),
  y: (stop, _, y) => Math.abs(stop.y - y),
  xy: (stop, x, y) => Math.hypot(stop.x - x, stop.y - y),
};

/**
 * A place for drawings, one after the other.
 *
 * A drawing is `{width, height, nodes, stops, nearest, summary}`: nodes of SVG; the places the cursor stops at, each
 * `{x, y, rule, title, dots: {x, y, tone}[], values: {key, name, text}[]}`; by which distance (`x`, `y` or `xy`) a
 * pointer finds one; and the whole in words.
 */
export class Surface {
  #drawing = null;
  #cursor = null;
  #svg = drawn("svg", { "aria-hidden": "true" });
  #marks = drawn("g", { class: "marks" });
  #onRead;
  #spoken = element("p", { class: "spoken", attrs: { role: "status" } });

  /** @param {(stop: object|null) => void} onRead hears of the stop the cursor is at; null: it is at none */
  constructor(onRead) {
    this.#onRead = onRead;
    this.root = element("div", { class: "surface", tabIndex: 0, attrs: { role: "group" } }, this.#svg);
    this.parts = [this.root, this.#spoken];
    this.root.addEventListener("pointermove", (event) => this.#point(event));
    this.root.addEventListener("pointerdown", (event) => this.#point(event));
    this.root.addEventListener("pointerleave", () => {
      // Where it has the keyboard, the cursor stays until that goes.
      if (document.activeElement !== this.root) this.#move(null);
    });
    this.root.addEventListener("blur", () => this.#move(null));
    this.root.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Shows a drawing; `label` says what it is of. The cursor stays where it was, by the title of its stop. */
  show(drawing, label) {
    const at = this.#cursor === null ? null : this.#drawing.stops[this.#cursor].title;
    this.#drawing = drawing;
    this.#svg.setAttribute("viewBox", `0 0 ${drawing.width} ${drawing.height}`);
    this.#svg.setAttribute("width", drawing.width);
    this.#svg.setAttribute("height", drawing.height);
    this.#svg.replaceChildren(...drawing.nodes, this.#marks);
    this.root.setAttribute("aria-label", `${label}. ${drawing.summary} The arrow keys read its values.`);
    const i = at === null ? -1 : drawing.stops.findIndex(({ title }) => title === at);
    this.#move(i < 0 ? null : i);
  }

  #move(i) {
    this.#cursor = i;
    const stop = i === null ? null : this.#drawing.stops[i];
    const marks = [];
    if (stop?.rule) marks.push(drawn("line", { class: "rule", x1: stop.x, x2: stop.x, y1: stop.rule[0], y2: stop.rule[1] }));
    for (const { x, y, tone } of stop?.dots ?? []) marks.push(drawn("circle", { class: `mark ${tone}`, cx: x, cy: y, r: 5 }));
    this.#marks.replaceChildren(...marks);
    this.#onRead(stop);
  }

  #point(event) {
    if (this.#drawing === null || this.#drawing.stops.length === 0) return;
    const box = this.#svg.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const distances = this.#drawing.stops.map((stop) => DISTANCES[this.#drawing.nearest](stop, x, y));
    this.#move(distances.indexOf(Math.min(...distances)));
  }

  #key(event) {
    const last = (this.#drawing?.stops.length ?? 0) - 1;
    if (last < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    let to = null;
    if (event.key === "Home") to = 0;
    else if (event.key === "End") to = last;
    else if (event.key in KEYS) to = this.#cursor === null ? (KEYS[event.key] > 0 ? 0 : last) : this.#cursor + KEYS[event.key];
    if (to === null) return;
    event.preventDefault();
    this.#move(Math.min(Math.max(to, 0), last));
    const { title, values } = this.#drawing.stops[this.#cursor];
    setText(this.#spoken, [title, ...values.map(({ name, text }) => (name === "" ? text : `${name} ${text}`))].join(", "));
  }
}
