// Axes: which values have a tick, and how they are written.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14].map((n) => n * DAY),
];

/** Of a value, what calculations with doubles lose: 21.3 and 21.300000000000004 are one value on an axis. */
const ROUNDING = 1e-12;
/** What is smaller has too few digits to be divided into ticks. */
const TINY = 1e-300;

/** The round number (1, 2 or 5 times a power of ten) that is the step of at most `count` ticks over a span. */
function roundStep(span, count) {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough * (1 - 1e-9)) ?? 10 * power;
}

/** Where an axis of numbers begins and ends: round numbers around the values, with zero where it is not far. */
export function numberScale(least, most, count, fromZero = false) {
  let [low, high] = [least, most];
  if (fromZero || (low >= 0 && low <= high - low) || (high <= 0 && -high <= high - low)) [low, high] = [Math.min(0, low), Math.max(0, high)];
  // One value alone lies in the middle of something; so do values that differ by what is lost in calculation.
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (size < TINY) [low, high] = [0, 1];
  else if (high - low <= size * ROUNDING) [low, high] = [low - size / 10, high + size / 10];
  const step = roundStep(high - low, count);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step);
  const largest = Math.max(Math.abs(first), Math.abs(last)) * step;
  return { low: first * step + 0, high: last * step + 0, ticks, words: tickWords(largest, step) };
}

/** How the ticks of an axis are written: all in one way, with as many digits as tell one from the next. */
function tickWords(largest, step) {
  const [size, finest] = [Math.floor(Math.log10(largest) + 1e-9), Math.floor(Math.log10(step) + 1e-9)];
  if (size >= 15 || finest < -6) return (value) => (Math.abs(value) < step / 2 ? "0" : value.toExponential(Math.max(0, size - finest)));
  const options = { maximumFractionDigits: Math.max(0, -finest), minimumFractionDigits: Math.max(0, -finest) };
  const compact = { notation: "compact", maximumFractionDigits: Math.max(0, 3 * Math.floor(size / 3) - finest) };
  const format = new Intl.NumberFormat("en", size >= 5 ? compact : options);
  return (value) => format.format(Math.abs(value) < step / 2 ? 0 : value);
}

/** A value for a person to read off: some four significant digits. */
export function valueWords(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e15 || size < 1e-4)) return value.toExponential(3);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toLocaleString("en", { maximumFractionDigits: size >= 1000 ? 1 : size >= 1 ? 2 : 5 });
}

/** An axis of times (milliseconds since 1970, UTC): at most about `count` ticks at round times. */
export function timeScale(least, most, count) {
  const [low, high] = least === most ? [least - SECOND, most + SECOND] : [least, most];
  const rough = (high - low) / Math.max(1, count);
  const step = STEPS.find((each) => each >= rough);
  if (step === undefined) return { low, high, ...monthScale(low, high, rough) };
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return { low, high, ticks, words: (time) => timeWords(time, step, high - low) };
}

function monthScale(low, high, rough) {
  const months = Math.max(1, rough / (30 * DAY));
  const step = [1, 3, 6].find((each) => each >= months) ?? 12 * roundStep(months / 12, 1);
  return { ticks: monthTicks(low, high, step), words: (time) => isoDate(time).slice(0, step < 12 ? -3 : -6) };
}

function monthTicks(low, high, step) {
  const ticks = [];
  const date = new Date(low);
  const first = Math.ceil((date.getUTCFullYear() * 12 + date.getUTCMonth()) / step) * step;
  for (let month = first; ; month += step) {
    const tick = new Date(0);
    tick.setUTCFullYear(Math.floor(month / 12), month % 12, 1);
    if (!(tick.getTime() <= high)) return ticks;
    if (tick.getTime() >= low) ticks.push(tick.getTime());
  }
}

function timeWords(time, step, span) {
  if (step >= DAY || (time % DAY === 0 && span > DAY)) return isoDate(time);
  const clock = new Date(time).toISOString().slice(-13, -1);
  if (step < SECOND) return clock;
  return step < MINUTE ? clock.slice(0, 8) : clock.slice(0, 5);
}

/** How times are read off that are together: as dates where they are nothing else. */
export const instantsWords = (times) => (times.every((time) => time % DAY === 0) ? isoDate : (time) => `${instantWords(time)} UTC`);

const isoDate = (time) => new Date(time).toISOString().slice(0, -14).replace(/^\+0*/, "");

/** A time for a person to read off: with its date only where it is not of the day of `now`. */
export function instantWords(time, now = Date.now()) {
  const text = new Date(time).toISOString();
  const clock = text.slice(11, time % SECOND === 0 ? 19 : 23);
  return text.slice(0, 10) === new Date(now).toISOString().slice(0, 10) ? clock : `${text.slice(0, 10)} ${clock}`;
}
