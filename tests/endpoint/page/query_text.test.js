import assert from "node:assert/strict";
import { test } from "node:test";

import { ONE_SHOT, over } from "../../../endpoint/page/query/examples.js";
import { classify, placeOf, prefixesOf, tokens } from "../../../endpoint/page/query/query_text.js";

const kind = (text) => {
  const { kind, form, continuous } = classify(text);
  return [kind, form, continuous];
};

test("a query is known by its form, after any prologue and in any case", () => {
  assert.deepEqual(kind("SELECT * {}"), ["query", "SELECT", false]);
  assert.deepEqual(kind("\uFEFF \n# comment\nbase <http://e/> prefix a: <b> PREFIX : <c>\naSk {}"), ["query", "ASK", false]);
  assert.deepEqual(kind("PREFIX insert: <urn:x> CONSTRUCT WHERE {?s ?p ?o}"), ["query", "CONSTRUCT", false]);
  assert.deepEqual(kind("describe <urn:x>"), ["query", "DESCRIBE", false]);
});

test("an update is known by its first keyword after the prologue", () => {
  for (const word of "INSERT DELETE LOAD CLEAR DROP CREATE ADD MOVE COPY WITH".split(" ")) {
    assert.deepEqual(kind(`PREFIX e: <http://e/#x> # SELECT\n${word.toLowerCase()} x`), ["update", null, false]);
  }
  assert.deepEqual(kind('INSERT DATA { <a> <b> "FROM STREAM" }'), ["update", null, false]);
});

test("every stream clause makes a query continuous", () => {
  for (const clause of [
    "SELECT * FROM STREAM <s> [RANGE 1s] {}",
    "SELECT * FROM NAMED STREAM <s> [RANGE 1s] {}",
    "SELECT * from\nnamed # why not\n\twindow :w on <s> [range 1s] {}",
    "SELECT * FROM<g>FROM NAMED WINDOW<w>ON STREAM<s>[NOW]{}",
    "SELECT * WHERE { STREAM <s> [RANGE 1s] {?s ?p ?o} }",
    "SELECT * WHERE { ?x ?y ?z . stream ex:s [NOW] {?s ?p ?o} }",
  ]) {
    assert.deepEqual(kind(clause), ["query", "SELECT", true], clause);
  }
});

test("so do event patterns, facts and operators, which need no stream clause", () => {
  for (const text of [
    "SELECT * { { ?x <enters> ?y } SEQ { ?x <leaves> ?y } }",
    "SELECT * { { ?x <enters> ?y }or{ ?x <leaves> ?y } }",
    "SELECT ?x { CURRENT Present { ?x <in> ?y } }",
    "SELECT ISTREAM ?x { ?x <in> ?y }",
  ]) {
    assert.deepEqual(kind(text), ["query", "SELECT", true], text);
  }
  assert.deepEqual(kind("CONSTRUCT FACT f { ?x <in> ?y } (UNION (SINCE ?x <a> ?y) (TILL ?x <b> ?y))"), ["query", "CONSTRUCT", true]);
  assert.deepEqual(kind("SELECT ?seq ?current { ?seq <and> or:current . fact:s <istream> 'SEQ' }"), ["query", "SELECT", false]);
});

test("words in strings, IRIs, names, variables and comments make nothing continuous", () => {
  for (const text of [
    'SELECT * { ?s ?p "FROM STREAM <x>" }',
    "SELECT * { ?s ?p 'it\\'s FROM STREAM <x>' }",
    'SELECT * { ?s ?p """a "quote" \\""" FROM STREAM <x>\n""" }',
    "SELECT * { ?s ?p '''FROM\nSTREAM <x>''' }",
    "SELECT * FROM <http://e/FROM#STREAM> { ?s ?p ?o }",
    "SELECT * { ?s ?p ?o } # FROM STREAM <x>",
    "SELECT ?from ?stream { ?from stream:from $stream }",
    "SELECT * FROM NAMED <stream> FROM stream:x { ?s :stream <x> }",
    "SELECT * FROM NAMED window:w { ?s ?p ?o }",
  ]) {
    assert.deepEqual(kind(text), ["query", "SELECT", false], text);
  }
});

test("a keyword may be written with codepoint escapes", () => {
  assert.deepEqual(kind("SELECT * FROM \\u0053TREA\\u004d <s> [RANGE 1s] {}"), ["query", "SELECT", true]);
  assert.deepEqual(kind("S\\U00000045LECT * { \\u0053tream <s> [NOW] {} }"), ["query", "SELECT", true]);
  assert.deepEqual(kind("SELECT * { ?s ?p '\\u0027 FROM STREAM <s> \\\\u0027' }"), ["query", "SELECT", false]);
});

test("a comparison is not taken for an IRI", () => {
  assert.equal(classify("SELECT * { FILTER(?a < 3) } # >").continuous, false);
  assert.equal(classify("SELECT * FROM STREAM <s> [NOW] { FILTER(?a<3 && ?b>'#') }").continuous, true);
  const kinds = tokens("?a < ?b").map((token) => token.kind);
  assert.deepEqual(kinds, ["variable", "sign", "variable"]);
});

test("a registration is one, and is continuous by what follows its name, not by REGISTER STREAM", () => {
  assert.deepEqual(kind("PREFIX e: <u:> REGISTER QUERY n AS PREFIX f: <u:> SELECT * FROM STREAM e:s [NOW] {}"), ["registration", null, true]);
  assert.deepEqual(kind("register stream <n> as construct where {}"), ["registration", null, false]);
});

test("nothing but space and comments is empty; what is unclear is a query for the server to refuse", () => {
  assert.deepEqual(kind(" \n# SELECT\n"), ["empty", null, false]);
  assert.deepEqual(kind("SELEKT * {}"), ["query", null, false]);
  assert.deepEqual(kind("PREFIX oops <http://e/> SELECT * {}"), ["query", null, false]);
});

test("tokens cover the text in order and leave out white space only", () => {
  const text = "SELECT ?é (1.5e3 AS ?x) { _:b ex:a\\,b.c. \"x\"@en-GB ; 'open\n ^^<i> <! \u{1D54F} }";
  let at = 0;
  for (const token of tokens(text)) {
    assert.equal(text.slice(at, token.start).trim(), "");
    assert.equal(text.slice(token.start, token.end), token.text);
    assert.ok(token.end > token.start);
    at = token.end;
  }
  assert.equal(text.slice(at).trim(), "");
  assert.ok(tokens(text).some((token) => token.kind === "name" && token.text === "ex:a\\,b.c"));
});

test("a literal of a megabyte and a long text of openings are read in no time", () => {
  const start = performance.now();
  assert.deepEqual(kind(`SELECT * { ?s ?p """${'x"\\\\'.repeat(300_000)}""" } # FROM STREAM`), ["query", "SELECT", false]);
  assert.equal(classify(`${"<".repeat(20_000)}`).kind, "query");
  assert.ok(performance.now() - start < 5000);
});

test("prefixes are those declared, resolved against BASE, the last one of a name", () => {
  const text = `# PREFIX no: <urn:no>
    BASE <http://e.org/a/> PREFIX r: <b#> prefix : <urn:one:> PREFIX :<urn:two:>
    REGISTER QUERY q AS PREFIX x.y: <urn:x> SELECT * { ?s ?p "PREFIX s: <urn:s>" }`;
  assert.deepEqual(
    [...prefixesOf(text)],
    [["r", "http://e.org/a/b#"], ["", "urn:two:"], ["x.y", "urn:x"]],
  );
});

test("a place is the token there, columns counted in characters", () => {
  const text = "SELECT *\n{ ?\u{1D54F}é oops }\n";
  const place = placeOf(text, 2, 7);
  assert.equal(text.slice(place.start, place.end), "oops");
  assert.deepEqual(placeOf(text, 2, 1), { start: 9, end: 10 });
});

test("a place at or beyond the end of a line is empty, one beyond the text is none", () => {
  assert.deepEqual(placeOf("ab\ncd", 1, 3), { start: 2, end: 2 });
  assert.deepEqual(placeOf("ab\ncd", 1, 99), { start: 2, end: 2 });
  assert.deepEqual(placeOf("", 1, 1), { start: 0, end: 0 });
  for (const line of [0, 3, 1.5, null]) assert.equal(placeOf("ab\ncd", line, 1), null);
});

test("the examples are what their place says they are", () => {
  for (const { title, text } of ONE_SHOT) assert.equal(classify(text).continuous, false, title);
  for (const { title, text } of over({ name: "2 rooms/é", iri: "http://e.org/s" })) {
    assert.equal(classify(text).continuous, true, title);
    assert.ok(text.includes("<http://e.org/s>"), title);
  }
  const registered = over({ name: "2 rooms/é", iri: "urn:s" }).find(({ text }) => text.includes("REGISTER"));
  assert.match(registered.text, /REGISTER QUERY [A-Za-z_][A-Za-z0-9_-]* AS/);
});
