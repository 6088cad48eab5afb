"""As where a process has as many files open as it may."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def no_directory_opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within, no directory can be opened; files can."""
    opened = os.open

    def no_directory(path: Path, *given: Any, **named: Any) -> int:
        if Path(path).is_dir():
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *given, **named)

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", no_directory)
        yield
