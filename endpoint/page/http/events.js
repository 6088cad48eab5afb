// Server-Sent Events over fetch: unlike EventSource it can POST a query of any length and shows what a refusal says.
// Parsing as in the HTML standard, section 9.2; reconnecting with Last-Event-ID as in
// docs/http.md, "Resuming and replaying".

import { Problem, problemOf } from "./http.js";

const END_OF_LINE = /[\r\n]/g;

/** Turns the pieces of a text/event-stream, however they are cut, into events. */
export class EventParser {
  #onEvent;
  #onComment;
  #started = false;
  #skipLineFeed = false;
  #line = [];
  #type = "";
  #data = [];
  #id = "";

  /** The id of the last event dispatched, and the delay before a reconnection (ms) if the server set one. */
  lastEventId = "";
  retry = null;

  /**
   * @param {(event: {type: string, data: string, id: string}) => void} onEvent
   * @param {(text: string) => void} onComment
   */
  constructor(onEvent, lastEventId = "", onComment = () => undefined) {
    this.#onEvent = onEvent;
    this.#onComment = onComment;
    this.#id = lastEventId;
    this.lastEventId = lastEventId;
  }

  push(text) {
    if (text === "") return;
    let from = 0;
    if (!this.#started) {
      this.#started = true;
      if (text.startsWith("\uFEFF")) from = 1;
    }
    if (this.#skipLineFeed && text[from] === "\n") from += 1;
    this.#skipLineFeed = false;
    END_OF_LINE.lastIndex = from;
    for (let match = END_OF_LINE.exec(text); match !== null; match = END_OF_LINE.exec(text)) {
      this.#line.push(text.slice(from, match.index));
      from = match.index + 1;
      if (match[0] === "\r") {
        if (from === text.length) this.#skipLineFeed = true;
        else if (text[from] === "\n") from += 1;
      }
      const line = this.#line.join("");
      this.#line = [];
      // A listener may push elsewhere: the pattern is shared, so its place is set again after each line.
      this.#take(line);
      END_OF_LINE.lastIndex = from;
    }
    if (from < text.length) this.#line.push(text.slice(from));
  }

  #take(line) {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#type = value;
    else if (colon === 0) this.#onComment(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    else if (field === "retry" && /^\d+$/.test(value)) this.retry = Number(value);
    return undefined;
  }

  #dispatch() {
    const event = { type: this.#type || "message", data: this.#data.join("\n"), id: this.#id };
    const empty = this.#data.length === 0;
    this.lastEventId = this.#id;
    this.#type = "";
    this.#data = [];
    if (!empty) this.#onEvent(event);
  }
}

const FIRST_DELAY = 1000;
const LONGEST_DELAY = 30_000;
// Heartbeats come at most 15 s apart; three of them missing means the connection is dead, whatever the network says.
const LONGEST_SILENCE = 45_000;
const PASSING = new Set([408, 425, 429, 502, 503, 504]);

function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, milliseconds);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done);
    return undefined;
  });
}

/** Reads one connection until it ends, breaks, falls silent or `done` holds. What `parser` throws goes through. */
async function read(response, parser, done, signal, silence) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const cancel = () => reader.cancel().catch(() => undefined); // A stream that has failed already cannot be cancelled.
  signal.addEventListener("abort", cancel);
  let timer = null;
  try {
    while (!done() && !signal.aborted) {
      timer = setTimeout(cancel, silence);
      // A connection that breaks is the same to the caller as one that was closed: both are taken up again.
      const piece = await reader.read().catch(() => ({ done: true }));
      clearTimeout(timer);
      if (piece.done) return;
      parser.push(decoder.decode(piece.value, { stream: true }));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/**
 * Follows an event stream until it ends, reconnecting after the last event that came.
 *
 * Resolves to `{ended: true}` after an `end` event (or 204), `{ended: false}` when `signal` stops it, and
 * `{response}` when the server answers with something else than an event stream. Throws Problem when it refuses.
 * `lastEventId` is the event to begin after, where an earlier following ended at one.
 * @param {{method?: string, headers?: object, body?: string, signal: AbortSignal,
 *   onEvent: Function, onComment?: Function, onOpen?: Function, onWait?: (delay: number, reason: Problem) => void, lastEventId?: string,
 *   fetch?: Function, sleep?: Function, silence?: number}} options
 */
export async function follow(url, options) {
  const { method = "GET", headers = {}, body, signal, onEvent, onOpen = () => undefined, onWait = () => undefined } = options;
  const { onComment = () => undefined } = options;
  const { fetch = globalThis.fetch.bind(globalThis), sleep = pause, silence = LONGEST_SILENCE } = options;
  let { lastEventId = "" } = options;
  let retry = FIRST_DELAY;
  let failures = 0;
  let ended = false;
  while (!signal.aborted) {
    const resume = lastEventId === "" ? {} : { "Last-Event-ID": lastEventId };
    const accept = { ...headers, Accept: "text/event-stream", ...resume };
    // fetch rejects for failures of the network only; a refusal is a response.
    const response = await fetch(url, { method, body, signal, cache: "no-store", headers: accept }).catch(() => null);
    if (signal.aborted) break;
    let reason = new Problem({ title: "The server cannot be reached" });
    let delay = Math.min(retry * 2 ** failures, LONGEST_DELAY);
    if (response?.status === 204) return { ended: true };
    if (response !== null && !response.ok) {
      reason = await problemOf(response);
      if (!PASSING.has(response.status)) throw reason;
      const seconds = Number(response.headers.get("retry-after") ?? NaN);
      if (seconds >= 0) delay = Math.min(seconds * 1000, LONGEST_DELAY);
    } else if (response !== null) {
      if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return { response };
      reason = new Problem({ title: "The connection was lost" });
      onOpen();
      let heartbeats = 0;
      const parser = new EventParser((event) => {
        if (signal.aborted || ended) return;
        failures = 0;
        ended = event.type === "end";
        onEvent(event);
      }, lastEventId, (text) => {
        // The first one may be the opening; another comes seconds later, from a server that is well and has no news.
        if (text === "heartbeat") heartbeats += 1;
        if (heartbeats > 1) failures = 0;
        onComment(text);
      });
      await read(response, parser, () => ended, signal, silence);
      if (ended) return { ended: true };
      lastEventId = parser.lastEventId;
      if (parser.retry !== null) retry = parser.retry;
      delay = Math.min(retry * 2 ** failures, LONGEST_DELAY);
    }
    if (signal.aborted) break;
    failures += 1;
    onWait(delay, reason);
    await sleep(delay, signal);
  }
  return { ended: false };
}
