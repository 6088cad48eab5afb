"""A log that was written before RDF has triple terms, and in the format before: read, and written further."""

from __future__ import annotations

from pathlib import Path

from protocol.terms import TermKind, facets
from protocol.windows.spec import TimeWindow
from spark_backend.log.format.frame import Gap, walk
from spark_backend.log.format.segment import segment_numbers, segment_path
from tests.spark_backend.evaluation.evaluated_log import Element, Site, bindings
from tests.spark_backend.log.log_oracle import write_as_before

XSD = "http://www.w3.org/2001/XMLSchema#"
OBJECTS = (
    "<http://ex/o>", "_:b", '"text"', '"text"@en', f'"5"^^<{XSD}integer>', f'"5.5"^^<{XSD}decimal>',
    f'"1"^^<{XSD}float>', f'"1"^^<{XSD}double>', f'"true"^^<{XSD}boolean>', f'"2020-01-01T00:00:00Z"^^<{XSD}dateTime>',
    f'"2020-01-01T00:00:00"^^<{XSD}dateTime>', '"x"^^<http://ex/datatype>',
)  # fmt: skip
KINDS_BEFORE = (11, 12, 8, 9, 1, 2, 3, 4, 5, 6, 7, 10)
"""The facets of these, as they are in logs that were written before triple terms."""
BEFORE: list[Element] = [
    (1000 + place, [("<http://ex/s>", "<http://ex/p>", term)]) for place, term in enumerate(OBJECTS)
]
SINCE: list[Element] = [(2000, [("<http://ex/s>", "<http://ex/p>", "<<( <http://ex/s> <http://ex/p> _:b )>>")])]
WINDOW = TimeWindow(10_000, 10_000, 0)
TEXT = (
    "SELECT ?o (SUBJECT(?o) AS ?of) (isTRIPLE(?o) AS ?is) "
    "{ GRAPH <http://ex/w> { ?s <http://ex/p> ?o } FILTER(isIRI(?o) || isTRIPLE(?o) || isBLANK(?o) || ?o < 5.5) }"
)


def test_a_log_from_before_is_read_and_takes_triple_terms(tmp_path: Path) -> None:
    old = Site(tmp_path / "old")
    old.append(BEFORE)
    old.close()
    directory = old.layout.streams / "s"
    frames = 0
    for number in segment_numbers(directory):
        path = segment_path(directory, number)
        data = bytearray(path.read_bytes())
        for frame in list(walk(data, 0, len(data))):
            assert not isinstance(frame, Gap)
            write_as_before(data, frame[0])
            frames += 1
        path.write_bytes(data)
        assert b"SLF3" not in data
    assert frames > 1

    site, new = Site(tmp_path / "old"), Site(tmp_path / "new")
    try:
        new.append(BEFORE)
        for one in (site, new):
            one.append(SINCE)
        found, expected = (one.answers(one.prepare("q", TEXT, WINDOW), [10_000])[0] for one in (site, new))
        assert found.error is None
        assert found.solutions == expected.solutions
        kinds = [solution["o"]["type"] for solution in bindings(found)]  # type: ignore[index]
        assert sorted(kinds) == ["bnode", "literal", "literal", "literal", "triple", "uri"]
    finally:
        site.close()
        new.close()


def test_the_kinds_of_terms_have_the_numbers_that_are_in_logs_from_before() -> None:
    assert tuple(int(facets(term)[0]) for term in OBJECTS) == KINDS_BEFORE
    assert TermKind.TRIPLE not in KINDS_BEFORE
