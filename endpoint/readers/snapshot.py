"""Snapshots of the store, which readers open: one a version that is asked for, removed when nobody reads it."""

from __future__ import annotations

import asyncio
import shutil
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from protocol.errors import ProtocolError


class SnapshotSource(Protocol):
    """What snapshots are made of: the store, or what follows from it (``endpoint.entailment``)."""

    @property
    def version(self) -> int:
        """Grows with each change."""

    def backup(self, directory: Path) -> int:
        """Make a snapshot in a directory that is not there yet; its version or a later one."""

    def report(self, error: ProtocolError) -> None:
        """Have what was found when it was read known, where that is damage."""


@dataclass(eq=False)
class Snapshot:
    """One state of the store in a directory of its own; ``users`` counts the readers that have it open."""

    version: int
    directory: Path
    users: int = 0


class Snapshots:
    """The snapshots of one store. Belongs to the event loop; the work on the disk is done in ``executor``."""

    def __init__(self, store: SnapshotSource, directory: Path, executor: Executor) -> None:
        """``directory`` is for these alone, on the store's own file system; what an earlier process left is removed."""
        self._store = store
        self._directory = directory
        self._executor = executor
        self._newest: Snapshot | None = None
        self._making: asyncio.Future[Snapshot] | None = None
        self._made = 0
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)

    async def newest(self, least: int | None = None) -> Snapshot:
        """A snapshot with every change that was acknowledged before the call; made now if there is none.

        ``least``: one of this version or a later one will do.
        """
        wanted = self._store.version if least is None else least
        while self._newest is None or self._newest.version < wanted:
            # One that is done, but has not been told to ``_finished`` yet, is awaited without a turn for anybody else.
            if self._making is None or self._making.done():
                self._made += 1
                self._making = asyncio.ensure_future(self._make(self._directory / str(self._made)))
                self._making.add_done_callback(self._finished)
            # Others may wait for it too, and what is being made must not be lost if this caller leaves.
            await asyncio.shield(self._making)
        return self._newest

    async def _make(self, directory: Path) -> Snapshot:
        version = await asyncio.get_running_loop().run_in_executor(self._executor, self._store.backup, directory)
        made = Snapshot(version, directory)
        former, self._newest = self._newest, made
        if former is not None:
            self._remove_unused(former)
        return made

    def _finished(self, making: asyncio.Future[Snapshot]) -> None:
        if self._making is making:
            self._making = None
        if not making.cancelled():
            # Those who waited have been told; with nobody left, the next question finds out by itself.
            making.exception()

    def remove(self) -> None:
        """Remove them all; for the end, when nobody has one open."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def use(self, snapshot: Snapshot) -> None:
        """A reader is about to open it."""
        snapshot.users += 1

    def let_go(self, snapshot: Snapshot) -> None:
        """A reader that had opened it has closed it, or has ended."""
        snapshot.users -= 1
        self._remove_unused(snapshot)

    def _remove_unused(self, snapshot: Snapshot) -> None:
        if snapshot.users == 0 and snapshot is not self._newest:
            self._executor.submit(shutil.rmtree, snapshot.directory, ignore_errors=True)
