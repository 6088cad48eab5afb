from __future__ import annotations

import pyoxigraph as ox
import pytest

from protocol.errors import UpdateSyntaxError
from protocol.formats.allow_list import AllowList
from protocol.sparql.guard import FetchRefused
from protocol.sparql.load import loads, with_data

ALLOWED = AllowList.of(["http://ex/data"])


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("LOAD <http://ex/data/a>", [("http://ex/data/a", False, None)]),
        ("load silent <http://ex/data/a> into graph <http://ex/g>", [("http://ex/data/a", True, "<http://ex/g>")]),
        ("PREFIX e: <http://ex/data/> LOAD e:a INTO GRAPH e:g;", [("http://ex/data/a", False, "e:g")]),
        ("BASE <http://ex/data/> LOAD <a>", [("http://ex/data/a", False, None)]),
        ("LOAD <http://ex/d\\u0061ta/a>", [("http://ex/data/a", False, None)]),
        (
            "PREFIX e: <http://no/> LOAD <http://ex/data/a> ; PREFIX e: <http://ex/data/> LOAD e:b",
            [("http://ex/data/a", False, None), ("http://ex/data/b", False, None)],
        ),
        ("INSERT DATA { <a:load> <a:b> 'LOAD <x>' } # LOAD <y>", []),
    ],
)
def test_loads_are_found_with_their_address(update: str, expected: list[tuple[str, bool, str | None]]) -> None:
    found = loads(update, ALLOWED, base="http://base/")
    assert [(one.iri, one.silent, one.graph) for one in found] == expected


@pytest.mark.parametrize(
    "update",
    [
        "LOAD <http://ex/other>",
        "LOAD SILENT <http://ex/other>",
        "LOAD <file:///etc/passwd>",
        "BASE <http://ex/data/> LOAD <../other>",
        "LOAD <http://ex/data/a> ; LOAD <http://ex.evil/data/a>",
    ],
)
def test_an_address_that_is_not_allowed_is_refused_with_its_place(update: str) -> None:
    with pytest.raises(FetchRefused, match="may not fetch") as caught:
        loads(update, ALLOWED, base="http://base/")
    assert caught.value.line == 1
    assert caught.value.column == update.rindex("LOAD") + 1


@pytest.mark.parametrize(
    "update",
    [
        "LOAD", "LOAD ?x", "LOAD 'x'", "LOADe:a", "LOADSILENT <http://ex/data/a>", "LOAD none:a",
        "LOAD <http://ex/data/a> INTO GRAPH", "LOAD <http://ex/data/a> INTO GRAPH ?g",
        "LOAD <http://ex/data/a> CLEAR ALL",
        "LOAD <http://ex/data/a> INTO DEFAULT", "LOAD <http://ex/data/a> } INSERT { <a:a> <a:b> 1",
    ],
)  # fmt: skip
def test_what_is_no_load_is_refused_before_anything_is_fetched(update: str) -> None:
    with pytest.raises(UpdateSyntaxError):
        loads(f"PREFIX e: <http://ex/data/> PREFIX LOADe: <http://ex/data/> {update}", ALLOWED)


def test_the_update_that_runs_has_the_data_in_place_of_each_load() -> None:
    update = (
        "PREFIX e: <http://ex/data/>\nINSERT DATA { e:s e:p 1 } ;\nLOAD e:a\nINTO GRAPH e:g ; "
        "LOAD <http://ex/data/b>; LOAD SILENT e:c; LOAD e:d INTO GRAPH e:empty"
    )
    contents = ['<a:s> <a:p> "x\\ny {;} LOAD <z>" .\n_:b0 <a:p> _:b0 .\n', "<a:s> <a:p> 2 .\n", None, ""]
    operations = loads(update, ALLOWED)
    text = with_data(update, operations, contents)
    assert text.count("\n") == update.count("\n")
    store = ox.Store()
    store.update(text)
    graph = ox.NamedNode("http://ex/data/g")
    literals = [quad.object for quad in store.quads_for_pattern(ox.NamedNode("a:s"), None, None, graph)]
    assert literals == [ox.Literal("x\ny {;} LOAD <z>")]
    assert len(list(store.quads_for_pattern(None, None, None, graph))) == 2
    assert len(list(store.quads_for_pattern(None, None, None, ox.DefaultGraph()))) == 2
    assert store.contains_named_graph(ox.NamedNode("http://ex/data/empty"))
    assert loads(with_data(update, operations, [None] * 4), AllowList()) == []
