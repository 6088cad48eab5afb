import assert from "node:assert/strict";
import { test } from "node:test";

import { featuresOf, placesOf } from "../../../endpoint/page/map/features.js";
import { boundsOf, projection } from "../../../endpoint/page/map/map.js";
import { UnreadGeometry, geometryOf } from "../../../endpoint/page/map/wkt.js";

const WKT = "http://www.opengis.net/ont/geosparql#wktLiteral";
const place = (value) => ({ type: "literal", value, datatype: WKT });
const number = (value) => ({ type: "literal", value: String(value), datatype: "http://www.w3.org/2001/XMLSchema#double" });

test("every kind of geometry is points, lines and areas", () => {
  const kinds = {
    "POINT(8.4 49)": { points: [[8.4, 49]], lines: [], areas: [] },
    " point z ( 8 49 120 ) ": { points: [[8, 49]], lines: [], areas: [] },
    "POINTZM(8 49 1 2)": { points: [[8, 49]], lines: [], areas: [] },
    "POINT EMPTY": { points: [], lines: [], areas: [] },
    "MULTIPOINT((1 2), (3 4))": { points: [[1, 2], [3, 4]], lines: [], areas: [] },
    "MULTIPOINT(1 2, 3 4)": { points: [[1, 2], [3, 4]], lines: [], areas: [] },
    "LINESTRING(-1.5e0 2, +3 .5)": { points: [], lines: [[[-1.5, 2], [3, 0.5]]], areas: [] },
    "MULTILINESTRING((1 2,3 4),EMPTY)": { points: [], lines: [[[1, 2], [3, 4]]], areas: [] },
    "POLYGON((0 0,4 0,4 4,0 0),(1 1,2 1,2 2,1 1))": {
      points: [], lines: [], areas: [[[[0, 0], [4, 0], [4, 4], [0, 0]], [[1, 1], [2, 1], [2, 2], [1, 1]]]],
    },
    "MULTIPOLYGON(((0 0,4 0,4 4,0 0)))": { points: [], lines: [], areas: [[[[0, 0], [4, 0], [4, 4], [0, 0]]]] },
    "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4))": { points: [[1, 2]], lines: [[[1, 2], [3, 4]]], areas: [] },
  };
  for (const [text, shapes] of Object.entries(kinds)) assert.deepEqual(geometryOf(text), shapes, text);
});

test("the reference system says which coordinate comes first", () => {
  assert.deepEqual(geometryOf("<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(8 49)").points, [[8, 49]]);
  assert.deepEqual(geometryOf("<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(49 8)").points, [[8, 49]]);
  assert.throws(() => geometryOf("<http://www.opengis.net/def/crs/EPSG/0/3857> POINT(49 8)"), /3857> is not known/);
});

test("what is no geometry is told with its place", () => {
  for (const [text, said] of [
    ["", /kind of geometry/],
    ["8 49", /kind of geometry/],
    ["CIRCLE(1 2)", /CIRCLE is not drawn/],
    ["POINT(8)", /two numbers/],
    ["POINT(8 49", /expected at character/],
    ["POINT(8 49) x", /expected to end after character 11/],
    ["LINESTRING(1 2; 3 4)", /expected/],
    ["POINT(200 49)", /no longitude and latitude/],
    [`LINESTRING(${"1 2,".repeat(30_000)}1 2)`, /more than 20,000 points/],
    ["GEOMETRYCOLLECTION(".repeat(100_000), /nested more than 16 times/],
    ["GEOMETRYCOLLECTION(".repeat(3) + "POINT(1 2)", /expected/],
  ]) {
    assert.throws(() => geometryOf(text), (error) => error instanceof UnreadGeometry && said.test(error.message), text.slice(0, 60));
  }
});

test("an answer has its places by well-known text, or by pairs, and says which cannot be drawn", () => {
  const rows = [{ name: { type: "literal", value: "a" }, where: place("POINT(8 49)") }, { where: place("POINT(8") }, {}];
  assert.deepEqual(placesOf(["name", "where"], rows), { geometry: "where" });
  const found = featuresOf(["name", "where"], rows, { geometry: "where" }, new Map());
  assert.deepEqual([found.features.map(({ name }) => name), found.problems.length, found.left], [["a"], 1, 0]);
  const pairs = [{ lat: number(49), lon: number(8) }, { lat: number(50) }];
  const pair = placesOf(["lat", "lon"], pairs);
  assert.deepEqual(featuresOf(["lat", "lon"], pairs, pair, new Map()).features, [{ name: "here", shapes: { points: [[8, 49]], lines: [], areas: [] } }]);
  assert.equal(placesOf(["name"], rows.slice(2)), null);
});

test("all of the bounds is on the drawing, true to scale in their middle", () => {
  for (const bounds of [[8, 49, 8, 49], [8, 49, 8.1, 49.5], [-180, -90, 180, 90], [10, 80, 20, 81]]) {
    const { x, y, pixelsAKilometre } = projection(bounds, 600, 360);
    const corners = [x(bounds[0]), x(bounds[2]), 600 - x(bounds[0]), y(bounds[1]), y(bounds[3])];
    assert.ok(corners.every((each) => each >= 0) && y(bounds[1]) <= 360 && x(bounds[2]) <= 600, `${bounds}: ${corners}`);
    assert.ok(pixelsAKilometre > 0);
    const middle = (bounds[1] + bounds[3]) / 2;
    const [across, up] = [x(1) - x(0), y(0) - y(1)];
    assert.ok(Math.abs(across / up - Math.max(0.05, Math.cos((middle * Math.PI) / 180))) < 1e-9);
  }
});

test("bounds grow with what comes, and nothing has none", () => {
  const at = (x, y) => ({ shapes: { points: [[x, y]], lines: [], areas: [] } });
  assert.equal(boundsOf([]), null);
  const first = boundsOf([at(8, 49)]);
  assert.deepEqual(boundsOf([at(9, 48)], first), [8, 48, 9, 49]);
  assert.deepEqual(boundsOf([], first), first);
});
