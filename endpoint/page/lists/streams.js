// The list of streams, with what fills each.

import { element, formatCount, plural, setText } from "../dom.js";
import { KeyedList, facts, passing, stateBadge } from "./entries.js";
import { Rate, formatRate } from "./rate.js";

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
    const counts = facts({ rate: "rate", elements: "elements", late: "late", rejected: "rejected", watermark: "watermark" });
    const waiting = passing("warnings");
    const source = sourceView(name);
    let latest = null;
    const use = element("button", { type: "button", textContent: "Query", title: `Write a query over ${name}` });
    use.addEventListener("click", () => this.#onUse(latest));
    const head = element("div", { class: "entry-head" }, element("h3", {}, name), badge, use);
    const update = (stream) => {
      latest = stream;
      setText(iri, stream.iri);
      iri.title = stream.iri;
      badge.hidden = !stream.ended;
      counts.show("rate", formatRate(rate.take(stream.elements, performance.now())));
      counts.show("elements", formatCount(stream.elements), { title: plural(stream.triples, "triple") });
      counts.instant("watermark", stream.watermark);
      counts.show("late", formatCount(stream.late), { some: stream.late > 0 });
      counts.show("rejected", formatCount(stream.rejected), { some: stream.rejected > 0 });
      const partitions = stream.waitingFor ?? [];
      waiting.show(partitions.length === 0 ? "" : `Queries wait for the partitions ${partitions.join(", ")}, which have had nothing.`);
      source.update(stream);
    };
    return { root: element("li", {}, head, iri, counts.list, waiting.root, source.root), update };
  }
}

/** What fills a stream: its kind and address, its state, how much came and what failed. */
function sourceView(name) {
  const title = element("span", { class: "sink" });
  const { badge, show } = stateBadge();
  const taken = element("span", { class: "taken" });
  const [error, notice] = [passing("last-error"), passing("warnings")];
  const root = element("div", { class: "source", hidden: true, attrs: { role: "group", "aria-label": `Source of ${name}` } }, title, badge, taken, error.root, notice.root);
  const update = ({ source, sourceState: state }) => {
    root.hidden = source === undefined || state === undefined;
    if (root.hidden) return;
    setText(title, `← ${source.type}`);
    title.title = source.url ?? "";
    show(state.state);
    const failures = state.failures > 0 ? `, ${plural(state.failures, "failure")}` : "";
    setText(taken, `${plural(state.messages, "message")}, ${formatCount(state.rejected)} rejected${failures}`);
    error.show(state.state === "failing" ? state.lastError : "");
    notice.show(state.notice);
  };
  return { root, update };
}
