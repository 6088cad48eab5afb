// What the lists are made of: entries kept in place as their numbers change, and numbers with their names.

import { element, setText } from "../dom.js";
import { shortInstant } from "../answer/terms.js";

/** Keeps one element per named entry of a list, in the list's order, without touching what has not changed. */
export class KeyedList {
  #list;
  #entries = new Map();

  constructor(list) {
    this.#list = list;
  }

  /** @param {object[]} items each with a name; @param make builds {root, update(item)} for a new name */
  show(items, make) {
    const names = new Set(items.map((item) => item.name));
    for (const [name, entry] of this.#entries) {
      if (names.has(name)) continue;
      entry.root.remove();
      this.#entries.delete(name);
    }
    items.forEach((item, i) => {
      let entry = this.#entries.get(item.name);
      if (entry === undefined) {
        entry = make(item);
        this.#entries.set(item.name, entry);
      }
      entry.update(item);
      if (this.#list.children[i] !== entry.root) this.#list.insertBefore(entry.root, this.#list.children[i] ?? null);
    });
  }
}

/** Numbers with their names, by name of the number: `{list, show(name, text, title)}`. */
export function facts(labels) {
  const values = new Map();
  const groups = Object.entries(labels).map(([name, label]) => {
    const value = element("dd");
    const group = element("div", {}, element("dt", {}, label), value);
    values.set(name, { value, group });
    return group;
  });
  const show = (name, text, { title = "", some = false, hidden = false } = {}) => {
    const { value, group } = values.get(name);
    setText(value, text);
    if (value.title !== title) value.title = title;
    value.classList.toggle("some", some);
    group.hidden = hidden;
  };
  const instant = (name, value) => show(name, value === null || value === undefined ? "–" : shortInstant(value), { title: value ?? "" });
  return { list: element("dl", { class: "facts" }, ...groups), show, instant };
}

/** A state in a word, with its colour. */
export function stateBadge() {
  const badge = element("span", { class: "badge" });
  const show = (state) => {
    setText(badge, state);
    badge.dataset.state = state;
  };
  return { badge, show };
}

/** A text that is there only at times, such as the last error. */
export function passing(kind) {
  const root = element("p", { class: kind, hidden: true });
  const show = (text) => {
    setText(root, text ?? "");
    root.hidden = !text;
  };
  return { root, show };
}
