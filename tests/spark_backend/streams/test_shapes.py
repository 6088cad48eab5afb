"""A stream with a shape takes the messages that conform, whatever way they come."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakSet

import pytest

from protocol.errors import Unavailable
from protocol.shapes.errors import InvalidShapes
from protocol.shapes.shapes_graph import ShapesGraph
from protocol.shapes.violation import ShapeViolation
from protocol.sources import SourceBatch, SourceMessage
from protocol.streams import OnInvalid, StreamSettings
from spark_backend.layout import Layout
from spark_backend.streams import shapes as of_streams
from spark_backend.streams.catalogue import Catalogue
from spark_backend.streams.shapes import StreamShapes
from spark_backend.streams.streams import Streams
from tests.spark_backend.streams.opened_streams import elements

_SHAPE = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> .
ex:Shape sh:targetSubjectsOf ex:value ; sh:property [ sh:path ex:value ; {} ] ."""
_INTEGER = "sh:datatype <http://www.w3.org/2001/XMLSchema#integer>"
_GRAPH = "http://ex/shapes"
_SH = "http://www.w3.org/ns/shacl#"
_LINES = 'VERSION "1.2-messages"\n{}'
_NDJSON = "application/x-ndjson"


@dataclass
class Store:
    """A store with one graph, as triples; it counts how often that is read."""

    triples: list[tuple[str, str, str]] = field(default_factory=list)
    version: int = 1
    reads: int = 0

    def put(self, kind: str) -> None:
        """A shape that values have to be of this kind."""
        shape, inner = "<http://ex/Shape>", "_:b"
        self.triples = [
            (shape, f"<{_SH}targetSubjectsOf>", "<http://ex/value>"),
            (shape, f"<{_SH}property>", inner),
            (inner, f"<{_SH}path>", "<http://ex/value>"),
            (inner, f"<{_SH}nodeKind>", f"<{_SH}{kind}>"),
        ]
        self.version += 1

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> list[tuple[str, str, str, str]]:
        assert (subject, predicate, object) == (None, None, None)
        assert graphs is not None
        self.reads += 1
        return [(f"<{graphs[0]}>", *triple) for triple in self.triples]


@contextmanager
def _opened(root: Path, store: Store) -> Iterator[Streams]:
    layout = Layout(root)
    layout.make()
    catalogue = Catalogue.open(layout.catalogue)
    streams = Streams(catalogue, layout, "http://endpoint.example", lambda: 0, shapes=StreamShapes(store))
    try:
        yield streams
    finally:
        streams.close()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def streams(tmp_path: Path, store: Store) -> Iterator[Streams]:
    with _opened(tmp_path, store) as streams:
        yield streams


def _settings(shape: str = _SHAPE.format(_INTEGER), on_invalid: OnInvalid = OnInvalid.REJECT) -> StreamSettings:
    return StreamSettings("http://ex/s", shape=shape, on_invalid=on_invalid)


_Body = tuple[str, str]


def _turtle(values: Sequence[str]) -> _Body:
    return _LINES.format(
        "MESSAGE\n".join(f"<http://ex/o> <http://ex/value> {one} .\n" for one in values)
    ), "text/turtle"


def _trig(values: Sequence[str]) -> _Body:
    graphs = (f"<http://ex/g> {{ <http://ex/o> <http://ex/value> {one} }}\n" for one in values)
    return _LINES.format("MESSAGE\n".join(graphs)), "application/trig"


def _n_triples(values: Sequence[str]) -> _Body:
    integer = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    terms = (integer.format(one) if one.isdigit() else one for one in values)
    lines = (f"<http://ex/o> <http://ex/value> {one} .\n" for one in terms)
    return _LINES.format("MESSAGE\n".join(lines)), "application/n-triples"


def _json(values: Sequence[str]) -> _Body:
    return "\n".join(f'{{"@id": "http://ex/o", "http://ex/value": {one}}}' for one in values), _NDJSON


_FORMATS = pytest.mark.parametrize("body", [_turtle, _trig, _n_triples, _json])


@_FORMATS
def test_a_request_with_a_message_that_does_not_conform_is_refused(
    streams: Streams, body: Callable[[Sequence[str]], _Body]
) -> None:
    streams.create("s", _settings())
    text, content_type = body(["1", "2"])
    assert streams.append("s", text.encode(), content_type, None).elements == 2
    text, content_type = body(["1", '"two"', "3"])
    told = r'message 2 \(line [0-9]+\): <http://ex/o> <http://ex/value> "two": is no literal of'
    with pytest.raises(ShapeViolation, match=told) as caught:
        streams.append("s", text.encode(), content_type, None)
    problem = caught.value.problem()
    assert problem["status"] == 400
    assert problem["message"] == 2
    (result,) = problem["report"]["results"]
    assert (result["focusNode"], result["path"], result["value"]) == ("http://ex/o", "http://ex/value", '"two"')
    assert streams.describe("s").elements == 2


@_FORMATS
def test_those_that_do_not_conform_are_diverted_with_the_report(
    tmp_path: Path, streams: Streams, body: Callable[[Sequence[str]], _Body]
) -> None:
    streams.create("s", _settings(on_invalid=OnInvalid.DIVERT))
    text, content_type = body(['"one"', "2", '"three"', "4"])
    receipt = streams.append("s", text.encode(), content_type, None)
    assert (receipt.elements, receipt.rejected) == (2, 2)
    assert [data.split('"')[1] for _, data in elements(tmp_path, streams, "s")] == ["2", "4"]
    one, three = (data for _, data in elements(tmp_path, streams, "s/rejected"))
    assert f'<{_SH}value> "one"' in one
    assert f'<{_SH}value> "three"' in three
    for data in (one, three):
        assert f'<{_SH}conforms> "false"' in data
        assert f"<{_SH}focusNode> <http://ex/o>" in data
        assert "rdf-schema#seeAlso> _:" in data
        assert "message 1 (line 1): <http://ex/o>" in data
    assert streams.describe("s").rejected_by == {"shape": 2}


def test_messages_of_sources_are_validated(tmp_path: Path, streams: Streams) -> None:
    streams.create("s", _settings())
    values = ["1", '"two"', "3", '"four"']
    messages = [
        SourceMessage(f"<http://ex/o> <http://ex/value> {one} .".encode(), "text/turtle", "mqtt://ex/t", one.encode())
        for one in values
    ]
    receipt = streams.receive("s", SourceBatch(messages, {}))
    assert (receipt.elements, receipt.rejected) == (2, 2)
    assert [data.split('"')[1] for _, data in elements(tmp_path, streams, "s")] == ["1", "3"]
    assert streams.receive("s", SourceBatch(messages[1:2], {})).rejected == 1
    assert len(elements(tmp_path, streams, "s/rejected")) == 2


def test_each_message_is_validated_by_itself_and_an_empty_one_is_not(streams: Streams) -> None:
    other = "ex:Other sh:targetNode ex:a ; sh:property [ sh:path ex:value ; sh:minCount 1 ] ."
    streams.create("s", _settings(f"{_SHAPE.format('sh:maxCount 1')} {other}"))
    body = _LINES.format("MESSAGE\n<http://ex/a> <http://ex/value> 1 .\nMESSAGE\n<http://ex/a> <http://ex/value> 2 .\n")
    assert streams.append("s", body.encode(), "text/turtle", None).elements == 3
    one = "<http://ex/a> <http://ex/value> 1 . <http://ex/g> { <http://ex/a> <http://ex/value> 2 }"
    with pytest.raises(ShapeViolation, match="has 2 values, at most 1 allowed"):
        streams.append("s", one.encode(), "application/trig", None)


def test_a_graph_of_the_store_is_the_shape_as_it_is_now(streams: Streams, store: Store) -> None:
    with pytest.raises(InvalidShapes, match="there is no graph <http://ex/shapes>"):
        streams.create("s", _settings(_GRAPH))
    store.put("Literal")
    streams.create("s", _settings(_GRAPH))
    text = b"<http://ex/o> <http://ex/value> 1 ."
    for _ in range(3):
        streams.append("s", text, "text/turtle", None)
    reads = store.reads
    streams.append("s", text, "text/turtle", None)
    assert store.reads == reads
    store.put("IRI")
    with pytest.raises(ShapeViolation, match="is not of kind sh:IRI"):
        streams.append("s", text, "text/turtle", None)
    store.put("Iris")
    with pytest.raises(Unavailable, match=r"graph <http://ex/shapes>, and _:b: sh:nodeKind must be one of"):
        streams.append("s", text, "text/turtle", None)
    store.triples, store.version = [], store.version + 1
    with pytest.raises(Unavailable, match="there is no graph <http://ex/shapes>"):
        streams.receive("s", SourceBatch([SourceMessage(text, "text/turtle", "mqtt://ex/t", b"1")], {}))
    store.put("Literal")
    assert streams.append("s", text, "text/turtle", None).elements == 1


def test_shapes_of_graphs_that_are_gone_are_forgotten(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Streams may come and go, each with a graph of its own for its shapes."""
    made: WeakSet[ShapesGraph] = WeakSet()
    monkeypatch.setattr(of_streams, "_REMEMBERED", 4)
    with _opened(tmp_path, store) as streams:
        shapes = streams._shapes
        for number in range(20):
            store.put("Literal" if number % 2 else "IRI")
            store.triples.append((f"<http://ex/{number}>", "<http://ex/p>", "<http://ex/o>"))
            settings = _settings(f"{_GRAPH}{number}")
            streams.create("s", settings)
            found = shapes.of(settings)
            assert found is not None
            made.add(found)
            del found
            streams.drop("s")
            streams.delete_dropped()
        gc.collect()
        assert len(made) <= 4


def test_a_shape_outlives_a_restart(tmp_path: Path) -> None:
    with _opened(tmp_path, Store()) as streams:
        streams.create("s", _settings())
    with _opened(tmp_path, Store()) as streams, pytest.raises(ShapeViolation):
        streams.append("s", b'<http://ex/o> <http://ex/value> "x" .', "text/turtle", None)


def test_a_long_body_of_wrong_messages_is_diverted_in_time_that_grows_with_it(tmp_path: Path, streams: Streams) -> None:
    streams.create("s", _settings(on_invalid=OnInvalid.DIVERT))
    text, content_type = _json(['"x"', "1"] * 500)
    receipt = streams.append("s", text.encode(), content_type, None)
    assert (receipt.elements, receipt.rejected) == (500, 500)
