"""Documents in pieces: together they say what the whole says, or it is seen that they do not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.formats.media_types import RdfSyntax
from spark_backend.ingest.parsing import pieces
from spark_backend.ingest.parsing.documents import canonical_statements
from spark_backend.ingest.parsing.pieces import cut

BASE = "http://base/"
TURTLE = (
    ":a :b :c .\n",
    "<a> :b _:node ,\n 1.5 .\n",
    '_:node :b "x .\\n:y" .\n',
    ':a :b """ .\n:c :d :e .\n""" .\n',
    ":a :b :c ;\n.\n",
    "# :a :b\n",
    "@prefix : <http://other/> .\n",
    "PREFIX p: <http://p/>\n",
    "@base <http://elsewhere/> .\n",
    ":a :b :c .  \r\n",
    ":a :b 1 .",
)
TRIG = (*TURTLE, ":g {\n:a :b :c .\n}\n", ":g { :a :b _:node }\n", ":g {\n:a :b :c .\n\n", "}\n")
QUADS = (
    "<http://a> <http://b> <http://c> .\n",
    '<http://a> <http://b> "x .\\n" <http://g> . # more\r\n',
    "<http://a> <http://b>\n<http://c> .\n",
    "\n",
    "_:node <http://b> _:node .\n",
    "<http://a> <http://b> .\n",
)


MEMBERS = (
    '{"@id": ":a", "b": "c"}',
    '{"@id": "_:node", "b": {"@id": "_:other", "b": "}, {"}}',
    '{"@id": ":a", "b": "\\"}, {\\""} ',
    '{"@id": ":a", "b": "]} \\\\"}\n',
    '{"@id": ":a", "b": [{"@id": ":c"}, {"@id": ":d"}]}',
    '{"@id": ":a", "b": {"@list": ["x", "y"]}}',
    '{"@id": ":g", "@graph": [{"@id": ":a", "b": "c"}, {"@id": ":a", "b": "d"}]}',
    '{"@id": ":a", "b": "é", "@context": {"b": "http://other/b"}}',
    '{"@id": ":a", "b": "x"}, "@id": ":g',
    '{"@id": ":a", "b": "x"}], "b": [{"@id": ":a", "b": "y"}',
    '{"@id": ":a", "b": "x"}]}, {"@graph": [{"@id": ":a", "b": "y"}',
    '[{"@id": ":a", "b": "c"}, {"@id": ":a", "b": "d"}]',
    '{"@id": ":a", "b": "c"',
    '"x"',
)
_WHOLE = 8
"""So many of these are members by themselves."""
ENDS = (
    "]}",
    "] } \n",
    "]}\x0b",
    "]\x0c}",
    "\x0b]}",
    '], "@id": ":g"}',
    '], "@context": {"b": "http://last/b"}}',
    "]",
    "]}]",
)
BEGINS = (
    '{"@context": %s, "@graph": [',
    '{ "@context" :%s,\n"@graph":[\n',
    '[{"@context": %s, "@graph": [',
    '{"@graph": [',
)
CONTEXT = '{"b": "http://b", "é": "http://e"}'


def in_pieces(document: bytes, syntax: RdfSyntax) -> bytes | None:
    """What the pieces say together; None if they are not to be had, or do not make the whole."""
    found = cut(document, syntax, BASE, 3)
    if found is None:
        return None
    try:
        parsed = [canonical_statements(document, syntax, BASE) for document in found.documents]
    except SyntaxError:
        return None
    return b"".join(text for text, _ in parsed) if found.are_whole([names for _, names in parsed]) else None


@pytest.mark.parametrize(
    ("syntax", "lines"), [(RdfSyntax.TURTLE, TURTLE), (RdfSyntax.TRIG, TRIG), (RdfSyntax.N_QUADS, QUADS)]
)
def test_pieces_say_what_the_whole_says(
    syntax: RdfSyntax, lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1)
    found = 0

    @given(st.lists(st.sampled_from(lines), min_size=2, max_size=9))
    def check(chosen: list[str]) -> None:
        nonlocal found
        preamble = "" if syntax is RdfSyntax.N_QUADS else "@prefix : <http://first/> .\n"
        document = (preamble + "".join(chosen)).encode()
        together = in_pieces(document, syntax)
        if together is not None:
            found += 1
            assert together == canonical_statements(document, syntax, BASE)[0]

    check()
    assert found


def test_members_of_a_graph_say_in_pieces_what_the_whole_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1)
    found = 0

    @settings(max_examples=500)
    @given(
        st.sampled_from(BEGINS),
        st.lists(st.sampled_from([*MEMBERS[:_WHOLE] * 3, *MEMBERS]), min_size=2, max_size=6),
        st.sampled_from([*ENDS[:2] * 4, *ENDS]),
    )
    def check(begin: str, members: list[str], end: str) -> None:
        nonlocal found
        document = ((begin % CONTEXT if "%" in begin else begin) + ", ".join(members) + end).encode()
        together = in_pieces(document, RdfSyntax.JSON_LD)
        if together is not None:
            found += 1
            whole = canonical_statements(document, RdfSyntax.JSON_LD, BASE)[0]
            assert named(together) == named(whole)

    check()
    assert found > 50


def named(quads: bytes) -> list[bytes]:
    """The statements, blank nodes without a label named by their order."""
    labels: dict[bytes, bytes] = {}
    return [
        re.sub(rb"_:[0-9a-f]{20,}", lambda match: labels.setdefault(match[0], b"_:%d" % len(labels)), line)
        for line in quads.splitlines()
    ]


@pytest.mark.parametrize(
    "text", ['{"@context": ' + "[" * 50_000, '{"@graph": [' + "[" * 50_000, '{"@context": {', "{", ""]
)
def test_what_is_no_json_is_not_cut(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1)
    assert cut(text.encode() + b", {}, {}]}", RdfSyntax.JSON_LD, BASE, 2) is None


def test_a_prefix_that_is_declared_again_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1)
    before, after = "@prefix : <http://first/> .\n:a :b :c .\n", ":a :b :c .\n:d :e :f .\n"
    assert in_pieces((before + after).encode(), RdfSyntax.TURTLE) is not None
    assert in_pieces(f"{before}@prefix : <http://other/> .\n{after}".encode(), RdfSyntax.TURTLE) is None


def test_what_is_short_or_in_no_lines_is_not_cut() -> None:
    line = b"<http://a> <http://b> <http://c> .\n"
    assert cut(line, RdfSyntax.N_TRIPLES, BASE, 4) is None
    assert cut(line * 10_000, RdfSyntax.N_TRIPLES, BASE, 1) is None
    assert cut(b" " * 1_000_000, RdfSyntax.JSON_LD, BASE, 4) is None
    assert (
        cut(b"<http://a> <http://b> " + b"<http://c>, " * 50_000 + b"<http://c> .", RdfSyntax.TURTLE, BASE, 4) is None
    )
    found = cut(line * 10_000, RdfSyntax.N_TRIPLES, BASE, 2)
    assert found is not None
    assert b"".join(found.documents) == line * 10_000
