"""What an update may change: what it does change is never elsewhere."""

from __future__ import annotations

from itertools import product

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.sparql.reach import EVERYWHERE, Place, reach
from protocol.terms import RDF_TYPE

E = "http://e/"
P, Q = f"<{E}p>", f"<{E}q>"
PREFIX = f"PREFIX e: <{E}> PREFIX : <{E}> "


def place(graph: str | None, predicate: str | None) -> Place:
    return Place(E + graph if graph else graph, predicate)


@pytest.mark.parametrize(
    ("update", "found"),
    [
        ("INSERT DATA { e:s e:p 1 }", {place("", P)}),
        ("INSERT DATA { e:s e:p 1, 2 ; e:q 'x'@en, \"1\"^^e:t ; . GRAPH e:g { e:s a true . } _:b :p -1.5 }",
         {place("", P), place("", Q), place("g", RDF_TYPE)}),
        ("DELETE DATA { GRAPH <http://e/g> { e:s e:p e:o . e:s e:q e:o } . e:s e:p e:o }",
         {place("g", P), place("g", Q), place("", P)}),
        ("DELETE { ?s e:p ?o } INSERT { ?s e:p 1 . GRAPH ?g { ?s e:q 2 } } WHERE { ?s ?any ?o { ?s e:r [] } }",
         {place("", P), place(None, Q)}),
        ("WITH e:g DELETE { ?s e:p ?o } USING e:h USING NAMED e:i WHERE { ?s e:p ?o } ; INSERT DATA { e:s e:q 1 }",
         {place("g", P), place("", Q)}),
        ("DELETE WHERE { ?s e:p ?o . GRAPH ?g { ?s ?p ?o } }", {place("", P), place(None, None)}),
        ("DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", {place("", None)}),
        ("INSERT DATA { GRAPH e:g {} } ;", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_what_is_plainly_written_is_known(update: str, found: set[Place]) -> None:
    assert reach(PREFIX + update) == found


@pytest.mark.parametrize(
    "update",
    [
        "CLEAR GRAPH e:g",
        "DROP ALL",
        "COPY e:g TO e:h",
        "LOAD <http://e/d> INTO GRAPH e:g",
        "INSERT DATA { e:s e:p [ e:q 1 ] }",
        "INSERT DATA { e:s e:p (1 2) }",
        "INSERT DATA { << e:s e:p 1 >> e:q 2 }",
        "INSERT DATA { e:s e:p 1 {| e:q 2 |} }",
        "INSERT DATA { e:s e:p 'a\\u0022 . ' }",
        "INSERT DATA { e:s other:p 1 }",
        "INSERT DATA { e:s <p> 1 }",
        "INSERT DATA { GRAPH e:g { e:s e:p 1 }",
        "INSERT DATA { e:s e:p 1 } ; PREFIX e: <http://f/> INSERT DATA { e:s e:p 1 }",
        "INSERT",
        "WITH",
        f"INSERT DATA {{ e:s e:p '{'x' * 65_536}' }}",
    ],
)
def test_of_all_else_it_may_be_anything(update: str) -> None:
    assert reach(PREFIX + update) == EVERYWHERE


def test_names_are_those_of_the_base() -> None:
    assert reach("INSERT DATA { <s> <p> 1 }", E) == {place("", P)}
    assert reach("BASE <http://f/> INSERT DATA { <s> <p> 1 }", E) == {Place("", "<http://f/p>")}


_names = st.sampled_from(["e:a", ":b", "<http://e/c>", "<d>"])
_any = st.one_of(_names, st.sampled_from(["?x", "?y"]))
_objects = st.one_of(_any, st.sampled_from(["1", "'x'@en", "true", '"1"^^e:t', "_:b"]))


@st.composite
def _quads(draw: st.DrawFn, *, variables: bool) -> str:
    terms, objects = (_any, _objects) if variables else (_names, _objects.filter(lambda one: one[0] != "?"))
    lines = []
    for _ in range(draw(st.integers(0, 3))):
        verbs = st.one_of(terms, st.just("a"))
        further = "".join(f" ; {draw(verbs)} {draw(objects)}" for _ in range(draw(st.integers(0, 2))))
        triple = f"{draw(terms)} {draw(verbs)} {draw(objects)}, {draw(objects)}{further}"
        lines.append(f"GRAPH {draw(terms)} {{ {triple} }}" if draw(st.booleans()) else f"{triple} .")
    return f"{{ {' '.join(lines)} }}"


@st.composite
def _updates(draw: st.DrawFn) -> str:
    operations = []
    for _ in range(draw(st.integers(1, 3))):
        match draw(st.integers(0, 3)):
            case 0:
                operations.append(f"INSERT DATA {draw(_quads(variables=False))}")
            case 1:
                operations.append(f"DELETE WHERE {draw(_quads(variables=True))}".replace("_:b", "?b"))
            case _:
                graph = f"WITH {draw(_names)} " if draw(st.booleans()) else ""
                using = f"USING {draw(_names)} " if draw(st.booleans()) else ""
                deleted = draw(_quads(variables=True)).replace("_:b", "1")
                template = f"DELETE {deleted} INSERT {draw(_quads(variables=True))}"
                operations.append(f"{graph}{template} {using}WHERE {{ {{ ?x ?y ?z }} UNION {{ ?z ?x ?y }} }}")
    return PREFIX + " ; ".join(operations)


@given(_updates())
def test_nothing_is_changed_elsewhere(update: str) -> None:
    store = ox.Store()
    iris = [ox.NamedNode(E + name) for name in "abcd"]
    for subject, predicate, graph in product(iris, [*iris, ox.NamedNode(RDF_TYPE[1:-1])], [None, *iris]):
        store.add(ox.Quad(subject, predicate, iris[0], graph or ox.DefaultGraph()))
    before = set(store)
    try:
        store.update(update, base_iri=E)
    except SyntaxError:
        return
    found = reach(update, E)
    assert found != EVERYWHERE
    for quad in before ^ set(store):
        of = "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)[1:-1]
        assert any(one.has([of], str(quad.predicate)) for one in found)
