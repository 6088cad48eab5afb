// The lists beside the query: the streams and the standing queries, each entry kept in place as its numbers change.

import { heldToken, request } from "./http/access.js";
import { element, formatCount, plural, setText } from "./dom.js";
import { at, problemOf } from "./http/http.js";
import { Rate, formatRate } from "./answer/rate.js";
import { shortInstant } from "./answer/terms.js";

/** Keeps one element per named entry of a list, in the list's order, without touching what has not changed. */
class KeyedList {
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

function fact(label) {
  const value = element("dd");
  return { value, group: element("div", {}, element("dt", {}, label), value) };
}

function showInstant(target, instant) {
  setText(target, instant === null || instant === undefined ? "–" : shortInstant(instant));
  target.title = instant ?? "";
}

async function showText(target, url) {
  let shown;
  try {
    const response = await request(url, { cache: "no-store" });
    shown = response.ok ? await response.text() : (await problemOf(response)).message;
  } catch {
    shown = "The server cannot be reached.";
  }
  setText(target, shown);
  target.hidden = false;
}

export class StreamsPanel {
  #list;
  #empty;
  #onUse;

  /** @param {HTMLElement} panel @param {(stream: {name: string, iri: string}) => void} onUse */
  constructor(panel, onUse) {
    this.#list = new KeyedList(panel.querySelector("ul"));
    this.#empty = panel.querySelector(".empty");
    this.#onUse = onUse;
  }

  show(streams) {
    this.#empty.hidden = streams.length > 0;
    this.#list.show(streams, (stream) => this.#entry(stream));
  }

  #entry({ name }) {
    const rate = new Rate();
    const iri = element("p", { class: "iri" });
    const badge = element("span", { class: "badge", textContent: "ended", hidden: true });
    const facts = { rate: fact("rate"), elements: fact("elements"), late: fact("late"), rejected: fact("rejected"), watermark: fact("watermark") };
    let latest = null;
    const use = element("button", { type: "button", textContent: "Query", title: `Write a query over ${name}` });
    use.addEventListener("click", () => this.#onUse(latest));
    const head = element("div", { class: "entry-head" }, element("h3", {}, name), badge, use);
    const list = element("dl", { class: "facts" }, ...Object.values(facts).map((each) => each.group));
    const update = (stream) => {
      latest = stream;
      setText(iri, stream.iri);
      iri.title = stream.iri;
      badge.hidden = !stream.ended;
      setText(facts.rate.value, formatRate(rate.take(stream.elements, performance.now())));
      setText(facts.elements.value, formatCount(stream.elements));
      facts.elements.value.title = plural(stream.triples, "triple");
      showInstant(facts.watermark.value, stream.watermark);
      setText(facts.late.value, formatCount(stream.late));
      facts.late.value.classList.toggle("some", stream.late > 0);
      setText(facts.rejected.value, formatCount(stream.rejected));
      facts.rejected.value.classList.toggle("some", stream.rejected > 0);
    };
    return { root: element("li", {}, head, iri, list), update };
  }
}

/** Where a query's answers are taken: the sink's name, its state, how many it took, what failed. */
function sinkEntry({ name }) {
  const badge = element("span", { class: "badge" });
  const taken = element("span", { class: "taken" });
  const error = element("p", { class: "last-error", hidden: true });
  const update = (sink) => {
    setText(badge, sink.state);
    badge.dataset.state = sink.state;
    setText(taken, `${sink.type}, ${formatCount(sink.delivered)} delivered`);
    taken.title = sink.url;
    error.hidden = sink.state !== "failing";
    setText(error, sink.lastError ?? "");
  };
  return { root: element("li", {}, element("span", { class: "sink" }, `→ ${name}`), badge, taken, error), update };
}

export class QueriesPanel {
  #list;
  #empty;
  #listeners;
  #followed = null;
  #buttons = new Map();

  /** @param {HTMLElement} panel @param {{onFollow: Function, onStop: Function, onEdit: Function}} listeners */
  constructor(panel, listeners) {
    this.#list = new KeyedList(panel.querySelector("ul"));
    this.#empty = panel.querySelector(".empty");
    this.#listeners = listeners;
  }

  show(queries) {
    this.#empty.hidden = queries.length > 0;
    this.#list.show(queries, (query) => this.#entry(query));
  }

  /** Marks the query whose results are shown; null: none. */
  follow(name) {
    this.#followed = name;
    for (const [each, button] of this.#buttons) this.#mark(each, button);
  }

  #mark(name, button) {
    const on = name === this.#followed;
    button.setAttribute("aria-pressed", String(on));
    setText(button, on ? "Following" : "Follow");
  }

  #entry({ name }) {
    const badge = element("span", { class: "badge" });
    const text = element("pre", { class: "text", tabIndex: 0, attrs: { role: "region", "aria-label": `Text of ${name}` } });
    const error = element("p", { class: "last-error", hidden: true });
    const warnings = element("p", { class: "warnings", hidden: true });
    const facts = { evaluations: fact("evaluations"), solutions: fact("answers"), evaluated: fact("evaluated") };
    const sinks = element("ul", { class: "sinks", hidden: true, attrs: { "aria-label": `Sinks of ${name}` } });
    const sinkList = new KeyedList(sinks);
    let latest = null;
    const follow = element("button", { type: "button", class: "follow", title: `Show the results of ${name} as they come` });
    follow.addEventListener("click", () => {
      if (this.#followed === name) this.#listeners.onStop();
      else this.#listeners.onFollow(latest);
    });
    this.#buttons.set(name, follow);
    this.#mark(name, follow);
    const edit = element("button", { type: "button", textContent: "Edit a copy", on: { click: () => this.#listeners.onEdit(latest) } });
    const planUrl = at(`queries/${encodeURIComponent(name)}/plan`).href;
    const plan = element("a", { href: planUrl, target: "_blank", rel: "noopener", textContent: "Plan" });
    const planText = element("pre", { class: "text", tabIndex: 0, hidden: true, attrs: { role: "region", "aria-label": `Plan of ${name}` } });
    plan.addEventListener("click", (event) => {
      // A link sends no token.
      if (heldToken() === "") return;
      event.preventDefault();
      showText(planText, planUrl);
    });
    const links = element("p", { class: "links" }, edit, plan);
    const details = element("details", {}, element("summary", {}, "Text"), text, links, planText);
    const head = element("div", { class: "entry-head" }, element("h3", {}, name), badge, follow);
    const list = element("dl", { class: "facts" }, ...Object.values(facts).map((each) => each.group));
    const update = (query) => {
      latest = query;
      setText(badge, query.state);
      badge.dataset.state = query.state;
      setText(text, query.text);
      setText(facts.evaluations.value, formatCount(query.evaluations));
      setText(facts.solutions.value, formatCount(query.solutions));
      showInstant(facts.evaluated.value, query.evaluated);
      error.hidden = !query.lastError;
      setText(error, query.lastError ?? "");
      warnings.hidden = query.warnings.length === 0;
      setText(warnings, query.warnings.join("\n"));
      sinks.hidden = query.sinks.length === 0;
      sinkList.show(query.sinks, sinkEntry);
    };
    return { root: element("li", {}, head, list, error, warnings, sinks, details), update };
  }
}
