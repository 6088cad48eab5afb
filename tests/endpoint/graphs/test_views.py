"""Snapshots as they are read: how many are made, and how long each stays."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from endpoint.graphs.views import Views

TRIPLE = ox.Quad(ox.NamedNode("http://ex/s"), ox.NamedNode("http://ex/p"), ox.Literal(1))


class Snapshots:
    """A store in a directory, whose version is how often it was changed."""

    def __init__(self, directory: Path) -> None:
        self._store = ox.Store(str(directory))
        self.version = self.made = 0

    def change(self) -> None:
        self.version += 1
        self._store.add(ox.Quad(ox.NamedNode(f"http://ex/{self.version}"), TRIPLE.predicate, TRIPLE.object))

    def backup(self, directory: Path) -> int:
        self.made += 1
        self._store.backup(str(directory))
        return self.version


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(tmp_path / "store")


def test_one_is_made_for_each_version_that_is_read(snapshots: Snapshots, tmp_path: Path) -> None:
    views = Views(tmp_path / "views", snapshots.backup)
    read = []
    for changes in (0, 0, 2, 0):
        for _ in range(changes):
            snapshots.change()
        read.append(len(views.latest(lambda: snapshots.version)))
    assert read == [0, 0, 2, 2]
    assert snapshots.made == 2


def test_of_those_before_the_latest_one_stays_for_whoever_reads_it(snapshots: Snapshots, tmp_path: Path) -> None:
    views = Views(tmp_path / "views", snapshots.backup)
    for _ in range(4):
        snapshots.change()
        views.latest(lambda: snapshots.version)
    assert len(list((tmp_path / "views").iterdir())) == 2
    views.close()
    assert not (tmp_path / "views").exists()


def test_what_an_earlier_process_has_left_goes(snapshots: Snapshots, tmp_path: Path) -> None:
    (tmp_path / "views" / "left").mkdir(parents=True)
    Views(tmp_path / "views", snapshots.backup)
    assert not (tmp_path / "views").exists()
