from __future__ import annotations

import pyarrow as pa
import pytest

from protocol.errors import InvalidMessage
from protocol.streams import TimeKind
from spark_backend.log.format.columns import LATEST
from spark_backend.log.format.request import check_request
from tests.spark_backend.log.log_oracle import request, triple


def test_counts_elements_and_the_triples_of_those_that_have_any() -> None:
    checked = check_request(request((5, [triple("a"), triple("b")]), (6, []), (7, [triple("c")])), TimeKind.EVENT)
    assert (checked.elements, checked.triples) == (3, 3)
    assert checked.times is not None
    assert checked.times.to_pylist() == [5, 6, 7]


def test_a_request_without_messages_is_empty() -> None:
    checked = check_request(request(), TimeKind.EVENT)
    assert (checked.elements, checked.triples) == (0, 0)


def test_an_arrival_stream_ignores_the_times_of_the_request() -> None:
    checked = check_request(request((None, [triple("a")]), (3, [])), TimeKind.ARRIVAL)
    assert checked.times is None


def test_a_message_without_a_timestamp_is_named() -> None:
    with pytest.raises(InvalidMessage, match="message 3 of the request has no timestamp"):
        check_request(request((1, [triple("a")] * 4), (2, []), (None, [triple("b")])), TimeKind.EVENT)


def test_a_timestamp_that_cannot_be_kept_is_named() -> None:
    with pytest.raises(InvalidMessage, match="message 2 of the request has the timestamp"):
        check_request(request((1, [triple("a")] * 4), (LATEST + 1, [])), TimeKind.EVENT)


def test_columns_may_come_in_any_order_and_in_wider_types() -> None:
    batch = request((5, [triple("a", 2.5)]))
    wide = pa.schema([field.with_type(pa.large_string()) if field.name in "gspo" else field for field in batch.schema])
    shuffled = batch.cast(wide).select(["n", "k", "o", "p", "s", "g", "time", "element"])
    assert check_request(shuffled, TimeKind.EVENT).rows.equals(batch)


@pytest.mark.parametrize("ordinals", [[1, 2], [0, 2], [1, 0], [0, None], [None, 0]])
def test_ordinals_that_do_not_count_from_zero_are_refused(ordinals: list[int | None]) -> None:
    batch = request((1, [triple("a")]), (1, [triple("b")])).set_column(0, "element", pa.array(ordinals, pa.int32()))
    with pytest.raises(ValueError, match="element must count"):
        check_request(batch, TimeKind.EVENT)


@pytest.mark.parametrize("column", ["s", "p", "o"])
def test_half_a_triple_is_refused(column: str) -> None:
    batch = request((1, [triple("a"), triple("b")]))
    index = batch.schema.get_field_index(column)
    with pytest.raises(ValueError, match="all of s, p and o"):
        check_request(batch.set_column(index, column, pa.array(["<http://x>", None])), TimeKind.EVENT)


def test_an_empty_message_of_several_rows_is_refused() -> None:
    batch = request((1, []), (1, [])).set_column(0, "element", pa.array([0, 0], pa.int32()))
    with pytest.raises(ValueError, match="one row"):
        check_request(batch, TimeKind.EVENT)


def test_rows_of_an_element_with_two_times_are_refused() -> None:
    batch = request((1, [triple("a"), triple("b")])).set_column(1, "time", pa.array([1, 2], pa.int64()))
    with pytest.raises(ValueError, match="one time"):
        check_request(batch, TimeKind.EVENT)


def test_a_batch_without_a_column_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the columns k, n"):
        check_request(request((1, [])).drop_columns(["k", "n"]), TimeKind.EVENT)
