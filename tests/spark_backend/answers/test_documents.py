"""Answers as documents, and the relation-to-stream operators between them."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.grammar.parser import read_query
from protocol.language.model import R2S, ContinuousQuery, Form
from protocol.windows.spec import CountWindow, LandmarkWindow, StreamWindow, TimeWindow, Unit, WindowSpec
from spark_backend.answers.answer import Answer
from spark_backend.answers.documents import DocumentWriter, WindowBounds
from spark_backend.answers.r2s import relation_to_stream

WINDOW = TimeWindow(5000, 1000, 0)


def query(form: Form = Form.SELECT, operator: R2S = R2S.RSTREAM, *graphs: str | None) -> ContinuousQuery:
    members = tuple(
        StreamWindow("http://ex/s", WINDOW, graph, graph is not None) for graph in graphs or ("http://ex/w",)
    )
    return ContinuousQuery("text", read_query("ASK {}"), form, operator, members)


def written(writer: DocumentWriter, instant: int, *solutions: str, triples: tuple[str, ...] = ()) -> tuple[bytes, int]:
    return writer.write(Answer(instant, "\n".join(solutions).encode(), list(triples)))


A, B = '{"x":{"type":"literal","value":"a"}}', '{"x":{"type":"literal","value":"b é"}}'


def test_a_select_is_a_results_document_with_its_evaluation() -> None:
    data, count = written(DocumentWriter(query(), ("x", "名")), 8000, A, B)
    assert count == 2
    assert json.loads(data) == {
        "head": {"vars": ["x", "名"]},
        "results": {"bindings": [json.loads(A), json.loads(B)]},
        "evaluation": {
            "time": "1970-01-01T00:00:08Z",
            "operator": "RSTREAM",
            "windows": {"http://ex/w": ["1970-01-01T00:00:03Z", "1970-01-01T00:00:08Z"]},
        },
    }
    assert "é" in data.decode()


def test_a_parser_that_knows_nothing_of_evaluations_reads_the_results() -> None:
    data, _ = written(DocumentWriter(query(), ("x",)), 8000, A, B)
    found = ox.parse_query_results(data, format=ox.QueryResultsFormat.JSON)
    assert isinstance(found, ox.QuerySolutions)
    assert [solution["x"] for solution in found] == [ox.Literal("a"), ox.Literal("b é")]
    truth = ox.parse_query_results(
        written(DocumentWriter(query(Form.ASK), ()), 8000)[0], format=ox.QueryResultsFormat.JSON
    )
    assert isinstance(truth, ox.QueryBoolean)


def test_an_empty_answer_is_a_document_too() -> None:
    data, count = written(DocumentWriter(query(), ("x",)), 8000)
    assert (json.loads(data)["results"], count) == ({"bindings": []}, 0)


@pytest.mark.parametrize("solutions", [(), ("{}",)])
def test_an_ask_is_whether_there_is_a_solution(solutions: tuple[str, ...]) -> None:
    data, _ = written(DocumentWriter(query(Form.ASK), ()), 8000, *solutions)
    document = json.loads(data)
    assert document["boolean"] is bool(solutions)
    assert document["head"] == {}
    assert document["evaluation"]["time"] == "1970-01-01T00:00:08Z"


def test_a_construct_is_a_set_of_triples() -> None:
    writer = DocumentWriter(query(Form.CONSTRUCT), ("x",))
    data, count = written(writer, 8000, A, B, triples=("<a> <b> <c> .\n<a> <b> <d> .", "<a> <b> <c> ."))
    assert data == b"<a> <b> <c> .\n<a> <b> <d> .\n"
    assert count == 2
    assert written(writer, 9000, A, triples=("",)) == (b"", 0)


def test_windows_in_the_default_graph_are_named_after_their_streams() -> None:
    data, _ = written(DocumentWriter(query(Form.SELECT, R2S.RSTREAM, None, None), ()), 8000)
    assert len(json.loads(data)["evaluation"]["windows"]) == 2


def values(data: bytes) -> list[str]:
    return [binding["x"]["value"] for binding in json.loads(data)["results"]["bindings"]]


def test_istream_gives_what_is_new_and_dstream_what_is_gone() -> None:
    new = DocumentWriter(query(Form.SELECT, R2S.ISTREAM), ("x",))
    gone = DocumentWriter(query(Form.SELECT, R2S.DSTREAM), ("x",))
    steps = [((A,), ["a"], []), ((A, B, B), ["b é", "b é"], []), ((B,), [], ["a"]), ((), [], ["b é"]), ((), [], [])]
    for instant, (solutions, inserted, deleted) in enumerate(steps):
        assert values(written(new, instant * 1000, *solutions)[0]) == inserted
        assert values(written(gone, instant * 1000, *solutions)[0]) == deleted


def test_a_construct_of_what_is_gone_gives_the_earlier_triples() -> None:
    writer = DocumentWriter(query(Form.CONSTRUCT, R2S.DSTREAM), ("x",))
    written(writer, 1000, A, triples=("<a> <b> <c> .",))
    assert written(writer, 2000, B, triples=("<a> <b> <d> .",)) == (b"<a> <b> <c> .\n", 1)


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_operators_go_by_membership_and_keep_multiplicities(current: list[str], previous: list[str]) -> None:
    """Definitions 20 to 22."""

    def given_out(operator: R2S) -> list[str]:
        places, of_previous = relation_to_stream(operator, current, previous)
        return [(previous if of_previous else current)[place] for place in places]

    assert given_out(R2S.RSTREAM) == current
    assert given_out(R2S.ISTREAM) == [one for one in current if one not in previous]
    assert given_out(R2S.DSTREAM) == [one for one in previous if one not in current]


def told_bounds(window: WindowSpec, bounds: WindowBounds | None = None) -> list[str]:
    member = StreamWindow("http://ex/s", window, None, False)
    writer = DocumentWriter(
        ContinuousQuery("text", read_query("ASK {}"), Form.SELECT, R2S.RSTREAM, (member,)), (), bounds=bounds
    )
    data, _ = written(writer, 8000)
    (told,) = json.loads(data)["evaluation"]["windows"].values()
    return list(told)


def test_a_count_window_is_told_by_where_its_content_lies() -> None:
    assert told_bounds(CountWindow(2, Unit.TRIPLES), lambda place, instant: (place + 3000, instant)) == [
        "1970-01-01T00:00:03Z", "1970-01-01T00:00:08Z",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="timeline"):
        told_bounds(CountWindow(2, Unit.TRIPLES))


def test_a_window_without_a_beginning_is_told_from_the_first_year_on() -> None:
    assert told_bounds(LandmarkWindow(None, None, None)) == ["0001-01-01T00:00:00Z", "1970-01-01T00:00:08Z"]
