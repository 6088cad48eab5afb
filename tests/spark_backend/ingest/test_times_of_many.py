"""The times of many messages in one request are those that each has alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import InvalidMessage
from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.columns import read_elements
from spark_backend.ingest.messages.timestamps import FEW

STREAM = StreamSettings(
    iri="http://ex/stream", time=TimeKind.EVENT, timestamp_path=("http://ex/first", "http://ex/second")
)
STATEMENTS = (
    '<http://ex/{n}> <http://ex/first> "2026-01-01T00:00:0{n}Z"^^xsd:dateTime .',
    '<http://ex/{n}> <http://ex/first> "no time" .',
    "<http://ex/{n}> <http://ex/second> {n} .",
    '<http://ex/{n}> <http://ex/second> "2026-01-01T00:00:00.000000{n}"^^xsd:dateTime .',
    '<http://ex/{n}> <http://ex/second> "99999999999999999999999"^^xsd:integer .',
    "<http://ex/g{n}> prov:generatedAtTime {n} . <http://ex/g{n}> {{ <http://ex/s> <http://ex/p> {n} }}",
    "<http://ex/g{n}> <http://ex/p> <http://ex/o> .",
    "<http://ex/s> <http://ex/p> {n} .",
)
PREFIXES = "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n@prefix prov: <http://www.w3.org/ns/prov#> .\n"
messages = st.lists(
    st.builds(lambda text, n: text.format(n=n), st.sampled_from(STATEMENTS), st.integers(0, 3)), min_size=1, max_size=5
)


def elements(texts: list[list[str]]) -> list[list[dict[str, Any]]] | str:
    """The rows of each element, or what is wrong with the first message that is."""
    body = PREFIXES + "".join("# @message\n" + "\n".join(text) + "\n" for text in texts)
    try:
        batch = read_elements(body.encode(), "application/trig; messages=rdfm", settings=STREAM, at=None)
    except InvalidMessage as error:
        return error.detail
    found: list[list[dict[str, Any]]] = [[] for _ in range(batch["element"][-1].as_py() + 1)]
    for row in pa.Table.from_batches([batch]).to_pylist():
        found[row.pop("element")].append(row)
    return found


@settings(max_examples=60)
@given(st.lists(messages, min_size=1, max_size=6))
def test_many_messages_have_the_times_that_each_has_alone(texts: list[list[str]]) -> None:
    alone = [elements([text]) for text in texts]
    right = [text for text, found in zip(texts, alone, strict=True) if not isinstance(found, str)]
    if not right:
        return
    many = right * (FEW // len(right) + 1)
    expected = [element for text in many for element in elements([text])]
    assert elements(many) == expected
