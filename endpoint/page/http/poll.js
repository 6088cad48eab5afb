// Asking again and again, but only while somebody looks.

const LONGEST_WAIT = 10_000;
/** Of a refusal for want of a token, or of a scope: it stands until another token is sent. */
const REFUSED = new Set([401, 403]);

/**
 * Calls `ask(signal)` at once and then `period` ms after each answer, while the page is visible.
 * `settled(null, error)` and `settled(value)` hear what came of it. Returns a function that asks at once: after a
 * refusal nothing else does, but a look at the page anew.
 */
export function poll(ask, period, settled) {
  let timer = null;
  let asking = false;
  let again = false;

  async function turn() {
    clearTimeout(timer);
    if (asking) {
      again = true;
      return;
    }
    asking = true;
    const stop = new AbortController();
    const late = setTimeout(() => stop.abort(), LONGEST_WAIT);
    let outcome;
    try {
      outcome = [await ask(stop.signal)];
    } catch (error) {
      outcome = [null, error];
    } finally {
      clearTimeout(late);
      asking = false;
    }
    settled(...outcome);
    const wait = again ? 0 : period;
    const refused = !again && REFUSED.has(outcome[1]?.status);
    again = false;
    if (document.visibilityState === "visible" && !refused) timer = setTimeout(turn, wait);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") turn();
    else clearTimeout(timer);
  });
  turn();
  return turn;
}
