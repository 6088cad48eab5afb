"""What an example has started ends with it, in whatever way that ends; its page is short."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.docs.examples.example_run import EXAMPLES, Example, run_commands


@pytest.mark.parametrize("name", sorted(folder.name for folder in EXAMPLES.iterdir()))
def test_an_example_is_short_and_has_commands(name: str) -> None:
    example = Example(name)
    assert len(example.page.splitlines()) < 30
    assert example.commands


@pytest.mark.parametrize(("ending", "said"), [("wait", "not done in 1 s"), ("echo oh; false", "oh")])
def test_nothing_is_left_of_what_fails(ending: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=said):
        run_commands(f"sleep 600 &\necho $! > number\n{ending}", tmp_path, 1)
    assert not _runs(tmp_path)


def test_nothing_is_left_of_what_does_not(tmp_path: Path) -> None:
    run_commands("sleep 600 &\necho $! > number", tmp_path, 60)
    assert not _runs(tmp_path)


def _runs(folder: Path) -> bool:
    number = int((folder / "number").read_text())
    try:
        return bool(psutil.Process(number).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
