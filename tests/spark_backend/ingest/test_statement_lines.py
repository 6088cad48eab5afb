"""Statements by lines, against the parser."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocol.formats.media_types import RdfSyntax
from protocol.terms import XSD
from spark_backend.ingest import statement_lines
from spark_backend.ingest.parsing.documents import IN_PROCESS
from spark_backend.ingest.statement_lines import PLAIN_IRI, PLAIN_OBJECT, StatementLines, read_statement_lines
from spark_backend.ingest.terms.quads import Quads
from tests.spark_backend.ingest.rows import Row, parsed_rows, rows_of


@pytest.fixture(autouse=True, scope="module")
def _any_length() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statement_lines, "SHORT", 0)
        yield


def lines_of(text: str, *, graphs: bool) -> StatementLines | None:
    format = RdfSyntax.N_QUADS if graphs else RdfSyntax.N_TRIPLES
    lines = read_statement_lines(text.encode(), format, "http://base/", IN_PROCESS)
    # Whoever reads the other lines decides of them: here nothing is right but comments.
    return lines if lines is not None and all(line.startswith("#") for line in lines.others.to_pylist()) else None


def found(text: str, *, graphs: bool) -> list[Row] | None:
    lines = lines_of(text, graphs=graphs)
    if lines is None:
        return None
    return rows_of(lines.quads)


class NoParser:
    """Refuses to parse."""

    def frames(self, document: bytes) -> tuple[Quads, list[int]]:
        raise AssertionError(document)

    def statements(self, document: bytes, format: RdfSyntax, base: str) -> Quads:
        raise AssertionError(document)

    def all_statements(self, documents: Sequence[bytes], format: RdfSyntax, base: str) -> tuple[Quads, list[int]]:
        raise AssertionError(documents)


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
    rows = found(text, graphs=graphs)
    if "<<" not in text:
        assert rows is not None
    if rows is not None:
        assert rows == parsed_rows(text, ox.RdfFormat.N_QUADS if graphs else ox.RdfFormat.N_TRIPLES)


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
def test_what_is_found_in_a_text_is_what_the_parser_finds(text: str, graphs: bool) -> None:
    format = ox.RdfFormat.N_QUADS if graphs else ox.RdfFormat.N_TRIPLES
    rows = found(text, graphs=graphs)
    if rows is not None:
        assert rows == parsed_rows(text, format)
    elif "<<" not in text and "\r" not in text.replace("\r\n", "\n"):
        with pytest.raises(SyntaxError):
            parsed_rows(text, format)


@pytest.mark.parametrize("graphs", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        '<http://ex/a>\t<http://ex/b>  <http://ex/c> .\r\n  _:b <http://ex/b> "c"\t. \n\t# d\n\n',
        '<http://ex/a> <http://ex/b> "a  b".\n_:b <http://ex/b> <urn:c>.\n',
    ],
)
def test_white_space_between_terms_needs_no_parser(text: str, graphs: bool) -> None:
    format = RdfSyntax.N_QUADS if graphs else RdfSyntax.N_TRIPLES
    lines = read_statement_lines(text.encode(), format, "http://base/", NoParser())
    assert lines is not None
    columns = (column.to_pylist() for column in lines.quads.columns)
    assert list(zip(*columns, strict=True)) == parsed_rows(text, format.oxigraph)


def test_only_lines_that_need_it_are_left_to_the_parser() -> None:
    plain = '<http://ex/a> <http://ex/b> "c" .'
    odd = ['<http://ex/a> <http://ex/b> "\\u00e9" .', "<http://ex/a><http://ex/b><http://ex/c>.", f"{plain} # d"]
    text = "\n".join([plain, odd[0], "# e", plain, odd[1], odd[2], plain, ""])
    asked: list[bytes] = []

    class Recorded(NoParser):
        def statements(self, document: bytes, format: RdfSyntax, base: str) -> Quads:
            asked.append(document)
            return IN_PROCESS.statements(document, format, base)

    lines = read_statement_lines(text.encode(), RdfSyntax.N_TRIPLES, "http://base/", Recorded())
    assert lines is not None
    assert asked == ["\n".join(odd).encode()]
    rows = list(zip(*(column.to_pylist() for column in lines.quads.columns), strict=True))
    assert rows == parsed_rows(text, ox.RdfFormat.N_TRIPLES)
    assert lines.before.to_pylist() == [2]


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.from_regex(PLAIN_IRI, fullmatch=True), st.from_regex(PLAIN_OBJECT, fullmatch=True)))
def test_terms_of_plain_shapes_are_terms_and_canonical(term: str) -> None:
    term = term.removesuffix("\n")  # which Python's $ lets through, and no line has
    assert parsed_rows(f"<x:x> <x:x> {term} .", ox.RdfFormat.N_TRIPLES) == [(None, "<x:x>", "<x:x>", term)]


def test_statements_are_counted_before_each_comment() -> None:
    statement = "<http://ex/a> <http://ex/p> <http://ex/o> .\n"
    lines = lines_of(f"# a\n{statement}\n{statement}# b\n\t# c \r\n{statement}", graphs=False)
    assert lines is not None
    assert lines.others.to_pylist() == ["# a", "# b", "# c"]
    assert lines.before.to_pylist() == [0, 2, 2]


def test_triple_terms_are_left_to_those_who_count_their_depth() -> None:
    nested = "<<( <x:a> <x:b> " * 50_000 + "<x:c>" + " )>>" * 50_000
    assert lines_of(f"<x:a> <x:b> {nested} .\n", graphs=False) is None


def test_a_short_text_is_left_to_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"<x:a> <x:b> <x:c> .\n"
    monkeypatch.setattr(statement_lines, "SHORT", len(text) + 1)
    with pytest.raises(AssertionError):
        read_statement_lines(text, RdfSyntax.N_TRIPLES, "http://base/", NoParser())
