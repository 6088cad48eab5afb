// A table of solutions. Rows that stay as they were keep their elements, so a live table does not flicker.

import { element, formatCount, plural } from "../dom.js";
import { commonDatatype, datatypeOf, isNumeric, isWeb, shortIri, shown } from "./terms.js";

const ROWS_AT_ONCE = 500;
const LONGEST_VALUE = 200;

function cut(view) {
  const whole = element("span", { class: "whole", textContent: view.text, hidden: true });
  const short = element("span", { textContent: `${[...view.text.slice(0, 2 * LONGEST_VALUE)].slice(0, LONGEST_VALUE).join("")}… ` });
  const size = formatCount(view.text.length);
  const button = element("button", { type: "button", class: "more", textContent: `all ${size}`, title: `Show all ${size} characters` });
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    whole.hidden = !whole.hidden;
    short.hidden = !short.hidden;
    button.setAttribute("aria-expanded", String(short.hidden));
    button.textContent = short.hidden ? "less" : `all ${size}`;
  });
  // Browsers cut tooltips themselves, but not all of them cut a megabyte gracefully.
  short.title = view.full.slice(0, 5000);
  return element("span", {}, short, whole, button);
}

function value(term, prefixes) {
  const view = shown(term, prefixes);
  if (view.kind === "iri") {
    const link = isWeb(view.full) ? { href: view.full, target: "_blank", rel: "noopener noreferrer" } : {};
    const text = view.text.length > LONGEST_VALUE ? `${view.text.slice(0, LONGEST_VALUE)}…` : view.text;
    const parts = text.split(/(?<=[/#:])(?=[^/#:])/).flatMap((part) => [document.createElement("wbr"), part]);
    return element(isWeb(view.full) ? "a" : "span", { class: "iri", title: view.full, ...link }, ...parts.slice(1));
  }
  const content = view.text.length > LONGEST_VALUE ? cut(view) : element("span", { textContent: view.text });
  content.classList.add(view.kind);
  if (view.kind === "literal") {
    content.dir = "auto";
    if (view.language !== null) content.lang = view.language;
  }
  return content;
}

function cell(term, column, prefixes) {
  if (term === undefined) return element("td", { class: "unbound" }, element("span", { title: "unbound", textContent: "–" }));
  const made = element("td", { class: column.number ? "number" : "" }, value(term, prefixes));
  if (term["xml:lang"]) made.append(element("span", { class: "tag", textContent: `@${term["xml:lang"]}` }));
  const datatype = datatypeOf(term);
  if (datatype !== null && datatype !== column.datatype) {
    made.append(element("span", { class: "tag", title: datatype, textContent: shortIri(datatype, prefixes) }));
  }
  return made;
}

/** Shows SPARQL results of SELECT in `container`, again and again. */
export class SolutionTable {
  #container;
  #shape = null;
  #body = null;
  #foot = null;
  #rendered = [];
  #known = null;

  constructor(container) {
    this.#container = container;
  }

  clear() {
    this.#shape = null;
    this.#known = null;
    this.#container.replaceChildren();
  }

  /**
   * @param {{head: {vars: string[]}, results: {bindings: object[]}}} answer
   * @param {Map<string, string>} prefixes
   * @param {boolean} highlight mark the rows that the answer shown before did not have
   */
  show(answer, prefixes, highlight = false) {
    const rows = answer.results?.bindings ?? [];
    const columns = (answer.head?.vars ?? []).map((name) => {
      const bound = rows.filter((row) => row[name] !== undefined);
      const number = bound.length > 0 && bound.every((row) => isNumeric(row[name]));
      return { name, datatype: commonDatatype(rows, name), number };
    });
    const shape = JSON.stringify([columns, [...prefixes]]);
    if (shape !== this.#shape) this.#frame(columns, prefixes, shape);
    const keys = rows.map((row) => JSON.stringify(columns.map(({ name }) => row[name] ?? null)));
    const known = highlight ? this.#known : null;
    this.#known = new Set(keys);
    this.#fill(rows, keys, columns, prefixes, Math.min(rows.length, ROWS_AT_ONCE), known);
  }

  #frame(columns, prefixes, shape) {
    const heads = columns.map((column) => {
      const head = element("th", { scope: "col", class: column.number ? "number" : "", textContent: column.name });
      if (column.datatype !== null) {
        head.append(element("span", { class: "tag", title: column.datatype, textContent: shortIri(column.datatype, prefixes) }));
      }
      return head;
    });
    const corner = element("th", { scope: "col", class: "ordinal", attrs: { "aria-label": "row" } });
    this.#body = element("tbody");
    this.#foot = element("p", { class: "note" });
    const table = element("table", {}, element("thead", {}, element("tr", {}, corner, ...heads)), this.#body);
    const frame = element("div", { class: "scroll", tabIndex: 0, attrs: { role: "region", "aria-label": "Solutions" } }, table);
    this.#container.replaceChildren(frame, this.#foot);
    this.#rendered = [];
    this.#shape = shape;
  }

  #fill(rows, keys, columns, prefixes, count, known) {
    const body = this.#body;
    for (let i = 0; i < count; i += 1) {
      const old = this.#rendered[i];
      if (old === keys[i]) {
        body.rows[i].classList.remove("fresh");
        continue;
      }
      const ordinal = element("td", { class: "ordinal", textContent: formatCount(i + 1) });
      const row = element("tr", {}, ordinal, ...columns.map((column) => cell(rows[i][column.name], column, prefixes)));
      if (known !== null && !known.has(keys[i])) row.classList.add("fresh");
      if (old === undefined) body.append(row);
      else body.rows[i].replaceWith(row);
    }
    while (body.rows.length > count) body.lastElementChild.remove();
    this.#rendered = keys.slice(0, count);
    this.#note(rows, count, () => this.#fill(rows, keys, columns, prefixes, Math.min(rows.length, count + ROWS_AT_ONCE), null));
  }

  #note(rows, count, more) {
    if (rows.length === 0) return this.#foot.replaceChildren("No solutions.");
    if (count >= rows.length) return this.#foot.replaceChildren();
    const next = Math.min(ROWS_AT_ONCE, rows.length - count);
    const button = element("button", { type: "button", on: { click: more }, textContent: `Show ${formatCount(next)} more` });
    return this.#foot.replaceChildren(`The first ${formatCount(count)} of ${plural(rows.length, "row")} are shown. `, button);
  }
}
