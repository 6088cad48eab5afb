import assert from "node:assert/strict";
import { test } from "node:test";

import { problemFrom } from "../../../endpoint/page/http/http.js";
import { EVALUATIONS_KEPT, LiveResult } from "../../../endpoint/page/answer/live.js";
import { Rate, formatRate } from "../../../endpoint/page/lists/rate.js";
import { commonDatatype, datatypeOf, isNumeric, isWeb, shortInstant, shorten, shown } from "../../../endpoint/page/answer/terms.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NONE = new Map();
const integer = (value) => ({ type: "literal", value: String(value), datatype: `${XSD}integer` });

test("an IRI is shortened by the longest namespace, and only to a name that can be read back", () => {
  const prefixes = new Map([["e", "http://e.org/"], ["", "http://e.org/a/"], ["x", ""]]);
  assert.equal(shorten("http://e.org/b", prefixes), "e:b");
  assert.equal(shorten("http://e.org/a/b-1.c", prefixes), ":b-1.c");
  assert.equal(shorten("http://e.org/b/c", prefixes), null);
  assert.equal(shorten("http://e.org/b.", prefixes), null);
  assert.equal(shorten("http://e.org/", prefixes), null);
  assert.equal(shorten("http://other.org/b", prefixes), null);
  assert.equal(shorten(`${XSD}integer`, NONE), "xsd:integer");
});

test("terms are shown as what they are", () => {
  assert.deepEqual(shown({ type: "uri", value: "urn:x" }, NONE), { kind: "iri", text: "urn:x", full: "urn:x", language: null });
  assert.equal(shown({ type: "bnode", value: "b0" }, NONE).text, "_:b0");
  assert.equal(shown({ type: "literal", value: "<b>", "xml:lang": "en" }, NONE).language, "en");
  const triple = { subject: { type: "uri", value: "urn:s" }, predicate: { type: "uri", value: "urn:p" }, object: integer(1) };
  assert.equal(shown({ type: "triple", value: triple }, NONE).text, "<<( urn:s urn:p 1 )>>");
  const text = { type: "literal", value: "x", "xml:lang": "ar", "its:dir": "rtl" };
  assert.equal(shown({ type: "triple", value: { ...triple, object: text } }, NONE).text, "<<( urn:s urn:p x@ar--rtl )>>");
});

test("a datatype is said where it says something", () => {
  assert.equal(datatypeOf({ type: "literal", value: "x", datatype: `${XSD}string` }), null);
  assert.equal(datatypeOf({ type: "literal", value: "x", "xml:lang": "en" }), null);
  assert.equal(datatypeOf({ type: "typed-literal", value: "1", datatype: `${XSD}int` }), `${XSD}int`);
  assert.equal(datatypeOf(undefined), null);
  assert.ok(isNumeric(integer(1)));
  assert.ok(!isNumeric({ type: "literal", value: "1" }));
});

test("a column has one datatype if all that is bound in it has that one", () => {
  assert.equal(commonDatatype([{ a: integer(1) }, {}, { a: integer(2) }], "a"), `${XSD}integer`);
  assert.equal(commonDatatype([{ a: integer(1) }, { a: { type: "literal", value: "x" } }], "a"), null);
  assert.equal(commonDatatype([{ a: integer(1) }, { a: { type: "uri", value: "urn:x" } }], "a"), null);
  assert.equal(commonDatatype([], "a"), null);
});

test("only web addresses become links", () => {
  assert.ok(isWeb("https://e.org/") && isWeb("HTTP://e.org/"));
  for (const iri of ["javascript:alert(1)", "data:text/html,x", "urn:x", " http://e.org/"]) assert.ok(!isWeb(iri));
});

test("an instant of today is its time, another has its date, and the end of time is said", () => {
  const now = new Date("2026-03-01T12:00:00Z");
  assert.equal(shortInstant("2026-03-01T11:59:58.125Z", now), "11:59:58.125");
  assert.equal(shortInstant("1970-01-01T00:00:08Z", now), "1970-01-01 00:00:08");
  assert.equal(shortInstant("9999-12-31T23:59:59.999Z", now), "the end");
  assert.equal(shortInstant("soon", now), "soon");
});

const solutions = (time, n, operator = "RSTREAM") => {
  const bindings = Array.from({ length: n }, (_, i) => ({ x: integer(i) }));
  const evaluation = { time, operator, windows: { "urn:w": ["a", time] } };
  return { type: "message", data: JSON.stringify({ head: { vars: ["x"] }, results: { bindings }, evaluation }) };
};

test("evaluations are counted and the last of them kept", () => {
  const live = new LiveResult();
  for (let i = 0; i < EVALUATIONS_KEPT + 5; i += 1) assert.equal(live.take(solutions(`t${i}`, 2)).kind, "evaluation");
  assert.equal(live.received, EVALUATIONS_KEPT + 5);
  assert.equal(live.answers, 2 * live.received);
  assert.equal(live.evaluations.length, EVALUATIONS_KEPT);
  assert.equal(live.evaluations.at(-1).time, `t${live.received - 1}`);
  assert.deepEqual(live.evaluations.at(-1).windows, { "urn:w": ["a", `t${live.received - 1}`] });
});

test("large evaluations are kept fewer at a time, the newest always", () => {
  const live = new LiveResult();
  for (let i = 0; i < 4; i += 1) live.take(solutions(`t${i}`, 25_000));
  assert.deepEqual(live.evaluations.map(({ time }) => time), ["t2", "t3"]);
  live.take(solutions("t4", 100_000));
  assert.deepEqual(live.evaluations.map(({ time }) => time), ["t4"]);
});

test("a graph takes its time from the progress that follows it, an empty one too", () => {
  const live = new LiveResult();
  live.take({ type: "message", data: '<urn:s> <urn:p> "a" .\n<urn:s> <urn:p> "{" .' });
  assert.equal(live.evaluations[0].time, null);
  live.take({ type: "progress", data: '{"time":"t1","watermark":"w1"}' });
  live.take({ type: "message", data: "" });
  live.take({ type: "progress", data: '{"time":"t2","watermark":"w2"}' });
  assert.deepEqual(live.evaluations.map(({ time, answer }) => [time, answer.kind, answer.count]), [["t1", "graph", 2], ["t2", "graph", 0]]);
  assert.deepEqual([live.progress, live.watermark], ["t2", "w2"]);
});

test("all is complete up to an evaluation, also where no progress is told after it", () => {
  const live = new LiveResult();
  live.take(solutions("2026-01-01T00:00:05Z", 1));
  assert.equal(live.progress, null);
  live.take({ type: "progress", data: '{"time":"2026-01-01T00:00:05Z","watermark":"2026-01-01T00:00:08.250Z"}' });
  live.take(solutions("2026-01-01T00:00:08Z", 1));
  assert.deepEqual([live.progress, live.watermark], ["2026-01-01T00:00:08Z", "2026-01-01T00:00:08.250Z"]);
  live.take(solutions("2026-01-01T00:00:08.500Z", 1));
  assert.deepEqual([live.progress, live.watermark], ["2026-01-01T00:00:08.500Z", "2026-01-01T00:00:08.500Z"]);
});

test("ASK is yes or no, and other events say what they say", () => {
  const live = new LiveResult();
  live.take({ type: "message", data: '{"head":{},"boolean":false,"evaluation":{"time":"t"}}' });
  assert.equal(live.evaluations[0].answer.kind, "boolean");
  assert.equal(live.take({ type: "error", data: '{"title":"T","detail":"D"}' }).problem.detail, "D");
  assert.match(live.take({ type: "reset", data: '{"time":"1970-01-01T00:00:00Z"}' }).detail, /1970-01-01T00:00:00Z/);
  assert.equal(live.take({ type: "end", data: '{"reason":"removed"}' }).detail, "removed");
  assert.equal(live.take({ type: "end", data: "" }).detail, "");
  assert.equal(live.take({ type: "something", data: "new" }).kind, "other");
  assert.equal(live.take({ type: "message", data: '{"head":' }).kind, "error");
});

test("a problem is read from its document, or from whatever came instead", () => {
  const full = problemFrom('{"title":"T","detail":"D","status":422,"line":2,"column":3}', 400);
  assert.deepEqual([full.title, full.detail, full.status, full.line, full.column], ["T", "D", 422, 2, 3]);
  assert.equal(problemFrom("gateway is tired", 502, "HTTP 502").detail, "gateway is tired");
  assert.equal(problemFrom("[1]", 500, "HTTP 500").title, "HTTP 500");
  assert.equal(problemFrom('{"title":"T","line":"2"}').line, null);
});

test("a rate is that of the last ten seconds, and starts over with the count", () => {
  const rate = new Rate();
  assert.equal(rate.take(0, 0), null);
  assert.equal(rate.take(20, 2000), 10);
  for (let t = 4; t <= 20; t += 2) rate.take(20, t * 1000);
  assert.equal(rate.take(20, 22_000), 0);
  assert.equal(rate.take(5, 24_000), null);
  assert.equal(rate.take(7, 26_000), 1);
});

test("rates are short, and never zero when something comes", () => {
  assert.deepEqual([null, 0, 0.01, 1.25, 1234.5].map(formatRate), ["–", "0/s", "< 0.1/s", "1.3/s", "1,235/s"]);
});
