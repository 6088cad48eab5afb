"""A data directory keeps the name by which others know its sources, whatever a crash or a full disk leaves of it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from endpoint.sources.identity import FILE, identity_of


def test_it_is_made_once_and_no_other_directory_has_it(tmp_path: Path) -> None:
    made = []
    for name in "ab":
        data = tmp_path / name
        data.mkdir()
        made += [identity_of(data), identity_of(data)]
        assert [one.name for one in data.iterdir()] == [FILE]
    assert made[0] == made[1] != made[2] == made[3]


def test_an_empty_one_is_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"")
    made = identity_of(tmp_path)
    assert made.isalnum()
    assert identity_of(tmp_path) == made


def test_where_it_cannot_be_written_down_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        identity_of(tmp_path)
    assert list(tmp_path.iterdir()) == []
