// Elements from names, properties and children. Text always becomes a text node: nothing is ever parsed as HTML.

/**
 * A new element. Properties: `class`, `on` (listeners by event), `data` (data attributes), `attrs` (attributes that
 * have no property); anything else is set as a property. Children: nodes and strings.
 */
export function element(name, { class: classes = "", on = {}, data = {}, attrs = {}, ...properties } = {}, ...children) {
  const made = document.createElement(name);
  if (classes !== "") made.className = classes;
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  for (const [key, value] of Object.entries(attrs)) made.setAttribute(key, value);
  Object.assign(made.dataset, data);
  Object.assign(made, properties);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** A new element of SVG, from attributes and children: nodes and strings. */
export function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);

/** Sets an element's text where it differs, so that selections and screen readers are left in peace. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

const counts = new Intl.NumberFormat("en");

/** A count with its noun: `1 row`, `10,000 rows`. */
export const plural = (n, noun, many = `${noun}s`) => `${counts.format(n)} ${n === 1 ? noun : many}`;
export const formatCount = (n) => counts.format(n);
