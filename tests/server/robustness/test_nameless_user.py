"""A server whose user has a number and no name, as a container's often has: in a namespace of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.server_process import ServerProcess

NAMELESS = ("unshare", "--user", "--map-user=54321", "--map-group=54321")


def _can_be_nameless() -> bool:
    return (
        shutil.which("unshare") is not None and not subprocess.run([*NAMELESS, "true"], capture_output=True).returncode
    )


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.skipif(not _can_be_nameless(), reason="no namespace with another user can be made here")
@pytest.mark.parametrize("site", ["duckdb", "spark"])
def test_continuous_queries_are_evaluated(tmp_path: Path, site: str) -> None:
    program = (*NAMELESS, sys.executable, "-m", "endpoint.cli")
    with ServerProcess(tmp_path / "data", program=program, options=["--site", site]) as server:
        server.wait_for_spark()
        server.event_stream("s", "http://ex/s")
        server.register("q", "SELECT ?o FROM STREAM <http://ex/s> [RANGE 1s STEP 1s] WHERE { ?s ?p ?o }")
        server.post("s", "<http://ex/a> <http://ex/b> 17 .", at=500)
        server.watermark("s", 1000)
        events = server.events("/queries/q/results", params={"since": "beginning"})
        assert '"value":"17"' in next(event.data for event in events if event.id)
