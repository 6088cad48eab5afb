// How a query is evaluated, as a tree to open and close, with the rows and times that the endpoint tells.

import { request } from "../http/access.js";
import { at, problemOf } from "../http/http.js";
import { element, setText } from "../dom.js";
import { sectionsOf, treeOf } from "./outline.js";

// Columns of figures and statements: their spaces and lines are to stay as they are.
const AS_WRITTEN = /^(?:Rows|Evaluations|SQL)\b/;
const OPEN = /^(?:Evaluations|Rows|Windows|Algebra|Operators|Facts|Site|Lane)\b/;

export class PlanView {
  #section;
  #title;
  #content;
  #name = null;
  #asked = 0;

  /** @param {HTMLElement} section hidden until a plan is asked for */
  constructor(section) {
    this.#section = section;
    this.#title = section.querySelector("h2");
    this.#content = section.querySelector(".plan");
    section.querySelector("[data-do=refresh]").addEventListener("click", () => this.show(this.#name));
    section.querySelector("[data-do=measure]").addEventListener("click", () => this.show(this.#name, true));
    section.querySelector("[data-do=close]").addEventListener("click", () => {
      section.hidden = true;
    });
  }

  /** Asks for the plan of a standing query and shows it; `measured`: with rows and times of each operator. */
  async show(name, measured = false) {
    const asked = (this.#asked += 1);
    const again = name === this.#name && !this.#section.hidden;
    this.#name = name;
    setText(this.#title, `Plan of ${name}`);
    if (!again) this.#content.replaceChildren(element("p", { class: "note" }, "Asking for the plan…"));
    this.#section.hidden = false;
    if (!again) this.#title.focus();
    const [text, problem] = await planOf(name, measured);
    if (asked !== this.#asked) return;
    if (problem !== "") return this.#content.replaceChildren(element("p", { class: "note" }, problem));
    const closed = new Map([...this.#content.querySelectorAll(":scope > details")].map((each) => [each.dataset.title, each.open]));
    return this.#content.replaceChildren(...sectionsOf(text).map((section) => sectionView(section, again ? closed : new Map())));
  }
}

async function planOf(name, measured) {
  try {
    const response = await request(at(`queries/${encodeURIComponent(name)}/plan?measured=${measured}`), { cache: "no-store" });
    return response.ok ? [await response.text(), ""] : ["", (await problemOf(response)).message];
  } catch {
    return ["", "The server cannot be reached."];
  }
}

function sectionView({ title, detail, lines }, before) {
  if (lines.length === 0) return element("p", { class: "plan-line" }, detail === "" ? title : `${title} (${detail})`);
  const content = AS_WRITTEN.test(title)
    ? element("pre", { class: "text", tabIndex: 0, attrs: { role: "region", "aria-label": title }, textContent: lines.join("\n") })
    : tree(treeOf(lines));
  const summary = element("summary", {}, title, element("span", { class: "tag", textContent: detail }));
  const made = element("details", { data: { title } }, summary, content);
  made.open = before.get(title) ?? OPEN.test(title);
  return made;
}

function tree(nodes) {
  const items = nodes.map(({ text, note, children }) => {
    const words = [element("code", {}, text), ...(note === "" ? [] : [element("span", { class: "rows", textContent: note })])];
    if (children.length === 0) return element("li", {}, ...words);
    return element("li", {}, element("details", { open: true }, element("summary", {}, ...words), tree(children)));
  });
  return element("ul", { class: "tree" }, ...items);
}
