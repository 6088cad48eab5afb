// Links to this page that carry what it is to show, in the fragment of the address: that stays in the browser.

// Browsers carry longer ones, but nobody sends them.
const LONGEST = 250_000;

/** The address of this page with a query: whoever opens it finds it in the box, and runs it or not. */
export function queryLink(text, page) {
  const link = new URL(page);
  link.hash = `query=${encodeURIComponent(text)}`;
  return link.href;
}

/** The address of this page following a standing query. */
export function followLink(name, page) {
  const link = new URL(page);
  link.hash = `follow=${encodeURIComponent(name)}`;
  return link.href;
}

/**
 * What a fragment asks for.
 * @returns {{query: string|null, follow: string|null}} null where it does not ask for it, or cannot be read
 */
export function askedBy(fragment) {
  const found = { query: null, follow: null };
  const match = /^#(query|follow)=(.*)$/s.exec(fragment);
  if (match === null || fragment.length > LONGEST) return found;
  try {
    found[match[1]] = decodeURIComponent(match[2]);
  } catch {
    // An address that was cut in the middle of an escape asks for nothing.
  }
  return found;
}
