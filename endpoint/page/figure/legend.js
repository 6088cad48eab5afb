// The legend of a figure: what each colour is, a button that hides and shows it, and its value at the cursor.

import { element, setText } from "../dom.js";

export class Legend {
  #entries = new Map();
  #hidden = new Set();
  #tones = new Map();
  #onToggle;

  constructor(onToggle) {
    this.#onToggle = onToggle;
    this.root = element("ul", { class: "legend", attrs: { "aria-label": "Legend" } });
  }

  isHidden = (key) => this.#hidden.has(key);

  /** The class of the colour of a key: it keeps it as long as it is in the legend. */
  tone = (key) => `tone-${this.#tones.get(key) ?? 0}`;

  clear() {
    this.#hidden.clear();
    this.#tones.clear();
    this.show([]);
  }

  /** @param {{key: string, name: string}[]} items */
  show(items) {
    const keys = new Set(items.map(({ key }) => key));
    for (const [key, { root }] of this.#entries) {
      if (keys.has(key)) continue;
      root.remove();
      this.#entries.delete(key);
      this.#tones.delete(key);
    }
    items.forEach(({ key, name }, i) => {
      if (!this.#tones.has(key)) this.#tones.set(key, this.#free());
      const entry = this.#entries.get(key) ?? this.#made(key);
      setText(entry.name, name);
      entry.button.setAttribute("aria-pressed", String(!this.#hidden.has(key)));
      if (this.root.children[i] !== entry.root) this.root.insertBefore(entry.root, this.root.children[i] ?? null);
    });
    this.root.hidden = items.length === 0;
  }

  /** Shows the values at a place, by key; what has none there shows none. */
  read(values) {
    const texts = new Map(values.map(({ key, text }) => [key, text]));
    for (const [key, { value }] of this.#entries) setText(value, texts.get(key) ?? "");
  }

  #free() {
    const taken = new Set(this.#tones.values());
    let tone = 0;
    while (taken.has(tone)) tone += 1;
    return tone;
  }

  #made(key) {
    const name = element("span", { class: "name" });
    const value = element("span", { class: "value" });
    const swatch = element("span", { class: `swatch ${this.tone(key)}`, attrs: { "aria-hidden": "true" } });
    const button = element("button", { type: "button", title: "Hide or show" }, swatch, name, value);
    button.addEventListener("click", () => {
      if (!this.#hidden.delete(key)) this.#hidden.add(key);
      this.#onToggle();
    });
    const entry = { root: element("li", {}, button), button, name, value };
    this.#entries.set(key, entry);
    return entry;
  }
}
