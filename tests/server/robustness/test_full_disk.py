"""A server whose disk is full: a small file system of its own, which only root can make."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.endpoint.running_server import running_server

pytestmark = [
    pytest.mark.server,
    pytest.mark.long,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0, reason="only root can mount a file system that is soon full"
    ),
]
_PATIENCE = 30.0
SMALL = "INSERT DATA { <http://ex/s> <http://ex/p> 1 }"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "disk"
    directory.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", directory], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no file system could be mounted here: {made.stderr.strip()}")
    try:
        yield directory
    finally:
        subprocess.run(["umount", directory], check=True)


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as other:
        while True:
            other.write(bytes(4096))


def test_a_server_does_not_start_on_a_full_disk_and_says_what_it_needs(disk: Path) -> None:
    with running_server(data=disk / "data"):
        pass
    with pytest.raises(OSError, match="No space left"):
        fill(disk / "other")
    serve = [sys.executable, "-m", "endpoint.cli", "serve", "--port", "0", "--data", str(disk / "data")]
    ended = subprocess.run(serve, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert f"the disk of {disk}/data/store has 0.0 MiB left, and a start needs 16." in ended.stderr
    assert "Traceback" not in ended.stderr
    (disk / "other").unlink()
    with running_server(data=disk / "data") as running:
        assert httpx.post(f"{running.url}/sparql", data={"update": SMALL}).status_code == 204


def test_a_full_disk_is_507_and_all_goes_on_when_there_is_room(disk: Path) -> None:
    with running_server(data=disk / "data") as running, httpx.Client(base_url=running.url, timeout=60) as client:

        def update(text: str) -> httpx.Response:
            return client.post("/sparql", data={"update": text})

        def count() -> int:
            answer = client.get("/sparql", params={"query": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"})
            assert answer.status_code == 200, answer.text
            return int(answer.json()["results"]["bindings"][0]["n"]["value"])

        assert update(SMALL).status_code == 204
        stored = 1
        for block in range(100):
            triples = " ".join(f'<http://ex/{block}-{n}> <http://ex/p> "{"x" * 200}" .' for n in range(1000))
            response = update(f"INSERT DATA {{ {triples} }}")
            if response.status_code != 204:
                break
            stored += 1000
        assert response.status_code == 507
        assert response.headers["content-type"] == "application/problem+json"
        # What is left goes, too.
        with pytest.raises(OSError, match="No space left"):
            fill(disk / "other")
        assert count() == stored
        assert client.get("/health").json()["store"]["state"] == "full"
        assert update(SMALL).status_code == 507
        turtle = {"Content-Type": "text/turtle"}
        assert client.put("/graphs?default", content=b"<a:a> <a:b> 1 .", headers=turtle).status_code == 507
        assert count() == stored
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        began = time.monotonic()
        while client.get("/health").json()["store"]["state"] == "full":
            assert time.monotonic() - began < _PATIENCE
            time.sleep(0.05)
        assert count() == stored
        assert update("INSERT DATA { <http://ex/s> <http://ex/p> 2 }").status_code == 204
        assert count() == stored + 1
    with running_server(data=disk / "data") as running, httpx.Client(base_url=running.url, timeout=60) as client:
        assert count() == stored + 1
