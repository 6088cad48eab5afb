// A followed query on the page: the evaluation shown, what it was evaluated over, and the last ones to go back to.

import { element, formatCount, plural } from "../dom.js";
import { AnswerHistory } from "../chart/history.js";
import { solutionsOf } from "./answer.js";
import { instantOf } from "./columns.js";
import { LiveResult } from "./live.js";
import { shortIri, shortInstant } from "./terms.js";

const compact = new Intl.NumberFormat("en", { notation: "compact" });

const NOUNS = { solutions: "solution", graph: "triple", boolean: "answer" };
const countOf = ({ answer }) => {
  if (answer.kind === "boolean") return answer.document.boolean ? "yes" : "no";
  return answer.count === null ? "a graph" : plural(answer.count, NOUNS[answer.kind]);
};

export class LiveView {
  #view;
  #facts;
  #history;
  #pause;
  #result = new LiveResult();
  #past = new AnswerHistory();
  #prefixes = new Map();
  #running = false;
  #paused = false;
  #pinned = null;
  #preview = null;
  #drawn = null;
  #frame = null;
  #bars = new Map();

  /** @param {{view: AnswerView, facts: HTMLElement, history: HTMLElement, pause: HTMLButtonElement}} parts */
  constructor({ view, facts, history, pause }) {
    this.#view = view;
    this.#facts = facts;
    this.#history = history;
    this.#pause = pause;
    pause.addEventListener("click", () => this.#setPaused(!this.#paused));
  }

  get received() {
    return this.#result.received;
  }

  /** Whether an answer from before the listening began is there to be seen. */
  get previewed() {
    return this.#preview !== null;
  }

  /** Begins to show a query's evaluations; `again`: it goes on with those that are there. */
  begin(prefixes, again = false) {
    if (!again) this.clear();
    this.#prefixes = prefixes;
    this.#running = true;
    this.#pause.hidden = false;
    this.#setPaused(false);
  }

  /** No more will come: what came stays, to be looked at. */
  end() {
    this.#running = false;
    this.#pause.hidden = true;
    this.#schedule();
  }

  clear() {
    this.#running = false;
    this.#paused = false;
    this.#result = new LiveResult();
    this.#past = new AnswerHistory();
    this.#pinned = null;
    this.#preview = null;
    this.#drawn = null;
    this.#bars.clear();
    this.#view.clear();
    this.#pause.hidden = true;
    this.#facts.hidden = true;
    this.#history.hidden = true;
    this.#history.replaceChildren();
  }

  /** Takes an event of the result stream; says what it was (see LiveResult.take). */
  take(event) {
    const said = this.#result.take(event);
    if (said.kind === "evaluation") this.#remember(this.#result.evaluations.at(-1));
    this.#schedule();
    return said;
  }

  #remember({ answer, time }) {
    if (answer.kind !== "solutions") return;
    const { vars, rows } = solutionsOf(answer);
    // An answer that says no time was evaluated when it came.
    this.#past.take(time === null ? Date.now() : instantOf(time), vars, rows);
  }

  /** Shows an answer from before the listening began, until the first evaluation comes. */
  preview(answer) {
    if (this.#result.received > 0) return;
    const { time = null, operator = "", windows = {} } = answer.document?.evaluation ?? {};
    this.#preview = { number: 0, answer, time, operator, windows };
    this.#remember(this.#preview);
    this.#schedule();
  }

  // However many evaluations come, one is drawn a frame, and none while the page is not visible.
  #schedule() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#draw();
    });
  }

  #setPaused(paused) {
    this.#paused = paused;
    this.#pinned = paused ? this.#shown() : null;
    this.#schedule();
  }

  #shown() {
    return this.#pinned ?? this.#result.evaluations.at(-1) ?? this.#preview;
  }

  #draw() {
    const shown = this.#shown();
    // Paused before there was anything, it stays at the first that comes.
    if (this.#paused) this.#pinned ??= shown;
    this.#drawPause(shown);
    this.#facts.hidden = !this.#running && shown === null;
    this.#facts.replaceChildren(...this.#drawFacts(shown));
    this.#drawHistory(shown);
    // The newest is at the end: it is to be seen, unless the person looks at another.
    if (!this.#paused) this.#history.scrollLeft = this.#history.scrollWidth;
    if (shown === null || shown === this.#drawn) return;
    const changing = shown.operator === "ISTREAM" || shown.operator === "DSTREAM";
    // What ISTREAM and DSTREAM give is new each time, as they mean it.
    const before = changing ? null : this.#result.evaluations.find(({ number }) => number === shown.number - 1)?.answer ?? null;
    this.#view.show(shown.answer, this.#prefixes, { before, history: this.#past, joined: changing });
    this.#drawn = shown;
  }

  #drawPause(shown) {
    this.#pause.setAttribute("aria-pressed", String(this.#paused));
    const newer = this.#paused ? this.#result.received - (shown?.number ?? 0) : 0;
    const label = newer > 0 ? `Resume (${formatCount(newer)} newer)` : "Resume";
    this.#pause.textContent = this.#paused ? label : "Pause";
  }

  #drawFacts(shown) {
    const facts = [];
    const add = (term, text, title = "") => {
      facts.push(element("div", {}, element("dt", {}, term), element("dd", { title, textContent: text })));
    };
    const instant = (term, value) => add(term, value === null ? "–" : shortInstant(value), value ?? "");
    if (shown !== null) {
      instant("evaluated at (UTC)", shown.time);
      for (const [iri, bounds] of Object.entries(shown.windows)) {
        const [open, close] = Array.isArray(bounds) ? bounds : [bounds, ""];
        const name = `window ${shortIri(iri, this.#prefixes)}`;
        add(name, `(${shortInstant(open)}, ${shortInstant(close)}]`, `${iri}\n(${open}, ${close}]`);
      }
      if (shown.operator !== "") add("operator", shown.operator);
      add("this evaluation", countOf(shown));
    }
    add("received", `${plural(this.#result.received, "evaluation")}, ${plural(this.#result.answers, "answer")}`);
    if (this.#result.progress !== null) instant("complete up to", this.#result.progress);
    if (this.#result.watermark !== null) instant("watermark", this.#result.watermark);
    return facts;
  }

  #drawHistory(shown) {
    const { evaluations } = this.#result;
    this.#history.hidden = evaluations.length < 2;
    const kept = new Set(evaluations.map(({ number }) => number));
    for (const [number, bar] of this.#bars) {
      if (kept.has(number)) continue;
      bar.remove();
      this.#bars.delete(number);
    }
    const highest = Math.max(1, ...evaluations.map(({ answer }) => answer.count));
    for (const each of evaluations) {
      const bar = this.#bars.get(each.number) ?? this.#bar(each);
      const label = `${each.time === null ? "evaluation" : shortInstant(each.time)}: ${countOf(each)}`;
      if (bar.title !== label) bar.title = label;
      bar.setAttribute("aria-label", label);
      bar.setAttribute("aria-pressed", String(each === shown));
      bar.style.setProperty("--share", String(each.answer.count / highest));
    }
  }

  #bar(evaluation) {
    const { kind, count, document } = evaluation.answer;
    const text = kind === "boolean" ? (document.boolean ? "yes" : "no") : compact.format(count);
    const bar = element("button", { type: "button", textContent: text });
    bar.addEventListener("click", () => {
      // To look at one evaluation is to let the others pass.
      this.#paused = this.#running;
      this.#pinned = evaluation;
      this.#schedule();
    });
    this.#bars.set(evaluation.number, bar);
    this.#history.append(bar);
    return bar;
  }
}
