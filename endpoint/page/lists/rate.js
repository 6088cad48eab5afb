// The rate of something that is only counted: from counts seen one after the other.

const SPAN = 10_000;

/** Elements a second over the last ten seconds of counts. */
export class Rate {
  #seen = [];

  /** Takes a count at a time (ms) and returns the rate a second; null before the second count. */
  take(count, now) {
    // A count that fell is that of another stream with the same name.
    if (this.#seen.length > 0 && count < this.#seen.at(-1).count) this.#seen = [];
    this.#seen.push({ count, now });
    while (this.#seen.length > 2 && now - this.#seen[1].now >= SPAN) this.#seen.shift();
    const first = this.#seen[0];
    return now > first.now ? ((count - first.count) * 1000) / (now - first.now) : null;
  }
}

/** A rate for a person: three digits at most, no false zero. */
export function formatRate(rate) {
  if (rate === null) return "–";
  if (rate === 0) return "0/s";
  if (rate < 0.1) return "< 0.1/s";
  return `${rate < 10 ? rate.toFixed(1) : Math.round(rate).toLocaleString("en")}/s`;
}
