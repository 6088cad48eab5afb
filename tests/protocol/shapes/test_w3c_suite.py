"""W3C's tests of SHACL Core (the folder data-shapes-test-suite/tests/core of the repository w3c/data-shapes), all of
them, where the environment variable SHACL_TESTS says where that folder is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from protocol.errors import ProtocolError
from protocol.shapes.graph import Graph
from protocol.shapes.path_reading import read_path
from protocol.shapes.report import as_triples
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.shapes.vocabulary import sh

_MANIFEST = "<http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#{}>"
_TEST = "<http://www.w3.org/ns/shacl-test#{}>"

_SUITE = os.environ.get("SHACL_TESTS")


def _read(path: Path) -> list[tuple[str, str, str]]:
    parsed = ox.parse(path.read_bytes(), format=ox.RdfFormat.TURTLE, base_iri=path.as_uri())
    return [(str(one.subject), str(one.predicate), str(one.object)) for one in parsed]


def _graph(triples: list[tuple[str, str, str]]) -> Graph:
    s, p, o = zip(*triples, strict=True)
    return Graph(s, p, o)


def _tests() -> Iterator[Path]:
    if _SUITE is not None:
        for path in sorted(Path(_SUITE).resolve().rglob("*.ttl")):
            if path.name != "manifest.ttl" and (_TEST.format("Validate") in {o for _, _, o in _read(path)}):
                yield path


def _results(graph: Graph, report: str) -> Counter[tuple[str | None, ...]]:
    """The results of a report, less what is not compared: messages, blank nodes' names, severities' order."""
    found: Counter[tuple[str | None, ...]] = Counter()
    for result in graph.objects(report, sh("result")):
        path = graph.object(result, sh("resultPath"))
        values = [
            graph.object(result, sh(name))
            for name in ("focusNode", "value", "resultSeverity", "sourceConstraintComponent", "sourceShape")
        ]
        named = ["_:" if value is not None and value.startswith("_:") else value for value in values]
        found[(*named, None if path is None else read_path(graph, path).text)] += 1
    return found


@pytest.mark.skipif(_SUITE is None, reason="SHACL_TESTS does not say where W3C's tests of SHACL Core are")
@pytest.mark.parametrize("path", list(_tests()), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_finds_what_the_suite_expects(path: Path) -> None:
    manifest = _graph(_read(path))
    ((test, expected),) = manifest.pairs(_MANIFEST.format("result"))
    action = manifest.object(test, _MANIFEST.format("action"))
    assert action is not None

    def of_file(name: str) -> list[tuple[str, str, str]]:
        iri = manifest.object(action, _TEST.format(name))
        assert iri is not None
        return _read(Path(iri.removeprefix("<file://").removesuffix(">")))

    shapes_triples, data = of_file("shapesGraph"), of_file("dataGraph")
    if expected == _TEST.format("Failure"):
        with pytest.raises(ProtocolError):
            ShapesGraph(shapes_triples)
        return
    shapes = ShapesGraph(shapes_triples)
    results = shapes.validate(shapes.graph(data))
    assert (not results) == (
        manifest.object(expected, sh("conforms")) == '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
    )
    found = _results(_graph(as_triples(results, "_:report")), "_:report")
    assert found == _results(manifest, expected)
