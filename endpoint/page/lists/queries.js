// The list of standing queries, with where their answers go.

import { element, formatCount, plural, setText } from "../dom.js";
import { KeyedList, facts, passing, stateBadge } from "./entries.js";
import { Rate, formatRate } from "./rate.js";

const milliseconds = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

/** A duration in seconds for a person. */
export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  return seconds < 1 ? `${milliseconds.format(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
}

export class QueriesPanel {
  #list;
  #empty;
  #listeners;
  #followed = null;
  #buttons = new Map();

  /** @param {HTMLElement} panel @param {{onFollow, onStop, onEdit, onPlan: Function}} listeners hear of a query */
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
    const { badge, show: showState } = stateBadge();
    const text = element("pre", { class: "text", tabIndex: 0, attrs: { role: "region", "aria-label": `Text of ${name}` } });
    const [error, warnings] = [passing("last-error"), passing("warnings")];
    const counts = facts({ rate: "answers/s", took: "took", overdue: "overdue", evaluations: "evaluations", solutions: "answers", evaluated: "evaluated" });
    const rate = new Rate();
    const sinks = element("ul", { class: "sinks", hidden: true, attrs: { "aria-label": `Sinks of ${name}` } });
    const sinkList = new KeyedList(sinks);
    let latest = null;
    const button = (words, title, listener) => element("button", { type: "button", textContent: words, title, on: { click: listener } });
    const follow = button("Follow", `Show the results of ${name} as they come`, () => {
      if (this.#followed === name) this.#listeners.onStop();
      else this.#listeners.onFollow(latest);
    });
    this.#buttons.set(name, follow);
    this.#mark(name, follow);
    const edit = button("Edit a copy", `Write the text of ${name} into the query box`, () => this.#listeners.onEdit(latest));
    const plan = button("Plan", `How ${name} is evaluated`, () => this.#listeners.onPlan(latest));
    const details = element("details", {}, element("summary", {}, "Text"), text);
    const head = element("div", { class: "entry-head" }, element("h3", {}, name), badge, follow);
    const links = element("p", { class: "links" }, plan, edit);
    const update = (query) => {
      latest = query;
      showState(query.state);
      setText(text, query.text);
      counts.show("rate", formatRate(rate.take(query.solutions, performance.now())));
      counts.show("took", formatSeconds(query.lastEvaluationSeconds), { title: "what the last evaluation took" });
      const overdue = query.overdueSeconds ?? 0;
      counts.show("overdue", formatSeconds(overdue), { some: true, hidden: overdue === 0, title: "how long the oldest evaluation that is not out has been due" });
      counts.show("evaluations", formatCount(query.evaluations), { title: plural(query.listeners, "listener") });
      counts.show("solutions", formatCount(query.solutions));
      counts.instant("evaluated", query.evaluated);
      error.show(query.lastError);
      warnings.show((query.warnings ?? []).join("\n"));
      sinks.hidden = query.sinks.length === 0;
      sinkList.show(query.sinks, sinkEntry);
    };
    return { root: element("li", {}, head, counts.list, error.root, warnings.root, sinks, links, details), update };
  }
}

/** Where a query's answers are taken: the sink's name, its state, how many it took, what failed. */
function sinkEntry({ name }) {
  const { badge, show } = stateBadge();
  const taken = element("span", { class: "taken" });
  const error = passing("last-error");
  const update = (sink) => {
    show(sink.state);
    setText(taken, `${sink.type}, ${formatCount(sink.delivered)} delivered`);
    taken.title = sink.url;
    error.show(sink.state === "failing" ? sink.lastError : "");
  };
  return { root: element("li", {}, element("span", { class: "sink" }, `→ ${name}`), badge, taken, error.root), update };
}
