// The token this page sends (RFC 6750): kept for the tab, and asked for when the endpoint wants one.

const KEPT = `sparql-streams token ${new URL("../../", import.meta.url).pathname}`;
const CHARACTERS = /^[A-Za-z0-9\-._~+/]+=*$/;

let held = null;
let listener = () => undefined;

/** Storage may be denied to a page: then the token lives as long as the page. */
function stored(change) {
  try {
    if (change !== undefined) change(sessionStorage);
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** The token, or "" where there is none. */
export function heldToken() {
  held ??= stored() ?? "";
  return held;
}

/** Keeps a token from now on; "" forgets it. False, and nothing changed, for what cannot be one. */
export function keepToken(token) {
  if (token !== "" && !CHARACTERS.test(token)) return false;
  held = token;
  stored((storage) => (token === "" ? storage.removeItem(KEPT) : storage.setItem(KEPT, token)));
  return true;
}

/** What a refusal says to a person, from its status and its challenge; null where it is about something else. */
export function refusalWords(status, challenge, sent) {
  if (!/^bearer\b/i.test(challenge ?? "")) return null;
  const scope = /\bscope="([^"]*)"/.exec(challenge)?.[1];
  if (status === 403) return `The token is not for this: it lacks the scope ${scope ?? "that is needed"}.`;
  if (sent) return "The endpoint does not know this token.";
  return scope === undefined ? "The endpoint asks for a token." : `The endpoint asks for a token with the scope ${scope}.`;
}

/** `listen(words)` hears of each request that was refused for want of a token that is right. */
export function onRefused(listen) {
  listener = listen;
}

/** As `fetch`, with the token. */
export async function request(url, options = {}) {
  const token = heldToken();
  const headers = token === "" ? options.headers : { ...options.headers, Authorization: `Bearer ${token}` };
  const response = await globalThis.fetch(url, { ...options, headers });
  if (!response.ok && token === heldToken()) {
    const words = refusalWords(response.status, response.headers.get("www-authenticate"), token !== "");
    if (words !== null) listener(words);
  }
  return response;
}
