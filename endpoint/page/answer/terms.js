// RDF terms as SPARQL 1.1 Query Results JSON writes them, made short for a table.

const XSD = "http://www.w3.org/2001/XMLSchema#";
const KNOWN = new Map([
  ["xsd", XSD],
  ["rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"],
]);
const LOCAL_NAME = /^[\p{L}\p{N}_](?:[\p{L}\p{M}\p{N}_.\-]*[\p{L}\p{M}\p{N}_\-])?$/u;
const NUMERIC = new Set(
  (
    "integer decimal double float long int short byte nonNegativeInteger positiveInteger nonPositiveInteger " +
    "negativeInteger unsignedLong unsignedInt unsignedShort unsignedByte"
  )
    .split(" ")
    .map((name) => XSD + name),
);

/** `prefix:local` for an IRI in the longest namespace that a prefix names, else null. */
export function shorten(iri, prefixes) {
  let best = null;
  for (const [prefix, namespace] of [...KNOWN, ...prefixes]) {
    if (namespace === "" || !iri.startsWith(namespace)) continue;
    if (best !== null && best.namespace.length > namespace.length) continue;
    if (LOCAL_NAME.test(iri.slice(namespace.length))) best = { prefix, namespace };
  }
  return best === null ? null : `${best.prefix}:${iri.slice(best.namespace.length)}`;
}

/** An IRI in short, or in full where no prefix fits. */
export const shortIri = (iri, prefixes) => shorten(iri, prefixes) ?? iri;

/** The datatype worth showing: none for plain and language-tagged strings. */
export function datatypeOf(term) {
  if (term === undefined || (term.type !== "literal" && term.type !== "typed-literal")) return null;
  return term["xml:lang"] || !term.datatype || term.datatype === `${XSD}string` ? null : term.datatype;
}

export const isNumeric = (term) => NUMERIC.has(datatypeOf(term));

/** Whether an IRI may become a link: nothing that a click would run. */
export const isWeb = (iri) => /^https?:\/\//i.test(iri);

/** The language and base direction of a literal as they are written behind it, or nothing. */
export function languageTag(term) {
  if (!term["xml:lang"]) return "";
  return `@${term["xml:lang"]}${term["its:dir"] ? `--${term["its:dir"]}` : ""}`;
}

/**
 * What a cell shows of a term.
 * @returns {{kind: "iri"|"blank"|"literal"|"triple", text: string, full: string, language: string|null}}
 */
export function shown(term, prefixes) {
  const value = String(term.value ?? "");
  if (term.type === "uri") return { kind: "iri", text: shortIri(value, prefixes), full: value, language: null };
  if (term.type === "bnode") return { kind: "blank", text: `_:${value}`, full: `_:${value}`, language: null };
  if (term.type === "triple") {
    const parts = [term.value?.subject, term.value?.predicate, term.value?.object];
    const inTriple = (part, pick) => `${shown(part, prefixes)[pick]}${languageTag(part)}`;
    const text = (pick) => `<<( ${parts.map((part) => (part ? inTriple(part, pick) : "?")).join(" ")} )>>`;
    return { kind: "triple", text: text("text"), full: text("full"), language: null };
  }
  return { kind: "literal", text: value, full: value, language: term["xml:lang"] || null };
}

/** The one datatype of all the literals of a column, or null: then each cell says its own. */
export function commonDatatype(rows, variable) {
  let common;
  for (const row of rows) {
    const term = row[variable];
    if (term === undefined) continue;
    const datatype = datatypeOf(term);
    if (datatype === null || (common !== undefined && common !== datatype)) return null;
    common = datatype;
  }
  return common ?? null;
}

// How the endpoint writes the watermark of a stream that has ended: the last instant of the year 9999.
const END_OF_TIME = "9999-12-31T23:59:59.999Z";

/** An instant (xsd:dateTime) for a person: the time alone if it is of today, UTC as everywhere. */
export function shortInstant(instant, now = new Date()) {
  if (instant === END_OF_TIME) return "the end";
  const match = /^(-?\d{4,}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(String(instant));
  if (match === null) return String(instant);
  return match[1] === now.toISOString().slice(0, 10) ? match[2] : `${match[1]} ${match[2]}`;
}
