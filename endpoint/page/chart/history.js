// The answers that a chart over time is drawn from: as many of the last as a person can look at.

const EVALUATIONS = 300;
const ROWS = 12_000;

/** The solutions of the last evaluations, with their times. */
export class AnswerHistory {
  #rows = 0;

  /** `{time, rows}`, in the order of their times (milliseconds since 1970). */
  evaluations = [];
  vars = [];

  /** Takes the rows of an evaluation. One that was there already is not taken twice. */
  take(time, vars, rows) {
    if (time === null || time <= (this.evaluations.at(-1)?.time ?? -Infinity)) return;
    this.vars = vars;
    this.evaluations.push({ time, rows });
    this.#rows += rows.length;
    while (this.evaluations.length > 1 && (this.evaluations.length > EVALUATIONS || this.#rows > ROWS)) {
      this.#rows -= this.evaluations.shift().rows.length;
    }
  }

  get rows() {
    return this.evaluations.flatMap(({ rows }) => rows);
  }
}
