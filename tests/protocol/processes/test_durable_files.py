"""Files that are replaced together: all of them or none, whatever cannot be had for it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from protocol.processes.durable_files import Content, write_atomically


@pytest.mark.parametrize("text", ["new", "\ud800"])
def test_what_cannot_be_made_durable_is_not_replaced(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Content(tmp_path / "one", "new", durable=True), Content(tmp_path / "other", text)
    write_atomically(one._replace(text="old"), other._replace(text="old"))
    real = os.open

    def no_more(path: Any, *given: Any, **named: Any) -> int:
        if Path(path).is_dir():
            raise OSError(errno.EMFILE, "Too many open files")
        return real(path, *given, **named)

    monkeypatch.setattr(os, "open", no_more)
    with pytest.raises((OSError, UnicodeEncodeError)):
        write_atomically(one, other)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"one": "old", "other": "old"}


@pytest.mark.parametrize("done", [0, 1])
def test_what_was_written_and_is_not_in_its_place_is_not_left(
    done: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def failing(temporary: Path, path: Path) -> None:
        if path.name == ("one", "other")[done]:
            raise OSError(errno.EIO, "Input/output error")
        real(temporary, path)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="Input/output error"):
        write_atomically(Content(tmp_path / "one", "new"), Content(tmp_path / "other", "new"))
    assert [path.name for path in tmp_path.iterdir()] == ["one"][:done]
