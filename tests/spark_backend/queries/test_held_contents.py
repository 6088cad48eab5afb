"""Where a query can begin, and which of its answers can be made again, by what retention has left of its streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from protocol.language.model import R2S
from protocol.time import Instant
from protocol.windows.spec import TimeWindow
from spark_backend.answers.documents import DocumentWriter
from spark_backend.queries.held_contents import HeldContents
from spark_backend.queries.running_queries import RunningQuery
from spark_backend.streams.streams import Streams
from tests.spark_backend.queries.test_progress import CLOSES, TUMBLING, Watched

LONG = TimeWindow(100, 10, 0, CLOSES)


class ShortenedStreams(Streams):
    """Streams of which only what is after some instants is left."""

    def __init__(self, left: dict[str, Instant]) -> None:
        self.left = left

    def retained_from(self, log: str) -> Instant | None:
        return self.left.get(log)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    made = Watched(tmp_path)
    yield made
    made.close()


def held(watched: Watched, **left: Instant) -> HeldContents:
    return HeldContents(ShortenedStreams(left), watched.timelines)


def of_what_is_new(running: RunningQuery) -> RunningQuery:
    """The query with ISTREAM."""
    query = replace(running.query, operator=R2S.ISTREAM)
    return replace(running, query=query, writer=DocumentWriter(query, running.plan.variables))


def test_contents_are_whole_a_width_after_what_is_held(watched: Watched) -> None:
    windows = watched.run("q", ("s", TUMBLING), ("other", LONG)).windows
    assert held(watched).after(windows) is None
    assert held(watched, s=1000).after(windows) == 1009
    assert held(watched, s=1000, other=1000).after(windows) == 1099


def test_a_query_begins_where_it_is_asked_to_or_as_far_back_as_all_is_held(watched: Watched) -> None:
    windows = watched.run("q", ("s", TUMBLING)).windows
    assert held(watched).start(windows, 5) == 5
    assert held(watched, s=1000).start(windows, 5) == 1009
    assert held(watched, s=1000).start(windows, 2000) == 2000


def test_otherwise_it_begins_at_the_watermark_and_after_all_where_its_streams_have_ended(watched: Watched) -> None:
    windows = watched.run("q", ("s", TUMBLING)).windows
    assert held(watched).start(windows, None) is None
    watched.append("s", 5, 26)
    watched.timelines.refresh()
    assert held(watched).start(windows, None) == 25
    watched.log("s").end()
    watched.timelines.refresh()
    assert held(watched).start(windows, None) == 40, "the first at which nothing is left"


def test_an_answer_that_is_compared_needs_the_one_before_it_too(watched: Watched) -> None:
    running = watched.run("q", ("s", TUMBLING))
    watched.append("s", 5, 26, 47)
    watched.timelines.refresh()
    taken = held(watched, s=5)  # all of the windows that close after 14 is there
    assert [taken.answers_after(running, after) for after in (None, 10, 20, 30)] == [14, 14, 14, 14]
    compared = of_what_is_new(running)
    assert taken.answers_after(compared, 15) == 15, "the answer before that of 20 cannot be made"
    assert taken.answers_after(compared, 20) == 14, "that of 30 is compared with that of 20, which can"


def test_the_first_answer_after_the_start_is_compared_with_none(watched: Watched) -> None:
    running = of_what_is_new(watched.run("q", ("s", TUMBLING), start=15))
    watched.append("s", 5, 26, 47)
    watched.timelines.refresh()
    assert held(watched, s=5).answers_after(running, 15) == 14
