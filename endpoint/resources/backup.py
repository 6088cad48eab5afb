"""The resource ``/backup``: a consistent copy of the data directory as a tar archive (docs/operations.md, "Backup")."""

from __future__ import annotations

import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from endpoint.graphs.directory import note_format, store_directory
from endpoint.resources.long_response import LongResponse
from endpoint.services import BACKUP_PREFIX, Services, services_of
from endpoint.uninterrupted import uninterrupted

_CHUNK = 1024 * 1024


async def backup(request: Request) -> Response:
    """The archive of a copy that was made before the answer begins."""
    services = services_of(request.app)
    # In the data directory, so that files can be linked instead of copied.
    directory = Path(tempfile.mkdtemp(prefix=BACKUP_PREFIX, dir=services.data))
    try:
        # Nothing comes into the directory after it is removed.
        await uninterrupted(services.threads.run(_copy, services, directory))
    except BaseException:
        await _remove(directory)
        raise
    return ArchiveResponse(directory)


def _copy(services: Services, directory: Path) -> None:
    note_format(directory)
    # Before the logs: what is delivered meanwhile is delivered again by a copy, never left out.
    services.sinks.backup(directory)
    services.live.backup(directory)
    services.backend.backup(directory)
    # One over streams and one of the store may have taken each other's place: a copy has one of them, or both.
    services.live.backup(directory)
    services.store.backup(store_directory(directory))


async def _remove(directory: Path) -> None:
    await uninterrupted(anyio.to_thread.run_sync(partial(shutil.rmtree, directory, ignore_errors=True)))


class ArchiveResponse(LongResponse):
    """The archive of a directory, which is removed at the end, also where the client leaves or takes nothing more."""

    def __init__(self, directory: Path) -> None:
        headers = {"Content-Disposition": 'attachment; filename="backup.tar"', "Cache-Control": "no-store"}
        super().__init__(archive(directory), media_type="application/x-tar", headers=headers)
        self._directory = directory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await _remove(self._directory)


def archive(directory: Path) -> Iterator[bytes]:
    """The parts of the archive. An archive that was cut short has no end."""
    for path in sorted(directory.rglob("*")):
        entry = tarfile.TarInfo(str(path.relative_to(directory)))
        status = path.stat()
        entry.mtime = int(status.st_mtime)
        if path.is_dir():
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            yield entry.tobuf()
            continue
        # What only the server's user may read has secrets, and so has a copy of it.
        entry.size, entry.mode = status.st_size, stat.S_IMODE(status.st_mode)
        yield entry.tobuf()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield chunk
        yield bytes(-status.st_size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


routes: list[BaseRoute] = [Route("/backup", backup)]
