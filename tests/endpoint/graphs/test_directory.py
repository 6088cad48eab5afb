"""Who holds the directory of a store, and what is said when somebody takes it away."""

from __future__ import annotations

from pathlib import Path

import pytest

from endpoint.graphs.directory import OwnedDirectory


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A directory with a store in it, as far as it is looked at."""
    directory = tmp_path / "data" / "store"
    directory.mkdir(parents=True)
    (directory / "CURRENT").touch()
    return directory


def test_one_holds_it_at_a_time(store: Path) -> None:
    first = OwnedDirectory(store)
    with pytest.raises(OSError, match=f"the store in {store} cannot be opened .another server"):
        OwnedDirectory(store)
    first.let_go()
    OwnedDirectory(store).let_go()


def test_one_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(OSError, match=f"the store in {tmp_path / 'data' / 'store'} cannot be opened"):
        OwnedDirectory(tmp_path / "data" / "store")


@pytest.mark.parametrize("moved", ["store", "store/CURRENT"])
def test_that_somebody_has_taken_it_away_is_said_until_the_end(store: Path, moved: str) -> None:
    owned = OwnedDirectory(store)
    owned.look()
    said = [owned.lost]
    (store.parent / moved).rename(store.parent / "elsewhere")
    owned.look()
    said.append(owned.lost)
    (store.parent / "elsewhere").rename(store.parent / moved)
    owned.look()
    said.append(owned.lost)
    assert said[0] is None
    assert f"the directory {store} was removed or replaced" in str(said[1])
    assert said[2] == said[1]


def test_what_becomes_of_it_when_it_is_let_go_is_not_looked_at(store: Path) -> None:
    owned = OwnedDirectory(store)
    owned.let_go()
    (store / "CURRENT").unlink()
    owned.look()
    assert owned.lost is None
