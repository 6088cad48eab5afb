"""Answers: told once, and the same again in replays."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from protocol.evaluations import Evaluation, Failed
from protocol.streams import StreamElement, StreamGap
from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget
from tests.spark_backend.engine_side import CLOSES, END, EVERY_2, EX, NEWS, answers, post
from tests.spark_backend.stepped_backend import SteppedBackend


def test_a_failed_evaluation_is_told_and_the_query_goes_on(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    key = stepped.running("q").registered.key
    one, two = b'{"s":{"type":"uri","value":"http://ex/one"}}', b'{"s":{"type":"uri","value":"http://ex/two"}}'
    stepped.pipeline.receive(
        [(key, Answer(2, one)), (key, Answer(4, error="too much")), (key, Answer(6, one + b"\n" + two))]
    )
    assert [type(notice) for notice in stepped.notices] == [Evaluation, Failed, Evaluation]
    assert answers(stepped) == {2: ["one"], 6: ["two"]}  # compared with the last that there was
    described = stepped.backend.query("q")
    assert (described.evaluated, described.evaluations, described.solutions) == (6, 2, 2)
    assert described.last_error == "too much"


def test_after_a_restart_istream_passes_over_a_failed_evaluation_too(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5)
    stepped.run()
    again = opened()
    real = again.pipeline.answers

    def failing_at_4(key: str, prepared: str, instants: list[int], budget: Budget) -> Iterator[Answer]:
        return (Answer(4, error="too much") if a.instant == 4 else a for a in real(key, prepared, instants, budget))

    monkeypatch.setattr(again.pipeline, "answers", failing_at_4)
    post(again, 7)
    again.run()
    assert answers(again) == {6: ["e3", "e5"]}


def test_an_answer_that_was_out_is_not_told_again(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    post(stepped, 1, 5)
    stepped.run()
    told = list(stepped.notices)
    stepped.pipeline.offset = {}
    stepped.run()
    assert stepped.notices == told


@pytest.mark.parametrize(("seconds", "jobs"), [(0.0, [1, 2, 4, 8, 5]), (0.4, [1] + [2] * 9 + [1]), (2.0, [1] * 20)])
def test_a_replay_of_what_may_take_long_is_many_short_jobs(
    stepped: SteppedBackend, monkeypatch: pytest.MonkeyPatch, seconds: float, jobs: list[int]
) -> None:
    stepped.register("q", NEWS)
    post(stepped, *range(1, 42))
    stepped.run()
    told = list(stepped.backend.replay("q", None, END))
    running = stepped.backend._running.named("q")
    running.registered = running.registered.in_own_lane()
    evaluate, asked = stepped.pipeline.answers, list[int]()

    def answers(key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        asked.append(len(instants))
        return (replace(one, seconds=seconds) for one in evaluate(key, prepared, instants, budget))

    monkeypatch.setattr(stepped.pipeline, "answers", answers)
    assert list(stepped.backend.replay("q", None, END)) == told
    assert asked == jobs


def test_a_replay_gives_what_was_told_after_and_up_to_the_instants_asked_for(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5, 7, 9)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert [evaluation.instant for evaluation in live] == [2, 4, 6, 8]
    for after, upto, wanted in [(None, 8, live), (2, 6, live[1:3]), (3, 7, live[1:3]), (8, 99, []), (6, 2, [])]:
        assert list(stepped.backend.replay("q", after, upto)) == wanted


@pytest.mark.parametrize("operator", ["ISTREAM", "DSTREAM"])
def test_from_before_the_start_each_answer_is_compared_with_the_one_before_wherever_a_replay_begins(
    stepped: SteppedBackend, operator: str
) -> None:
    news = NEWS.replace("ISTREAM", operator)
    stepped.register("always", news)
    post(stepped, 1, 3, 5, 7)
    stepped.register("q", news)
    assert stepped.running("q").registered.start == 6
    post(stepped, 9, 11)
    stepped.run()
    always = stepped.answers("always")
    assert list(always) == [2, 4, 6, 8, 10]
    for after in range(1, 6):
        assert stepped.replayed("q", after) == {t: data for t, data in always.items() if t > after}
    # Who begins at the start has what was told live, unless it had what was there.
    assert stepped.replayed("q", 6) == stepped.answers("q") != {t: always[t] for t in (8, 10)}
    had = list(stepped.backend.replay("q", 6, END, before_start=True))
    assert {one.instant: one.data for one in had if isinstance(one, Evaluation)} == {t: always[t] for t in (8, 10)}


def test_from_before_the_start_nothing_is_compared_with_what_is_held_no_more(stepped: SteppedBackend) -> None:
    stepped.register("q", NEWS)
    post(stepped, 1, 3, 5, 7, 9)
    stepped.run()
    replay = stepped.backend._delivery.replay
    first, *_ = replay("q", 4, END, lambda: 3, before_start=True)
    assert isinstance(first, Evaluation)
    assert first.data == stepped.answers("q")[6]
    first, *_ = replay("q", 4, END, lambda: 4, before_start=True)
    assert isinstance(first, Evaluation)
    assert first.data != stepped.answers("q")[6]


def test_answers_tell_their_streams_from_those_that_had_their_names_before(
    opened: Callable[..., SteppedBackend],
) -> None:
    stepped = opened()

    def incarnations() -> set[int]:
        """Of the query and all of its answers: those told, those replayed, and the latest."""
        stepped.run()
        told = [one for one in stepped.notices if isinstance(one, Evaluation)]
        latest = stepped.backend.latest("q")
        assert latest is not None
        assert told
        answers = [*told, *stepped.backend.replay("q", None, END), latest]
        of_answers = {one.incarnation for one in answers if isinstance(one, Evaluation)}
        return {stepped.backend.query("q").incarnation} | of_answers

    stepped.event_stream("s", EX + "s")
    stepped.register("q", EVERY_2)
    post(stepped, 1, 2, 3)
    assert incarnations() == {0}
    stepped.backend.remove("q")
    stepped.register("q", EVERY_2, since=0)
    assert incarnations() == {0}
    stepped.backend.remove("q")
    stepped.backend.delete_stream("s")
    stepped.event_stream("s", EX + "s")
    stepped.notices.clear()
    stepped.register("q", EVERY_2)
    post(stepped, 1, 2, 3)
    anew = incarnations()
    assert len(anew) == 1
    assert min(anew) > 0
    stepped = opened()
    post(stepped, 7)
    assert incarnations() == anew


def test_who_reads_on_after_an_element_of_a_stream_that_is_gone_gets_all_of_the_new_one(
    stepped: SteppedBackend,
) -> None:
    def taken(after: int, incarnation: int | None) -> tuple[int, list[type]]:
        follower = stepped.backend.follow("s", after, incarnation=incarnation)
        found = [type(one) for one in follower.take()]
        follower.close()
        return follower.incarnation, found

    post(stepped, 1, 2)
    assert taken(0, 0) == (0, [StreamElement])
    stepped.backend.delete_stream("s")
    stepped.event_stream("s", EX + "s")
    post(stepped, 3, 4, 5)
    anew, found = taken(0, 0)
    assert found == [StreamGap, *3 * [StreamElement]]
    assert anew > 0
    assert taken(0, anew) == (anew, 2 * [StreamElement])
    assert taken(-1, None) == (anew, 3 * [StreamElement])


def test_a_replay_stops_at_the_watermark(stepped: SteppedBackend) -> None:
    stepped.register("q", EVERY_2)
    assert list(stepped.backend.replay("q", None, END)) == []
    post(stepped, 1, 4)
    stepped.run()
    # 4 may still get more elements, so the answer at 4 is not known yet.
    assert [evaluation.instant for evaluation in stepped.backend.replay("q", None, END)] == [2]


def test_a_long_replay_is_whole_and_in_order(stepped: SteppedBackend) -> None:
    stepped.register("q", CLOSES)
    post(stepped, 1)
    stepped.backend.advance("s", 1400)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert [evaluation.instant for evaluation in live] == list(range(2, 1401, 2))
    assert list(stepped.backend.replay("q", None, 1400)) == live


def test_blank_nodes_keep_their_names_in_replays_but_not_in_another_delivery(
    opened: Callable[..., SteppedBackend], stepped: SteppedBackend
) -> None:
    stepped.register("q", EVERY_2.replace("?s FROM", "?s ?o FROM"))
    body = f"_:b <{EX}p> _:b . _:b <{EX}q> _:c ."
    stepped.post("s", body, 1)
    stepped.post("s", body, 3)
    stepped.backend.advance("s", 4)
    stepped.run()
    live = [notice for notice in stepped.notices if isinstance(notice, Evaluation)]
    assert list(stepped.backend.replay("q", None, END)) == live
    assert list(opened().backend.replay("q", None, END)) == live
    one, other = (
        {term["value"] for row in json.loads(e.data)["results"]["bindings"] for term in row.values()} for e in live
    )
    assert len(one) == len(other) == 2
    assert not one & other  # scoped to their messages
