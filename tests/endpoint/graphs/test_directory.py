"""Of which format a data directory is, who holds that of a store, and what is said when somebody takes it away."""

from __future__ import annotations

from pathlib import Path

import pytest

from endpoint.graphs.directory import FORMAT, OwnedDirectory, note_format, require_format


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


def test_a_data_directory_says_its_format_and_one_that_says_none_is_read(tmp_path: Path) -> None:
    require_format(tmp_path)
    note_format(tmp_path)
    require_format(tmp_path)
    assert (tmp_path / "format").read_text() == f"{FORMAT}\n"
    (tmp_path / "format").write_text("0")
    require_format(tmp_path)
    note_format(tmp_path)
    assert (tmp_path / "format").read_text() == f"{FORMAT}\n"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (f"{FORMAT + 1}\n", f"written by a later version of sparql-streams .its format is {FORMAT + 1}"),
        ("", "has '', which is no number of a format"),
        ("une", "has 'une', which is no number of a format"),
        ("9" * 5000, "which is no number of a format"),
    ],
)
def test_a_format_that_is_not_known_is_refused(written: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "format").write_text(written)
    with pytest.raises(ValueError, match=told):
        require_format(tmp_path)
