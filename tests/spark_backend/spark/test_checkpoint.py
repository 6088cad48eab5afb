"""How far the evaluation clock was, as Spark has written it down."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_backend.budget import Lane
from spark_backend.registry import RegisteredQuery, Registry
from spark_backend.spark.checkpoint import committed_offset, planned


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Of eleven batches, the last of which is under way."""
    for directory in ("commits", "offsets"):
        (tmp_path / directory).mkdir()
    for batch in range(11):
        (tmp_path / "offsets" / f"{batch}").write_text(f'v1\n{{"batchWatermarkMs":0}}\n{{"": 1, "q.1": {batch}000}}')
        if batch < 10:
            (tmp_path / "commits" / f"{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        (tmp_path / "commits" / f".{batch}.crc").write_bytes(b"crc")
    return tmp_path


def test_it_is_that_of_the_last_batch_that_is_over(checkpoint: Path) -> None:
    assert committed_offset(checkpoint) == {"": 1, "q.1": 9000}


@pytest.mark.parametrize("left", ["", "v1", "v1\n{}\n-", "v1\n{}\n[1]", "v1\n{}\n7", 'v1\n{}\n{"q.1": null}', None])
def test_what_has_not_come_to_the_disk_is_passed_over(left: str | None, checkpoint: Path) -> None:
    for batch in (8, 9):
        file = checkpoint / "offsets" / f"{batch}"
        file.unlink() if left is None else file.write_text(left)
    assert committed_offset(checkpoint) == {"": 1, "q.1": 7000}


def test_without_a_whole_batch_nothing_is_known(tmp_path: Path) -> None:
    assert committed_offset(tmp_path) == {}
    assert committed_offset(tmp_path / "missing") == {}


def test_positions_are_those_of_the_common_lane_by_registration(checkpoint: Path, tmp_path: Path) -> None:
    registry = Registry(tmp_path / "queries")
    assert planned(checkpoint, registry) == {}
    common, own = RegisteredQuery("q.1", (), "", None), RegisteredQuery("", (), "", None, Lane.OWN)
    never, back = RegisteredQuery("never", (), "", None), RegisteredQuery("back", (), "", None, moves=1, resumed=7)
    registry.write([common, own, never, back])
    assert planned(checkpoint, registry) == {"q.1": 9000, "back": 7}
