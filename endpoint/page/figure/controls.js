// The choice of the figure: its kind, the number it shows, what it goes along, and what makes a line each.

import { element } from "../dom.js";
import { ALL, EVALUATION_TIME, KINDS } from "./choice.js";

const NAMES = { lines: "Lines", bars: "Bars", pie: "Pie", map: "Map", none: "Table only" };
const NONE = "none";
const FITTING = "fitting";
const EACH_ANSWER = "";

/** A choice of one of several, with its label. */
class Select {
  #select;
  #options = "";

  constructor(words, onChoice) {
    this.#select = element("select");
    this.label = element("label", {}, element("span", {}, words), " ", this.#select);
    this.#select.addEventListener("change", () => onChoice(this.#select.value));
  }

  /** @param {[string, string][]} options values with their words @param {string} value the one that holds */
  show(options, value, visible) {
    const signature = JSON.stringify(options);
    if (signature !== this.#options) this.#select.replaceChildren(...options.map(([each, textContent]) => element("option", { value: each, textContent })));
    this.#options = signature;
    this.#select.value = value;
    this.label.hidden = !visible;
  }
}

export class Controls {
  #chosen = {};
  #kinds;
  #value;
  #over;
  #groups;

  constructor(onChange) {
    const choose = (name) => (value) => {
      this.#chosen[name] = value;
      onChange();
    };
    this.#kinds = [...KINDS, NONE].map((kind) => {
      return element("button", { type: "button", data: { kind }, textContent: NAMES[kind], on: { click: () => choose("kind")(kind) } });
    });
    this.#value = new Select("Show", choose("value"));
    this.#over = new Select("over", choose("over"));
    this.#groups = new Select("a line for each", choose("groups"));
    const kinds = element("div", { class: "kinds", attrs: { role: "group", "aria-label": "Figure" } }, ...this.#kinds);
    this.root = element("div", { class: "figure-bar" }, kinds, this.#value.label, this.#over.label, this.#groups.label);
  }

  /** Forgets what was chosen: another answer is to be shown. */
  clear() {
    this.#chosen = {};
  }

  /**
   * Offers what is possible (figure/choice.js).
   * @returns {{kind: string, value: string, values: string[]|null, over: string, groups: string[]|null}} what is chosen,
   *   by the person or for them: `values` are several numbers at once, `groups` null those that fit
   */
  offer({ kinds, best, numbers, times, categories }) {
    const among = (name, options, usual) => (options.includes(this.#chosen[name]) ? this.#chosen[name] : usual);
    const kind = among("kind", [...kinds, NONE], best ?? NONE);
    for (const button of this.#kinds) {
      button.hidden = button.dataset.kind !== NONE && !kinds.includes(button.dataset.kind);
      button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    }
    const lines = kind === "lines";
    const several = numbers.length > 1;
    const values = lines && several ? [...numbers, ALL] : numbers;
    // Where there is one group, its numbers can stand beside each other.
    const value = among("value", values, lines && several && categories.length === 0 ? ALL : numbers[0]);
    const over = among("over", times, times[0]);
    const groups = among("groups", [FITTING, ...categories, EACH_ANSWER], FITTING);
    this.#value.show(values.map((name) => [name, name === ALL ? "all numbers" : name]), value, several && kind !== NONE && kind !== "map");
    this.#over.show(times.map((name) => [name, name === EVALUATION_TIME ? "time of evaluation" : name]), over, lines && times.length > 1);
    const singly = categories.length > 1 ? [[FITTING, "group"], ...categories.map((name) => [name, name])] : [[FITTING, categories[0] ?? ""]];
    const groupings = [...singly, [EACH_ANSWER, "answer (the mean)"]];
    this.#groups.show(groupings, groups, lines && categories.length > 0);
    const by = { [FITTING]: null, [EACH_ANSWER]: [] };
    return { kind, value, values: value === ALL ? numbers : null, over, groups: groups in by ? by[groups] : [groups] };
  }
}
