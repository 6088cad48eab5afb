import assert from "node:assert/strict";
import { test } from "node:test";

import { formatSeconds } from "../../../endpoint/page/lists/queries.js";
import { sectionsOf, treeOf } from "../../../endpoint/page/plan/outline.js";
import { askedBy, followLink, queryLink } from "../../../endpoint/page/query/link.js";

const PAGE = "http://localhost:8000/some/prefix/?a=b#follow=old";

test("a link carries any query, and gives back exactly that", () => {
  for (const text of ["ASK {}", "# ü \u{1D54F} %41 &x=1#y\r\n\tSELECT * { ?s ?p \"a+b\" }", "follow=x", "%"]) {
    const link = new URL(queryLink(text, PAGE));
    assert.equal(link.pathname + link.search, "/some/prefix/?a=b");
    assert.deepEqual(askedBy(link.hash), { query: text, follow: null });
  }
  assert.deepEqual(askedBy(new URL(followLink("cpu-by-core", PAGE)).hash), { query: null, follow: "cpu-by-core" });
});

test("an address that cannot be read, or is of something else, asks for nothing", () => {
  for (const fragment of ["", "#", "#query", "#answer", "#query=%E0%A4", `#query=${"x".repeat(300_000)}`]) {
    assert.deepEqual(askedBy(fragment), { query: null, follow: null }, fragment.slice(0, 20));
  }
});

const PLAN = `SELECT RSTREAM of (?room)

Site
  DuckDB: the windows hold about 500 triples

Rows
             estimated  last evaluation
  window_0         500

Algebra (after the passes split_static)
  Project ?room
    Join
      BGP
        ?o :in ?room .   # about 35 triples of this predicate
      BGP
        ?o :value "a # b" .

Nothing is static

SQL (DuckDB)
  SELECT

    1
`;

test("a plan is sections, with what stands in brackets beside their titles", () => {
  const sections = sectionsOf(PLAN);
  assert.deepEqual(
    sections.map(({ title, detail, lines }) => [title, detail, lines.length]),
    [["SELECT RSTREAM of", "?room", 0], ["Site", "", 1], ["Rows", "", 2], ["Algebra", "after the passes split_static", 6], ["Nothing is static", "", 0], ["SQL", "DuckDB", 3]],
  );
  assert.equal(sections[2].lines[0], "           estimated  last evaluation");
  assert.deepEqual(sectionsOf(""), []);
});

test("indented lines are a tree, and what is told of rows stands beside them", () => {
  const [project] = treeOf(sectionsOf(PLAN)[3].lines);
  assert.equal(project.text, "Project ?room");
  const [left, right] = project.children[0].children;
  assert.deepEqual(left.children[0], { text: "?o :in ?room .", note: "about 35 triples of this predicate", children: [] });
  assert.deepEqual(right.children[0], { text: '?o :value "a # b" .', note: "", children: [] });
  assert.deepEqual(treeOf(["    a", "  b", "c"]).map(({ text }) => text), ["a", "b", "c"]);
});

test("durations are short", () => {
  assert.deepEqual([null, 0.0123, 0.5, 1.25, 75].map(formatSeconds), ["–", "12 ms", "500 ms", "1.3 s", "75.0 s"]);
});
