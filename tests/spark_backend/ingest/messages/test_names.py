"""Blank nodes of event streams are named by their messages
(docs/model.md, "Elements and streams" and "Same log, same answers").
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.messages import names

EVENT = StreamSettings("http://ex/stream", TimeKind.EVENT)
NQ = "application/n-quads; messages=rdfm"

Quad = tuple[str, str, str]
"""Subject, object, graph ("" for the default graph)."""


def renumbered(row: Quad, old: str, new: str) -> Quad:
    s, o, g = (re.sub(old, new, term) for term in row)
    return s, o, g


def quads(body: str, content_type: str = NQ, settings: StreamSettings = EVENT, at: int = 1) -> list[Quad]:
    batch = read_elements(body.encode(), content_type, settings=settings, at=at)
    return [(row["s"], row["o"], row["g"] or "") for row in batch.to_pylist()]


def written(*messages: list[Quad]) -> str:
    return "# @message\n".join("".join(f"{s} <http://ex/p> {o} {g} .\n" for s, o, g in message) for message in messages)


def test_a_name_does_not_depend_on_the_labels_the_sender_chose_or_on_the_format() -> None:
    first = quads("[] <http://ex/p> [ <http://ex/p> [] ] .", "text/turtle")
    second = quads("_:z <http://ex/p> _:y .\n_:x <http://ex/p> _:z .\n", "application/n-triples")
    third = quads("_:a1 <http://ex/p> _:é .\n_:c <http://ex/p> _:a1 .\n", "application/n-triples")
    assert second == third
    assert {part for row in first for part in row} == {part for row in second for part in row}


def test_nodes_are_the_same_within_a_message_and_different_in_all_others() -> None:
    message = [("_:a", "_:b", "_:a"), ("_:b", "<http://ex/o>", "")]
    other = [("_:a", "_:b", "_:a"), ("_:b", "<http://ex/p>", "")]
    one, two, three, four, five, six = quads(written(message, other, message))
    assert one[0] == one[2] != one[1] == two[0]
    nodes = [{one[0], one[1]}, {three[0], three[1]}, {five[0], five[1]}]
    assert len(set().union(*nodes)) == 6
    assert (four[0], six[0]) == (three[1], five[1])


def test_the_time_and_the_stream_are_in_the_names() -> None:
    body = written([("_:a", "<http://ex/o>", "")])
    other = StreamSettings("http://ex/other", TimeKind.EVENT)
    assert quads(body, at=1) == quads(body, at=1)
    assert len({quads(body, at=1)[0], quads(body, at=2)[0], quads(body, settings=other, at=1)[0]}) == 3


def test_it_is_no_difference_where_the_time_is_told() -> None:
    settings = StreamSettings("http://ex/stream", TimeKind.EVENT)
    time = '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    message = "_:a <http://ex/p> _:b {0} .\n_:b <http://ex/p> <http://ex/o> {0} .\n"
    convention = f"_:g <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n" + message.format("_:g")
    named = read_elements(convention.encode(), NQ, settings=settings, at=None)
    assert [(row["s"], row["o"]) for row in named.to_pylist()] == [row[:2] for row in quads(message.format(""), at=7)]


def test_names_are_of_ascii_letters_and_digits() -> None:
    for s, o, g in quads(written([("_:a-b", "_:é", "_:a.b")] * 2)):
        assert all(re.fullmatch("_:[A-Za-z][A-Za-z0-9]*", term) for term in (s, o, g))


_terms = st.sampled_from(["_:a", "_:b", "_:c", "<http://ex/n>"])
_quads = st.tuples(_terms, _terms | st.just('"_:a"'), st.sampled_from(["", "_:a", "_:g", "<http://ex/g>"]))
_messages = st.lists(st.lists(_quads, min_size=1, max_size=4), min_size=1, max_size=6)


@settings(deadline=None)
@given(_messages)
def test_few_statements_and_many_are_named_alike_and_as_every_message_by_itself(messages: list[list[Quad]]) -> None:
    body = written(*messages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_FEW", 0)
        by_columns = quads(body)
    assert quads(body) == by_columns
    # By the definition: digest of the message by itself, equal ones counted, nodes numbered as they appear.
    seen: dict[str, int] = {}
    expected: list[Quad] = []
    for message in messages:
        alone = quads(written(message))
        scopes = {term[: term.rindex("k")] for row in alone for term in row if term.startswith("_:")}
        assert len(scopes) <= 1
        for scope in scopes:
            before = seen[scope] = seen.get(scope, -1) + 1
            alone = [renumbered(row, f"{scope}k0b", f"{scope}k{before}b") for row in alone]
        expected += dict.fromkeys(alone)
    assert by_columns == expected


@given(_messages.filter(lambda messages: any("_:a" in row for row in messages[0])))
def test_nodes_are_numbered_as_they_appear(messages: list[list[Quad]]) -> None:
    named = quads(written(messages[0]))
    terms = [term for s, o, _ in named for term in (s, o)] + [g for *_, g in named]
    numbers = [int(term.rpartition("b")[2]) for term in terms if term.startswith("_:")]
    first = list(dict.fromkeys(numbers))
    assert first == list(range(len(first)))
