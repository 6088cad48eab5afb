"""A hundred thousand messages in files that grow and are rotated, with both sides killed meanwhile: each once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import GOOD, MESSAGES, PLACES, REJECTED, rejected, stored
from tests.server.under_kills.sides import PATIENCE, Program, StoredElements, end_both

pytestmark = [pytest.mark.server, pytest.mark.long]


@pytest.mark.parametrize(("how", "whole_folder"), [("numbers", False), ("names", True)])
def test_files_with_both_sides_killed_at_random(tmp_path: Path, how: str, whole_folder: bool) -> None:
    data, folder = tmp_path / "data", tmp_path / "in"
    folder.mkdir()
    place = folder / "in.nt"
    place.touch()
    with ServerProcess(data, options=["--allow-fetch", folder.as_uri()]) as server:
        source = {"type": "file", "url": (folder if whole_folder else place).as_uri()}
        assert server.client.put("/streams/s", json={"time": "arrival", "source": source}).status_code == 201
        server.wait(lambda: server.client.get("/streams/s").json()["sourceState"]["state"] == "running")
        elements, began = StoredElements(server, "s"), time.monotonic()
        with Program("file_writer", place, how) as writer:
            end_both(server, writer, elements, GOOD, seed=len(how))
            server.wait(writer.ended, PATIENCE)
        server.wait(lambda: elements() >= GOOD, PATIENCE)
        print(f"{MESSAGES} messages in {time.monotonic() - began:.0f} s")
        server.stop()
    assert stored(data, "s") == PLACES
    assert rejected(data, "s") == REJECTED
