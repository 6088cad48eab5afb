// The query box: a plain text area over a coloured copy of its text, with line numbers beside it and errors marked.

import { element } from "../dom.js";
import { placeOf, tokens } from "./query_text.js";

// Colouring makes an element per token: beyond this the text is shown plain, and typing stays quick.
const LONGEST_COLOURED = 40_000;

function coloured(text, mark) {
  if (text.length > LONGEST_COLOURED && mark === null) return [text];
  const pieces = [];
  const plain = text.length > LONGEST_COLOURED;
  const add = (kind, start, end) => {
    if (start >= end) return;
    const marked = mark !== null && start < mark.end && mark.start < end;
    if (!marked) {
      const part = text.slice(start, end);
      pieces.push(kind === null ? part : element("span", { class: `t-${kind}`, textContent: part }));
      return;
    }
    add(kind, start, Math.max(start, mark.start));
    const from = Math.max(start, mark.start);
    const to = Math.min(end, mark.end);
    pieces.push(element("mark", { class: kind === null ? "" : `t-${kind}`, textContent: text.slice(from, to) }));
    add(kind, to, end);
  };
  let at = 0;
  for (const token of plain ? [] : tokens(text)) {
    add(null, at, token.start);
    add(token.kind === "sign" ? null : token.kind, token.start, token.end);
    at = token.end;
  }
  add(null, at, text.length);
  return pieces;
}

export class Editor {
  #area;
  #copy;
  #numbers;
  #lines = 0;
  #mark = null;
  #errorLine = null;

  /**
   * @param {HTMLElement} frame holds a textarea, an element `.copy` behind it and an element `.numbers`
   * @param {{onChange: (text: string) => void, onRun: () => void}} listeners
   */
  constructor(frame, { onChange, onRun }) {
    this.#area = frame.querySelector("textarea");
    this.#copy = frame.querySelector(".copy");
    this.#numbers = frame.querySelector(".numbers");
    this.#area.addEventListener("input", () => {
      this.#mark = null;
      this.#errorLine = null;
      this.#draw();
      onChange(this.text);
    });
    this.#area.addEventListener("scroll", () => this.#scroll());
    this.#area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || event.isComposing) return;
      event.preventDefault();
      onRun();
    });
    this.#draw();
  }

  get text() {
    return this.#area.value;
  }

  /** The text to begin with: no edit, and the keyboard stays where it is. */
  start(text) {
    this.#area.value = text;
    this.#area.dispatchEvent(new Event("input"));
  }

  /** Replaces the text, as an edit that can be undone where the browser allows it, and puts the caret at its start. */
  set text(text) {
    this.#area.focus({ preventScroll: true });
    this.#area.select();
    // Assigning `value` empties the undo history; this is the one way that does not.
    if (!document.execCommand("insertText", false, text)) this.#area.value = text;
    if (this.#area.value !== text) this.#area.value = text;
    this.#area.setSelectionRange(0, 0);
    this.#area.scrollTop = 0;
    this.#area.dispatchEvent(new Event("input"));
  }

  /** Marks a place (line and column from 1); false where the text has none such. */
  mark(line, column) {
    const place = placeOf(this.text, line, column);
    this.#mark = place !== null && place.end > place.start ? place : null;
    this.#errorLine = place === null ? null : line;
    this.#draw();
    return place !== null;
  }

  unmark() {
    if (this.#errorLine === null) return;
    this.#mark = null;
    this.#errorLine = null;
    this.#draw();
  }

  /** Puts the caret at a place and the keyboard in the box. */
  goTo(line, column) {
    const place = placeOf(this.text, line, column);
    if (place === null) return;
    this.#area.focus();
    this.#area.setSelectionRange(place.start, place.end);
    const height = this.#area.scrollHeight / Math.max(1, this.#lines);
    const top = (line - 1) * height;
    if (top < this.#area.scrollTop || top > this.#area.scrollTop + this.#area.clientHeight - 2 * height) {
      this.#area.scrollTop = Math.max(0, top - this.#area.clientHeight / 2);
    }
  }

  #draw() {
    const text = this.text;
    // The last line break shows only if something follows it.
    this.#copy.replaceChildren(...coloured(text, this.#mark), "\n");
    this.#lines = text.split("\n").length;
    const numbers = Array.from({ length: this.#lines }, (_, i) => {
      return element("span", { class: i + 1 === this.#errorLine ? "wrong" : "", textContent: String(i + 1) });
    });
    this.#numbers.replaceChildren(...numbers);
    this.#scroll();
  }

  #scroll() {
    this.#copy.style.transform = `translate(${-this.#area.scrollLeft}px, ${-this.#area.scrollTop}px)`;
    this.#numbers.style.transform = `translateY(${-this.#area.scrollTop}px)`;
  }
}
