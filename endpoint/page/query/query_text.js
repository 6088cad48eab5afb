// Reads just enough of a query's text to colour it, to tell how it has to be sent, and to find its prefixes.
// The server's parser has the last word; what is unclear here is sent as a query, and the server says what is wrong.

const SPACE = /[\s\uFEFF]+/y;
const COMMENT = /#[^\n\r]*/y;
const IRI = /<[^<>"{}|^`\u0000-\u0020]*>/y;
const PREFIXED_NAME = /(?:_|\p{L}[\p{L}\p{M}\p{N}_.\-]*)?:(?:[\p{L}\p{M}\p{N}_.\-:]|%[0-9A-Fa-f]{2}|\\[^\s])*/uy;
const VARIABLE = /[?$][\p{L}\p{N}_][\p{L}\p{M}\p{N}_]*/uy;
const LANGUAGE = /@[A-Za-z]+(?:-[A-Za-z0-9]+)*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const WORD = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy;

const SCANNERS = [
  ["comment", COMMENT],
  ["iri", IRI],
  ["name", PREFIXED_NAME],
  ["variable", VARIABLE],
  ["language", LANGUAGE],
  ["number", NUMBER],
  ["word", WORD],
];

/** Where the string literal that begins at `start` ends (exclusive); an open one ends with its line or the text. */
function endOfString(text, start) {
  const quote = text[start];
  const long = text.startsWith(quote.repeat(3), start);
  const close = long ? quote.repeat(3) : quote;
  for (let i = start + close.length; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text.startsWith(close, i)) return i + close.length;
    else if (!long && (text[i] === "\n" || text[i] === "\r")) return i;
  }
  return text.length;
}

/**
 * The tokens of a text, in order, without the white space between them.
 * @returns {{kind: string, start: number, end: number, text: string}[]} offsets in UTF-16 units; kind is one of
 *   comment, iri, name (a prefixed name or blank node label), variable, language, number, word, string, sign.
 */
export function tokens(text) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    SPACE.lastIndex = at;
    if (SPACE.test(text)) {
      at = SPACE.lastIndex;
      continue;
    }
    let kind = "sign";
    let end = at + 1;
    if (text[at] === '"' || text[at] === "'") {
      kind = "string";
      end = endOfString(text, at);
    } else {
      for (const [name, pattern] of SCANNERS) {
        pattern.lastIndex = at;
        if (!pattern.test(text)) continue;
        kind = name;
        end = pattern.lastIndex;
        // A full stop ends the triple, not the name (PN_LOCAL).
        while (kind === "name" && text[end - 1] === "." && text[end - 2] !== "\\") end -= 1;
        break;
      }
    }
    found.push({ kind, start: at, end, text: text.slice(at, end) });
    at = end;
  }
  return found;
}

const ESCAPE = /\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[^])/g;

/** The text with letters for their codepoint escapes, which may stand in keywords (SPARQL 1.1 Query section 19.2). */
function withLetters(text) {
  return text.replace(ESCAPE, (escape, short, long) => {
    const code = Number.parseInt(short ?? long ?? "0", 16);
    const letter = code < 0x80 ? String.fromCharCode(code) : "";
    return /[A-Za-z]/.test(letter) ? letter : escape;
  });
}

const UPDATES = new Set(["INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"]);
const FORMS = new Set(["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"]);

const keyword = (token) => (token?.kind === "word" ? token.text.toUpperCase() : "");
const names = (token) => token?.kind === "iri" || token?.kind === "name";

/** Where the first token after the declarations (BASE, PREFIX) that begin at `from` is. */
function afterPrologue(list, from) {
  let i = from;
  for (;;) {
    if (keyword(list[i]) === "BASE" && list[i + 1]?.kind === "iri") i += 2;
    else if (keyword(list[i]) === "PREFIX" && list[i + 1]?.kind === "name" && list[i + 2]?.kind === "iri") i += 3;
    else return i;
  }
}

const EVENTS = new Set(["SEQ", "OPTIONALSEQ", "EQUALS", "EQUALSOPTIONAL", "AND", "OR"]);
const OPERATORS = new Set(["RSTREAM", "ISTREAM", "DSTREAM"]);

/**
 * Whether token i makes a query continuous: FROM STREAM, FROM NAMED STREAM, FROM NAMED WINDOW, STREAM <s> [...], what
 * needs no clause, as there is only one stream (event patterns, facts), or an operator.
 */
function streamClause(list, i) {
  const here = keyword(list[i]);
  if (here === "CURRENT" || (here === "FACT" && keyword(list[i - 1]) === "CONSTRUCT")) return true;
  if (EVENTS.has(here)) return list[i - 1]?.text === "}";
  if (OPERATORS.has(here)) return FORMS.has(keyword(list[i - 1]));
  if (here === "FROM") {
    const named = keyword(list[i + 1]) === "NAMED";
    const next = keyword(list[i + (named ? 2 : 1)]);
    return next === "STREAM" || (named && next === "WINDOW");
  }
  return here === "STREAM" && names(list[i + 1]) && keyword(list[i - 1]) !== "REGISTER";
}

/**
 * What a text is and how it is to be sent.
 * @returns {{kind: "empty"|"query"|"update"|"registration", form: string|null, continuous: boolean}}
 *   form is SELECT, ASK, CONSTRUCT or DESCRIBE where the text is a query and says so.
 */
export function classify(text) {
  const list = tokens(withLetters(text)).filter((token) => token.kind !== "comment");
  if (list.length === 0) return { kind: "empty", form: null, continuous: false };
  const first = keyword(list[afterPrologue(list, 0)]);
  if (UPDATES.has(first)) return { kind: "update", form: null, continuous: false };
  const continuous = list.some((_, i) => streamClause(list, i));
  if (first === "REGISTER") return { kind: "registration", form: null, continuous };
  return { kind: "query", form: FORMS.has(first) ? first : null, continuous };
}

function resolved(iri, base) {
  if (base === null) return iri;
  try {
    return new URL(iri, base).href;
  } catch {
    return iri; // Only used to show IRIs in short: one that does not resolve is shown in full.
  }
}

/** The prefixes a text declares, by name without the colon; a later declaration replaces an earlier one. */
export function prefixesOf(text) {
  const list = tokens(text).filter((token) => token.kind !== "comment");
  const prefixes = new Map();
  let base = null;
  list.forEach((token, i) => {
    if (keyword(token) === "BASE" && list[i + 1]?.kind === "iri") {
      base = resolved(list[i + 1].text.slice(1, -1), base);
    } else if (keyword(token) === "PREFIX" && list[i + 1]?.text.endsWith(":") && list[i + 2]?.kind === "iri") {
      prefixes.set(list[i + 1].text.slice(0, -1), resolved(list[i + 2].text.slice(1, -1), base));
    }
  });
  return prefixes;
}

/**
 * The piece of text at a line and column (both from 1, columns in characters): the token there, or one character.
 * @returns {{start: number, end: number}|null} offsets in UTF-16 units; null where the text has no such line.
 */
export function placeOf(text, line, column) {
  const lines = text.split("\n");
  if (!Number.isInteger(line) || line < 1 || line > lines.length) return null;
  let start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const lineEnd = start + lines[line - 1].length;
  // The server counts characters, a text area counts UTF-16 units.
  for (let i = 1; i < (column ?? 1) && start < lineEnd; i += 1) start += text.codePointAt(start) > 0xffff ? 2 : 1;
  const token = tokens(text).find((each) => each.start <= start && start < each.end);
  const end = token === undefined ? start + 1 : Math.min(token.end, lineEnd);
  return { start, end: Math.min(end, Math.max(lineEnd, start)) };
}
