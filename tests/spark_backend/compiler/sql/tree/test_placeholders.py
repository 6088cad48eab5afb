"""A written statement goes to JSON and comes back, and its placeholders are filled in where they stand."""

from __future__ import annotations

import json

import pytest

from spark_backend.compiler.sql.tree.nodes import Pieces, Placeholder, filled, named, written
from spark_backend.compiler.sql.tree.placeholders import (
    Alone,
    DerivedRows,
    Instants,
    IntervalRows,
    MatchRows,
    Members,
    NewRows,
    Parameter,
    SourceList,
    SourceRows,
    StaticRows,
    WindowRows,
    pieces_from_json,
    pieces_to_json,
)

ALL: Pieces = (
    "SELECT ",
    Parameter("m1", 3),
    Parameter("m1", 3, numeric=True),
    Instants(),
    Members(),
    WindowRows(1),
    NewRows(2),
    StaticRows(3),
    SourceRows(4),
    IntervalRows(5),
    MatchRows(6),
    SourceList(
        ((SourceRows(7), "t1"), (DerivedRows(("SELECT ", SourceRows(2)), ((2,), (3, 4))), "q3"), (Members(), "m2"))
    ),
    Alone((" LIMIT ", Parameter("m2", 0))),
    " window_0",
)


def test_pieces_are_the_same_in_json() -> None:
    assert pieces_from_json(json.loads(json.dumps(pieces_to_json(ALL)))) == ALL


def test_texts_that_follow_each_other_are_one_piece() -> None:
    assert written(["a", "b", Instants(), "c", Parameter("m", 0), Members()]) == (
        "ab",
        Instants(),
        "c",
        Parameter("m", 0),
        Members(),
    )


def test_only_placeholders_are_filled_in() -> None:
    assert filled(("window_0 ", WindowRows(0), " '{}'"), lambda _: "w") == "window_0 w '{}'"


@pytest.mark.parametrize(
    ("piece", "name"),
    [
        (Parameter("m1", 3, numeric=True), "m1.c3_n"),
        (SourceList(((SourceRows(7), "t1"), (Members(), "m2"))), "source_7 t1, members m2"),
        (Alone((" LIMIT ", Parameter("m2", 0))), "/*  LIMIT m2.c0 */"),
        (DerivedRows(("FROM ", SourceRows(7)), ((7,),)), "(FROM source_7)"),
    ],
)
def test_placeholders_have_names_where_nothing_is_filled_in(piece: Placeholder, name: str) -> None:
    assert named((piece,)) == name
