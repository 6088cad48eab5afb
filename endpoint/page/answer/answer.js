// The place where answers appear: a table, yes or no, a graph as text, a refusal.

import { element, formatCount, plural } from "../dom.js";
import { Figure } from "../figure/figure.js";
import { SolutionTable } from "./table.js";

const LONGEST_GRAPH = 200_000;

/**
 * What a result is: `solutions` with the number of rows, `boolean`, or `graph` with its text.
 * @param {string} text the body of a response, or the data of an event
 */
export function readAnswer(text, contentType = "") {
  if (contentType.includes("json") || (contentType === "" && text.startsWith("{"))) {
    const document = JSON.parse(text);
    if (typeof document.boolean === "boolean") return { kind: "boolean", document, count: 1 };
    return { kind: "solutions", document, count: document.results?.bindings?.length ?? 0 };
  }
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return { kind: "graph", text, count: contentType === "" ? lines.length : null };
}

/** The variables and rows of solutions. */
export const solutionsOf = ({ document }) => ({ vars: document.head?.vars ?? [], rows: document.results?.bindings ?? [] });

export class AnswerView {
  #container;
  #table;
  #figure;
  #kind = null;

  /** @param {HTMLElement} container of the table or text @param {HTMLElement} figure of the chart or map above it */
  constructor(container, figure) {
    this.#container = container;
    this.#table = new SolutionTable(container);
    this.#figure = new Figure(figure);
  }

  clear() {
    this.#kind = null;
    this.#table.clear();
    this.#figure.clear();
  }

  /**
   * Shows an answer.
   * @param {{before: object|null, history: AnswerHistory|null, joined: boolean}} followed of a query that is followed: the
   *   answer before, to mark what changed since; the answers so far; and whether these are changes, as ISTREAM's are
   */
  show(answer, prefixes, { before = null, history = null, joined = false } = {}) {
    if (answer.kind !== this.#kind) this.clear();
    this.#kind = answer.kind;
    if (answer.kind === "solutions") {
      const solutions = solutionsOf(answer);
      this.#figure.show(solutions, { prefixes, history, joined });
      return this.#table.show(solutions, prefixes, before?.kind === "solutions" ? solutionsOf(before).rows : null);
    }
    if (answer.kind === "boolean") {
      const yes = answer.document.boolean;
      return this.#container.replaceChildren(element("p", { class: yes ? "verdict yes" : "verdict no" }, yes ? "Yes" : "No"));
    }
    return this.#graph(answer.text);
  }

  #graph(text) {
    if (text.trim() === "") return this.#container.replaceChildren(element("p", { class: "note" }, "An empty graph."));
    const label = { role: "region", "aria-label": "Graph" };
    const graph = element("pre", { class: "graph", tabIndex: 0, attrs: label, textContent: text.slice(0, LONGEST_GRAPH) });
    this.#container.replaceChildren(graph);
    if (text.length > LONGEST_GRAPH) {
      const rest = `The first ${formatCount(LONGEST_GRAPH)} of ${plural(text.length, "character")} are shown.`;
      this.#container.append(element("p", { class: "note" }, rest));
    }
    return undefined;
  }
}
