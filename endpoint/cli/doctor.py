"""``sparql-streams doctor``, ``backup`` and ``restore``: a data directory looked through, copied, brought back."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import click
import httpx
import pyoxigraph as ox
from rich.table import Table

from endpoint.cli.options import client_to, option, server_option
from endpoint.client.http import check, unreachable
from endpoint.client.terminal import console, for_a_person, json_line, plain
from endpoint.graphs.directory import (
    RESTORE_STORE,
    has_lost_store,
    is_cut_short,
    is_data_directory,
    require_format,
    require_store,
    require_whole,
    restoring,
    store_directory,
)
from endpoint.graphs.opening import has_lost_its_head, left_out
from protocol.errors import StorageFull
from protocol.processes.durable_files import sync_directory

if TYPE_CHECKING:
    from spark_backend.doctor import Finding

_data_option = option(
    "--data", metavar="DIR", required=True, type=click.Path(file_okay=False, path_type=Path), help="The data directory."
)

_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)

_ALWAYS = {("store",), ("streams",)}
"""Directories at the top of every backup; the catalogue is there once there was a stream."""


@click.command()
@_data_option
@option("--repair", is_flag=True, help="Set aside what is damaged, make anew what can be. Deletes nothing.")
def doctor(data: Path, repair: bool) -> None:
    """Check every file of a data directory: a table of what is wrong, and what to do.

    Without --repair nothing is changed, and a server may be running; with it, none may. Ends with 1 if anything is
    wrong, with 0 otherwise.
    """
    if not data.is_dir():
        raise click.ClickException(f"{data} is no directory")
    _require(require_whole, data)
    if not is_data_directory(data):
        raise click.ClickException(f"{data} is no data directory of an endpoint: it has neither graphs nor streams")
    # What a later version writes would all look wrong.
    _require(require_format, data)
    # Importing it takes a while; wrong options need not wait for that.
    from spark_backend.doctor import look, mend

    if repair:
        _require(require_store, data)
        with _alone(data) as alone:
            if not alone:
                raise click.ClickException(f"a server is using {data}: stop it first, or look without --repair")
            mend(data)
            findings = [*look(data), *_store(data)]
    else:
        with _alone(data) as alone:
            pass  # let go at once: a server may be started meanwhile
        findings = [*look(data), *(_store(data) if alone else [])]
    if not alone:
        click.echo("a server is using the directory: its store was not looked at", err=True)
    if for_a_person():
        console().print(_table(findings) if findings else "nothing is wrong")
    else:
        for finding in findings:
            click.echo(json_line(finding._asdict()))
    sys.exit(1 if findings else 0)


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@server_option
def backup(target: Path, server: str | None) -> None:
    """Save a copy of a running endpoint's data in TARGET, a tar archive: all of it as it is at one moment."""
    _require_new(target)
    with client_to(server) as client:
        url = client.url("backup")
        try:
            with _whole(target) as file, client.http.stream("GET", url) as response:
                if not response.is_success:
                    response.read()
                check(response)
                for chunk in response.iter_bytes():
                    file.write(chunk)
        except httpx.HTTPError as error:
            raise unreachable(url, error) from None
        except OSError as error:
            raise click.ClickException(f"{target} cannot be written: {error.strerror or error}") from None
    if for_a_person():
        click.echo(f"{target}: {target.stat().st_size} bytes")


def _require_new(target: Path) -> None:
    """Raises ClickException for a file that is there."""
    if target.exists():
        raise click.ClickException(f"{target} exists already")


@contextmanager
def _whole(target: Path) -> Iterator[BinaryIO]:
    """A new file, which has its name, and is on the disk, when what is done within has come to its end, and is gone
    where it fails. What one that was killed has left is written over.

    Raises ClickException where another command is at it, and OSError.
    """
    partial = target.with_name(f".{target.name}.part")
    with partial.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise click.ClickException(f"{target} is just being written by another backup") from None
        except OSError:
            pass  # there are file systems without locks
        # Another may have come to its end since this one was opened: what has the name by now is whole.
        if not (partial.exists() and os.path.samestat(partial.stat(), os.fstat(file.fileno()))):
            raise click.ClickException(f"{target} has just been written by another backup")
        try:
            _require_new(target)
            file.truncate(0)
            yield file
            file.flush()
            os.fsync(file.fileno())
            partial.rename(target)
        except BaseException:
            partial.unlink()
            raise
    sync_directory(target.parent)


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_data_option
def restore(source: Path, data: Path) -> None:
    """Make a data directory from SOURCE, an archive of `sparql-streams backup`. DIR must be empty, or not there yet, or
    what a restore has left that was cut short.
    """
    if data.exists() and any(data.iterdir()) and not is_cut_short(data):
        raise click.ClickException(f"{data} is not empty: name another directory, or move what is there away")
    with source.open("rb") as file:
        file.seek(max(0, source.stat().st_size - 2 * tarfile.BLOCKSIZE))
        if any(file.read()) or source.stat().st_size < 2 * tarfile.BLOCKSIZE:
            raise click.ClickException(f"{source} was cut short: it does not end as an archive does")
    try:
        with tarfile.open(source) as archive:
            lacking = _ALWAYS - {PurePosixPath(member.name).parts[:1] for member in archive if member.isdir()}
            if lacking:
                names = " and ".join(sorted(f"{name}/" for (name,) in lacking))
                raise click.ClickException(f"{source} is no backup: it has no {names}, which a backup always has")
            for member in archive:
                _require_within(data, member)
            with restoring(data):
                archive.extractall(data, filter="data")
                require_format(data)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise click.ClickException(f"{source} cannot be restored: {error}") from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    from spark_backend.doctor import look

    findings = [*look(data), *_store(data)]
    if findings:
        console().print(_table(findings))
        raise click.ClickException(f"{source} was restored, but is not whole")


def _require(check: Callable[[Path], None], data: Path) -> None:
    """Raises ClickException for a data directory that the check refuses, by a ValueError."""
    try:
        check(data)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _require_within(data: Path, member: tarfile.TarInfo) -> None:
    """Raises TarError for what a backup never has: links, devices, and what would lie outside of the directory."""
    if PurePosixPath(member.name).is_absolute():
        raise tarfile.AbsolutePathError(member)
    tarfile.data_filter(member, str(data))


@contextmanager
def _alone(data: Path) -> Iterator[bool]:
    """Have the data directory as a server has it, by the directory of its store; False if one has it already."""
    try:
        store = os.open(store_directory(data), os.O_RDONLY)
    except FileNotFoundError:
        yield True
        return
    try:
        try:
            fcntl.flock(store, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(store)


def _store(data: Path) -> list[Finding]:
    """What is wrong with a store that nobody has open: it is read from end to end, and not changed.

    That it opens whole is tried with files beside it, for which there may be no room.
    """
    from spark_backend.doctor import Finding

    if has_lost_store(data):
        return [Finding("store", "the directory is missing", RESTORE_STORE, True)]
    directory = store_directory(data)
    advice = "restore it from a backup"
    if not (directory / "CURRENT").exists():
        return [Finding("store/CURRENT", "the file is missing", advice, True)] if has_lost_its_head(directory) else []
    try:
        for _ in ox.Store.read_only(str(directory)):
            pass
        return [Finding("store", said, advice, True) for said in left_out(directory)]
    except (OSError, ValueError, RuntimeError) as error:
        if isinstance(error, OSError) and (error.errno in _REFUSED or StorageFull.of(error, "it") is not None):
            untried = f"whether it opens whole could not be tried, for that takes files beside it: {error}"
            return [Finding("store", untried, "make room, or look at a copy where files may be written")]
        return [Finding("store", str(error), advice, True)]


def _table(findings: list[Finding]) -> Table:
    table = Table("place", "what is wrong", "what to do")
    for finding in findings:
        table.add_row(plain(finding.place), plain(finding.what), plain(finding.advice))
    return table
