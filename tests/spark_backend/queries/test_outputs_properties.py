"""A query over the output of another, against the model: the answers of the first are what the second reads."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.rsp.oracle import CountWindow, Graphs, OracleAnswer, OracleStream, Window, answers
from protocol.evaluations import Evaluation, Failed
from protocol.time import Instant
from tests.spark_backend.model.scenario_run import horizon, least_watermark, post, read
from tests.spark_backend.model.scenarios import (
    RELAXED,
    Action,
    Advance,
    Append,
    End,
    Restart,
    Step,
    contents,
    moves,
    windows_over,
)
from tests.spark_backend.oracle.queries import EX, SHAPES, Shape, build
from tests.spark_backend.stepped_backend import SteppedBackend

CONSTRUCTS = [shape for shape in SHAPES if shape.template is not None]
READERS = [shape for shape in SHAPES if not shape.needs_named]


@dataclass(frozen=True)
class Network:
    """``first`` constructs the stream ``out`` from ``s``, ``second`` reads it."""

    first: Shape
    first_windows: tuple[Window, ...]
    operator: str | None
    second: Shape
    second_windows: tuple[Window, ...]
    actions: tuple[Action, ...]

    def __repr__(self) -> str:
        queries = [build(self.first, self.first_windows, self.operator), build(self.second, self.second_windows, None)]
        return "\n".join([*(text for text, _ in queries), *(f"  {action}" for action in self.actions)])


def _by_order_in_an_element(window: Window) -> bool:
    """The triples that are constructed have no order to be told in advance."""
    return isinstance(window, CountWindow) and window.by == "TRIPLES"


@st.composite
def networks(draw: st.DrawFn) -> Network:
    time = draw(st.integers(0, 12))
    actions: list[Action] = []
    for _ in range(draw(st.integers(3, 16))):
        kind = draw(st.sampled_from(["append"] * 5 + ["advance", "step", "step", "restart"]))
        if kind == "step":
            actions.append(Step(draw(st.integers(1, 3))))
        elif kind == "restart":
            actions.append(Restart(draw(st.booleans())))
        else:
            time = max(0, time + draw(moves))
            actions.append(Append("s", ((time, draw(contents)),)) if kind == "append" else Advance("s", time))
    if draw(st.booleans()):
        actions += [Step(1), End("s")]
    second = windows_over(["out"], False).filter(lambda windows: not any(map(_by_order_in_an_element, windows)))
    return Network(
        draw(st.sampled_from(CONSTRUCTS)),
        draw(windows_over(["s"], False)),
        draw(st.sampled_from([None, "ISTREAM", "DSTREAM"])),
        draw(st.sampled_from(READERS)),
        draw(second),
        tuple(actions),
    )


def check_network(network: Network) -> None:
    (first_text, first), (second_text, second) = (
        build(network.first, network.first_windows, network.operator),
        build(network.second, network.second_windows, None),
    )
    source = OracleStream()
    told: dict[Instant, Evaluation] = {}
    with tempfile.TemporaryDirectory() as directory:
        stepped = SteppedBackend(Path(directory))
        stepped.event_stream("s", EX + "s")
        stepped.register("first", f"REGISTER STREAM <{EX}out> AS {first_text}")
        stepped.register("second", second_text)

        def collect() -> None:
            assert not any(isinstance(notice, Failed) for notice in stepped.notices)
            for notice in stepped.notices:
                if isinstance(notice, Evaluation) and notice.query == "second":
                    assert notice.instant not in told
                    told[notice.instant] = notice
            stepped.notices.clear()

        try:
            for action in network.actions:
                match action:
                    case Append(_, elements):
                        post(stepped, "s", elements)
                        for time, triples in elements:
                            source.append(time, triples)
                    case Advance(_, watermark):
                        stepped.backend.advance("s", watermark)
                        source.advance(watermark)
                    case End():
                        stepped.backend.end_stream("s")
                        source.ended = True
                    case Step(batches):
                        for _ in range(batches):
                            stepped.pipeline.step()
                    case Restart(keep_offset):
                        collect()
                        offset = stepped.pipeline.offset
                        stepped.close()
                        stepped = SteppedBackend(Path(directory))
                        if keep_offset:
                            stepped.pipeline.offset = json.loads(json.dumps(offset))
            stepped.run()
            stepped.backend._progress.say()
            stepped.run()
            collect()
            published = stepped.backend.stream("out")
        finally:
            stepped.close()
    output = OracleStream()
    for instant, answer in answers(first, {"s": source}, Graphs(), None, horizon({"s": source})).items():
        assert isinstance(answer.content, frozenset)
        output.append(instant, answer.content)
        output.advance(instant)
    reached = least_watermark(first, {"s": source})
    output.ended = source.ended
    if not source.ended and reached is not None:
        output.advance(reached)
    size = sum(len(element.triples) for element in output.elements)
    assert (published.elements, published.triples, published.late) == (len(output.elements), size, 0)
    assert published.watermark == (None if output.ended else output.watermark)
    expected: dict[Instant, OracleAnswer] = answers(second, {"out": output}, Graphs(), None, horizon({"out": output}))
    assert list(told) == list(expected)
    for instant, evaluation in told.items():
        assert read(evaluation, second, {"out": output}) == expected[instant]


@settings(RELAXED, max_examples=12)
@given(networks())
def test_a_query_over_an_output_reads_each_answer_once_whatever_restarts(network: Network) -> None:
    check_network(network)


@pytest.mark.long
@settings(RELAXED, max_examples=1000)
@given(networks())
def test_a_query_over_an_output_reads_each_answer_once_in_many_networks(network: Network) -> None:
    check_network(network)
