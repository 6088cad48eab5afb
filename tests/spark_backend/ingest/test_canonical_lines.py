"""Lines taken as they stand, against the parser: one statement a line, one term at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.terms import XSD
from spark_backend.ingest import canonical_lines
from spark_backend.ingest.canonical_lines import PLAIN_IRI, PLAIN_OBJECT, read_canonical_lines

Row = tuple[str | None, str, str, str]


@pytest.fixture(autouse=True, scope="module")
def _any_length() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(canonical_lines, "SHORT", 0)
        yield


def parsed(text: str, format: ox.RdfFormat) -> list[Row]:
    return [
        (
            None if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name),
            str(quad.subject),
            str(quad.predicate),
            str(quad.object),
        )
        for quad in ox.parse(text, format)
    ]


def taken(text: str, *, graphs: bool) -> list[Row] | None:
    found = read_canonical_lines(text.encode(), graphs=graphs)
    if found is None:
        return None
    quads = found.quads
    for column in (quads.g, quads.s, quads.p, quads.o):
        column.validate(full=True)
        assert len(pc.unique(column.dictionary)) == len(column.dictionary)
    return list(zip(*(column.to_pylist() for column in (quads.g, quads.s, quads.p, quads.o)), strict=True))


iris = st.sampled_from(["<http://ex/a>", "<http://ex/b#c>", "<urn:x:é>", "<http://ex/%C3%A9?q=1>", "<mailto:a@b>"])
blanks = st.sampled_from(["_:b", "_:b0", "_:é-1", "_:0a"])
literals = st.builds(
    str.__add__,
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(lambda text: str(ox.Literal(text))),
    st.sampled_from(["", "@en", "^^<http://ex/d#x>", f"^^<{XSD}integer>", f"^^<{XSD}dateTime>"]),
)
phrases = st.sampled_from(['" . "', '"a <http://ex/g>"', '"<<( )>>"', '"# @message"', '"_:b <x:y> ."@en'])
objects = st.one_of(iris, blanks, literals, phrases)


@st.composite
def canonical_texts(draw: st.DrawFn, graphs: bool) -> str:
    """Lines as the parser's own writer writes them, comments and blank lines."""
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        terms = [draw(st.one_of(iris, blanks)), draw(iris), draw(objects)]
        if graphs and draw(st.booleans()):
            terms.append(draw(st.one_of(iris, blanks)))
        lines.append(" ".join([*terms, "."]))
    lines += draw(st.lists(st.sampled_from(["# @message", "# é", "#", ""]), max_size=4))
    return "\n".join(draw(st.permutations(lines))) + draw(st.sampled_from(["", "\n"]))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.booleans())
def test_canonical_lines_are_the_statements_the_parser_finds(data: st.DataObject, graphs: bool) -> None:
    text = data.draw(canonical_texts(graphs))
    rows = taken(text, graphs=graphs)
    if "<<" not in text:
        assert rows is not None
    if rows is not None:
        assert rows == parsed(text, ox.RdfFormat.N_QUADS if graphs else ox.RdfFormat.N_TRIPLES)


pieces = st.one_of(
    iris,
    blanks,
    literals,
    phrases,
    st.sampled_from(
        [" ", " ", " ", "  ", "\t", " .", ".", "\n", "\r\n", "\r", '"', "\\", "<", ">", "#", "<<(", ")>>", "<x>"]
    ),
    st.sampled_from(
        ["<http://ex/a b>", '"\\u0041"', f'"x"^^<{XSD}string>', '"x"@EN', "<http://ex/\\u0041>", '"x"@en--ltr', "_:"]
    ),
)


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.one_of(pieces, st.just(" ")), max_size=24).map("".join), st.booleans())
@example("<http://ex/a>  <http://ex/b> <http://ex/c> .\n", False)
@example("<x:a> <x:b> <x:c> . # d .\n", False)
@example("<x:a><x:b> <x:c> . # d .\n<x:a> <x:b> <x:c> .\n", False)
@example('<x:a> <x:b> "c d <x:g> .\n', True)
@example('<x:a> "b" <x:c> .\n', False)
@example("<x:a> _:b <x:c> .\n", False)
@example('<x:a> <x:b> <x:c> "d" .\n', True)
@example("<x:a> <x:b> <x:c> <x:g> .\n", False)
@example("# a\r<x:a> <x:b> <x:c> .\n", False)
def test_whatever_is_taken_from_a_text_the_parser_finds_in_it_too(text: str, graphs: bool) -> None:
    rows = taken(text, graphs=graphs)
    if rows is not None:
        assert rows == parsed(text, ox.RdfFormat.N_QUADS if graphs else ox.RdfFormat.N_TRIPLES)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.from_regex(PLAIN_IRI, fullmatch=True), st.from_regex(PLAIN_OBJECT, fullmatch=True)))
def test_terms_of_plain_shapes_are_terms_and_canonical(term: str) -> None:
    term = term.removesuffix("\n")  # which Python's $ lets through, and no line has
    assert parsed(f"<x:x> <x:x> {term} .", ox.RdfFormat.N_TRIPLES) == [(None, "<x:x>", "<x:x>", term)]


def test_statements_are_counted_before_each_comment() -> None:
    statement = "<http://ex/a> <http://ex/p> <http://ex/o> .\n"
    found = read_canonical_lines(f"# a\n{statement}\n{statement}# b\n# c\n{statement}".encode(), graphs=False)
    assert found is not None
    assert found.comments.to_pylist() == ["# a", "# b", "# c"]
    assert found.before.to_pylist() == [0, 2, 2]


def test_triple_terms_are_left_to_those_who_count_their_depth() -> None:
    nested = "<<( <x:a> <x:b> " * 50_000 + "<x:c>" + " )>>" * 50_000
    assert read_canonical_lines(f"<x:a> <x:b> {nested} .\n".encode(), graphs=False) is None


def test_a_short_text_is_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"<x:a> <x:b> <x:c> .\n"
    assert read_canonical_lines(text, graphs=False) is not None
    monkeypatch.setattr(canonical_lines, "SHORT", len(text) + 1)
    assert read_canonical_lines(text, graphs=False) is None
