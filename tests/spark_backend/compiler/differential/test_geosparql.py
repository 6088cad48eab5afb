"""GeoSPARQL's functions: the same one-shot and over windows, of geometries of all kinds and of what is none."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.functions.geosparql import GEO, GEOF, GEOSPARQL, RELATIONS
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions

PREFIXES = f"PREFIX geof: <{GEOF}> PREFIX geo: <{GEO}> "
GEOMETRIES = (
    *("POINT(1 1)", "POINT(0 0)", "POINT (0.5 0)", "point z(1 2 3)", "POINT EMPTY", "POINT(1e400 3)", "POINT(NaN 1)"),
    *("POLYGON((0 0,2 0,2 2,0 2,0 0))", "POLYGON((0 0,2 0,2 2,0 2,0 0),(0.5 0.5,1.5 0.5,1.5 1.5,0.5 1.5,0.5 0.5))"),
    # A hole that is outside of its polygon, a polygon without end, one that crosses itself, one of two points.
    *("POLYGON((0 0,1 0,1 1,0 0),(8 8,9 8,9 9,8 8))", "POLYGON((5 5,7 5,7 7,5 7))", "POLYGON((0 0,2 2,0 2,2 0,0 0))"),
    *("POLYGON((3 3,4 4))", "POLYGON EMPTY", "LINESTRING(0 0,2 2)", "LINESTRING(1 1)", "LINESTRING(2 0,8.5 8)"),
    *("MULTIPOINT(1 1,9 9)", "MULTILINESTRING((0 0,1 1),(2 2,3 3))", "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))"),
    *("GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(5 5,6 6))", "GEOMETRYCOLLECTION EMPTY", "POINT(8 8)", "CIRCLE(1 1)"),
    *(
        "<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(1 1)",
        "<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(1 1)",
    ),
)
OTHERS = (
    r'"{\"type\":\"Point\",\"coordinates\":[1,1]}"^^geo:geoJSONLiteral',
    r'"{\"type\":\"Polygon\",\"coordinates\":[[[0,0],[3,0],[3,3],[0,0]]]}"^^geo:geoJSONLiteral',
    '"<gml:Point/>"^^geo:gmlLiteral',
    '"POINT(1 1)"',
    ":a",
    "1",
)
TERMS = (*(f'"{text}"^^geo:wktLiteral' for text in GEOMETRIES), *OTHERS)
ALL = Content({None: f"@prefix geo: <{GEO}> . :s :g {', '.join(TERMS)} . _:b :g _:b ."})
PLACES = Content(ALL.windows, {None: f"@prefix geo: <{GEO}> . :p :place {', '.join(TERMS)} ."})
ARGUMENTS = {
    f"{GEOF}distance": "?a, ?b, <http://www.opengis.net/def/uom/OGC/1.0/metre>",
    f"{GEOF}relate": "?a, ?b, 'T*****FF*'",
    **{
        f"{GEOF}{name}": f"?a, <http://www.opengis.net/def/uom/OGC/1.0/{unit}>"
        for name, unit in (("area", "square_metre"), ("length", "metre"), ("perimeter", "metre"))
    },
}


def test_the_table_is_what_oxigraph_knows() -> None:
    """Nothing is in it that Oxigraph refuses; what it refuses is refused with a place (``test_refusals``)."""
    for iri, arguments in GEOSPARQL.items():
        assert_same_solutions(f"SELECT (<{iri}>({', '.join(['?v'] * arguments)}) AS ?z) {{?s :g ?v}}", ALL)


@pytest.mark.parametrize("iri", GEOSPARQL)
def test_a_function_gives_the_same_in_both(iri: str) -> None:
    arguments = ARGUMENTS.get(iri) or ", ".join(("?a", "?b")[: GEOSPARQL[iri]])
    assert_same_solutions(f"SELECT ?a ?b (<{iri}>({arguments}) AS ?z) {{?s :g ?a . ?t :g ?b}}", ALL)


@pytest.mark.parametrize("iri", RELATIONS)
def test_a_relation_is_a_condition_as_one_shot(iri: str) -> None:
    for condition in ("<{}>(?a, ?b)", "!<{}>(?a, ?b)", "<{}>(?b, 'POLYGON((0 0,2 0,2 2,0 2,0 0))'^^geo:wktLiteral)"):
        text = f"{PREFIXES} SELECT ?a ?b {{?s :g ?a . :p :place ?b FILTER({condition.format(iri)})}}"
        assert_same_solutions(text, PLACES)
    assert_same_solutions(f"SELECT ?a (COALESCE(<{iri}>(?a, ?none), 'none') AS ?z) {{?s :g ?a}}", ALL)


numbers = st.one_of(st.integers(-3, 3).map(str), st.decimals(-3, 3, places=1).map(str))
corners = st.tuples(numbers, numbers).map(" ".join)


def rings() -> st.SearchStrategy[str]:
    return st.lists(corners, min_size=3, max_size=5).map(lambda ring: f"({','.join([*ring, ring[0]])})")


geometries = st.one_of(
    corners.map(lambda point: f"POINT({point})"),
    st.lists(corners, min_size=2, max_size=4).map(lambda line: f"LINESTRING({','.join(line)})"),
    st.lists(corners, min_size=1, max_size=3).map(lambda points: f"MULTIPOINT({','.join(points)})"),
    rings().map(lambda ring: f"POLYGON({ring})"),
    st.tuples(rings(), rings()).map(lambda found: f"POLYGON({found[0]},{found[1]})"),
    st.tuples(corners, rings()).map(lambda found: f"GEOMETRYCOLLECTION(POINT({found[0]}),POLYGON({found[1]}))"),
)


@given(st.lists(geometries, min_size=2, max_size=4), st.sampled_from(sorted(RELATIONS)))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_relations_of_any_geometries_are_those_of_the_one_shot_query(found: list[str], iri: str) -> None:
    terms = ", ".join(f'"{text}"^^geo:wktLiteral' for text in found)
    content = Content({None: f"@prefix geo: <{GEO}> . :s :g {terms} ."})
    assert_same_solutions(f"SELECT ?a ?b (<{iri}>(?a, ?b) AS ?z) {{?s :g ?a . ?t :g ?b}}", content)
    assert_same_solutions(f"SELECT ?a ?b {{?s :g ?a . ?t :g ?b FILTER(<{iri}>(?a, ?b))}}", content)
