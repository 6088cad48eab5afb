// What a followed query has said so far: its evaluations, the last of them kept, and what its other events mean.

import { readAnswer } from "./answer.js";
import { instantOf } from "./columns.js";
import { Problem, problemFrom } from "../http/http.js";

export const EVALUATIONS_KEPT = 24;
const ROWS_KEPT = 60_000;

function json(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {}; // An event without a body still says what its name says.
  }
}

/** The later of two times as they are written. */
const later = (one, other) => (instantOf(other) > instantOf(one) ? other : one);

/**
 * The state of a followed query. `take` an event, then read the fields.
 *
 * `evaluations` (newest last) are `{number, answer, time, operator, windows}`. The time of a graph is that of the
 * `progress` event after it, null until then.
 */
export class LiveResult {
  evaluations = [];
  received = 0;
  answers = 0;
  progress = null;
  watermark = null;

  /**
   * @param {{type: string, data: string}} event
   * @returns {{kind: "evaluation"|"progress"|"error"|"reset"|"end"|"other", detail?: string, problem?: Problem}}
   */
  take(event) {
    if (event.type === "message") return this.#evaluation(event.data);
    const said = json(event.data);
    if (event.type === "progress") {
      this.progress = said.time ?? this.progress;
      this.watermark = said.watermark ?? this.watermark;
      const last = this.evaluations.at(-1);
      if (last !== undefined && last.time === null) last.time = said.time ?? null;
      return { kind: "progress" };
    }
    if (event.type === "error") return { kind: "error", problem: problemFrom(event.data, 0, "An evaluation failed") };
    if (event.type === "reset") {
      const from = said.time ?? said.from ?? null;
      const where = from === null ? "later" : `at ${from}`;
      return { kind: "reset", detail: said.detail ?? `What came next is no longer held. The results go on ${where}.` };
    }
    if (event.type === "end") return { kind: "end", detail: said.reason ?? said.detail ?? "" };
    return { kind: "other" };
  }

  #evaluation(data) {
    let answer;
    try {
      answer = readAnswer(data);
    } catch {
      return { kind: "error", problem: new Problem({ title: "An evaluation came that is not JSON" }) };
    }
    const { time = null, operator = "", windows = {} } = answer.document?.evaluation ?? {};
    this.received += 1;
    this.answers += answer.count;
    this.evaluations.push({ number: this.received, answer, time, operator, windows });
    // A query that is never idle is told of no progress but its evaluations, which come in order.
    if (this.progress !== null) [this.progress, this.watermark] = [later(this.progress, time), later(this.watermark, time)];
    let rows = this.evaluations.reduce((sum, each) => sum + each.answer.count, 0);
    while (this.evaluations.length > 1 && (this.evaluations.length > EVALUATIONS_KEPT || rows > ROWS_KEPT)) {
      rows -= this.evaluations.shift().answer.count;
    }
    return { kind: "evaluation" };
  }
}
