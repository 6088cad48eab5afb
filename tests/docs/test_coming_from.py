"""What docs/coming-from.md gives for other languages' examples: its answers, also where triples come again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, page
from tests.spark_backend.stepped_backend import SteppedBackend
from tests.spark_backend.surface.asking import rows

EX = "http://example.org/"
Rows = Counter[tuple[str | None, ...]]


def answers(directory: Path, example: str, arrived: list[tuple[int, str]], upto: int) -> dict[int, bytes]:
    """The documents of the example of this name, by second; ``arrived`` are triples at seconds."""
    (block,) = [block for block in page(DOCS / "coming-from.md").blocks_of("sparql") if block.comment == example]
    stepped = SteppedBackend(directory)
    try:
        for name in ("badges", "doors", "readings"):
            stepped.event_stream(name, EX + name)
        stepped.register("q", block.text)
        for at, triples in arrived:
            for name in ("badges", "doors", "readings"):
                stepped.post(name, f"PREFIX : <{EX}> {triples} .", at * 1000)
        for name in ("badges", "doors", "readings"):
            stepped.backend.advance(name, upto * 1000)
        stepped.run()
        return {at // 1000: data for at, data in stepped.answers("q").items()}
    finally:
        stepped.close()


def solutions(documents: dict[int, bytes]) -> dict[int, Rows]:
    """The solutions of each evaluation that has any, of IRIs the local names."""
    read = {at: rows(data) for at, data in documents.items()}
    short = {
        at: Counter({tuple(v and v.removeprefix(EX) for v in one): n for one, n in read[at].items()}) for at in read
    }
    return {at: found for at, found in short.items() if found}


DOORS = [
    (1, ":ann :enters :a"),
    (2, ":bob :enters :a"),
    (4, ":ann :leaves :a . :ann :enters :b"),
    (5, ":ann :enters :b"),  # again: she is there already
    (7, ":ann :leaves :b"),
    (8, ":ann :enters :a"),  # again, after having left
    (10, ":bob :leaves :a"),
]


@pytest.mark.parametrize("example", ["inside", "facts"])
def test_who_is_inside_is_counted_every_three_seconds_however_often_they_come(tmp_path: Path, example: str) -> None:
    assert solutions(answers(tmp_path, example, DOORS, 12)) == {
        3: Counter({("a", "2"): 1}),
        6: Counter({("a", "1"): 1, ("b", "1"): 1}),
        9: Counter({("a", "2"): 1}),
        12: Counter({("a", "1"): 1}),
    }


def test_batches_tell_what_changes(tmp_path: Path) -> None:
    documents = answers(tmp_path, "batches", DOORS, 12)
    integer = "http://www.w3.org/2001/XMLSchema#integer"

    def told(**changes: int) -> set[str]:
        return {f'<{EX}{room}> <{EX}change> "{number}"^^<{integer}> .' for room, number in changes.items()}

    assert {at: set(data.decode().splitlines()) for at, data in documents.items()} == {
        3: told(a=2),
        6: told(a=-1, b=1),
        9: told(a=1, b=-1),
        12: told(a=-1),
    }


TOGETHER = [
    (60, ":ann :seenIn :a"),
    (120, ":bob :seenIn :a"),
    (180, ":ann :seenIn :b"),
    (240, ":bob :seenIn :b"),
    (300, ":ann :seenIn :c"),
    (360, ":bob :seenIn :c"),
]


def test_two_in_three_rooms_are_told_when_the_last_comes(tmp_path: Path) -> None:
    match = ("ann", "bob", "a", "b", "c")
    assert solutions(answers(tmp_path / "1", "three rooms", TOGETHER, 1000)) == {360: Counter({match: 1})}
    # Ann is told to be in the first room once more, too late; bob twice in time, which makes two combinations.
    again = sorted([*TOGETHER, (200, ":ann :seenIn :a"), (130, ":bob :seenIn :a")])
    assert solutions(answers(tmp_path / "2", "three rooms", again, 1000)) == {360: Counter({match: 2})}
    # The first of them is ten minutes ago when the last comes.
    late = [*TOGETHER[:-1], (660, ":bob :seenIn :c")]
    assert solutions(answers(tmp_path / "3", "three rooms", late, 1000)) == {}


def test_a_rise_is_told_within_its_key_and_time(tmp_path: Path) -> None:
    read = [
        (60, ":r1 :room :a ; :temperature 20"),
        (120, ":r2 :room :a ; :temperature 22 . :r3 :room :b ; :temperature 10"),
        (180, ":r4 :room :a ; :temperature 26 . :r5 :room :b ; :temperature 9"),
        (600, ":r6 :room :a ; :temperature 40"),
    ]
    assert solutions(answers(tmp_path, "rises", read, 700)) == {180: Counter({("a", "20", "26"): 1})}
