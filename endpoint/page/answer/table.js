// A table of solutions. Rows that stay as they were keep their elements, so a live table does not flicker.

import { element, formatCount, plural } from "../dom.js";
import { changeWords, changes } from "./changes.js";
import { commonDatatype, datatypeOf, isNumeric, isWeb, languageTag, shortIri, shown } from "./terms.js";

const ROWS_AT_ONCE = 500;
const LONGEST_VALUE = 200;
// Beyond this many rows what changed is not looked for: comparing would take longer than looking.
const MOST_COMPARED = 5_000;

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
    const parts = text.split(/(?<=.[/#:])(?=[^/#:])/).flatMap((part) => [document.createElement("wbr"), part]);
    return element(isWeb(view.full) ? "a" : "span", { class: "iri", title: view.full, ...link }, ...parts.slice(1));
  }
  const content = view.text.length > LONGEST_VALUE ? cut(view) : element("span", { textContent: view.text });
  content.classList.add(view.kind);
  if (view.kind === "literal") {
    content.dir = term["its:dir"] ?? "auto";
    if (view.language !== null) content.lang = view.language;
  }
  return content;
}

function cell(term, column, prefixes) {
  if (term === undefined) return element("td", { class: "unbound" }, element("span", { title: "unbound", textContent: "–" }));
  const made = element("td", { class: column.number ? "number" : "" }, value(term, prefixes));
  if (languageTag(term)) made.append(element("span", { class: "tag", textContent: languageTag(term) }));
  const datatype = datatypeOf(term);
  if (datatype !== null && datatype !== column.datatype) {
    made.append(element("span", { class: "tag", title: datatype, textContent: shortIri(datatype, prefixes) }));
  }
  return made;
}

const MARKS = { new: ["+", "new"], changed: ["•", "changed"], gone: ["−", "gone"], same: ["", ""] };
const ARROWS = { up: ["▲", "more than before"], down: ["▼", "less than before"], other: ["•", "changed"] };
const MOST_GONE = 20;
const NOTHING = { kind: "same", cells: new Map() };

/** Shows SPARQL results of SELECT in `container`, again and again. */
export class SolutionTable {
  #container;
  #shape = null;
  #body = null;
  #foot = null;
  #rendered = [];

  constructor(container) {
    this.#container = container;
  }

  clear() {
    this.#shape = null;
    this.#container.replaceChildren();
  }

  /**
   * @param {{vars: string[], rows: object[]}} solutions
   * @param {Map<string, string>} prefixes
   * @param {object[]|null} before the rows of the answer before, where what changed since is to be marked
   */
  show({ vars, rows }, prefixes, before = null) {
    const columns = vars.map((name) => {
      const bound = rows.filter((row) => row[name] !== undefined);
      const number = bound.length > 0 && bound.every((row) => isNumeric(row[name]));
      return { name, datatype: commonDatatype(rows, name), number };
    });
    const shape = JSON.stringify([columns, [...prefixes]]);
    if (shape !== this.#shape) this.#frame(columns, prefixes, shape);
    const compared = before === null || before.length + rows.length > MOST_COMPARED ? null : changes(vars, before, rows);
    const lines = rows.map((row, i) => ({ row, ordinal: formatCount(i + 1), ...(compared?.rows[i] ?? NOTHING) }));
    const gone = (compared?.gone ?? []).slice(0, MOST_GONE).map((row) => ({ row, ordinal: "", kind: "gone", cells: new Map() }));
    this.#fill(lines, gone, columns, prefixes, ROWS_AT_ONCE, compared === null ? "" : `Since the evaluation before: ${changeWords(compared)}.`);
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

  #fill(lines, gone, columns, prefixes, count, compared) {
    const body = this.#body;
    const shown = [...lines.slice(0, count), ...gone];
    const keys = shown.map(({ row, ordinal, kind, cells }) => JSON.stringify([ordinal, kind, ...columns.map(({ name }) => [row[name], cells.get(name)])]));
    shown.forEach((line, i) => {
      const old = this.#rendered[i];
      if (old === keys[i]) return;
      const made = this.#row(line, columns, prefixes);
      if (old === undefined) body.append(made);
      else body.rows[i].replaceWith(made);
    });
    while (body.rows.length > shown.length) body.lastElementChild.remove();
    this.#rendered = keys;
    this.#note(lines, count, compared, () => this.#fill(lines, gone, columns, prefixes, count + ROWS_AT_ONCE, compared));
  }

  #row({ row, ordinal, kind, cells }, columns, prefixes) {
    const [mark, words] = MARKS[kind];
    const first = element("td", { class: "ordinal" }, element("span", { class: "change", title: words, textContent: mark }), ordinal);
    const made = columns.map((column) => {
      const each = cell(row[column.name], column, prefixes);
      const how = cells.get(column.name);
      if (how !== undefined) {
        const [arrow, meaning] = ARROWS[how];
        each.classList.add("changed");
        each.prepend(element("span", { class: `change ${how}`, title: meaning, textContent: `${arrow} `, attrs: { role: "img", "aria-label": meaning } }));
      }
      return each;
    });
    return element("tr", { class: kind === "same" ? "" : kind }, first, ...made);
  }

  #note(lines, count, compared, more) {
    const said = compared === "" ? [] : [element("span", { class: "since-before", textContent: compared }), " "];
    if (lines.length === 0) return this.#foot.replaceChildren("No solutions. ", ...said);
    if (count >= lines.length) return this.#foot.replaceChildren(...said);
    const next = Math.min(ROWS_AT_ONCE, lines.length - count);
    const button = element("button", { type: "button", on: { click: more }, textContent: `Show ${formatCount(next)} more` });
    return this.#foot.replaceChildren(...said, `The first ${formatCount(count)} of ${plural(lines.length, "row")} are shown. `, button);
  }
}
