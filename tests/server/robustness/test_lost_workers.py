"""What becomes of evaluations whose process ends: `make crash` does the same to every kind of process, at random."""

from __future__ import annotations

from contextlib import suppress

import psutil
import pytest

from tests.crash.faults import processes
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.slow]

QUERY = """PREFIX : <http://ex/>
SELECT (COUNT(*) AS ?n) FROM STREAM :lost [RANGE 10s STEP 1s] WHERE { ?s :p ?o }"""


def test_workers_that_are_killed_cost_no_answer_and_no_restart_of_spark(server: ServerProcess) -> None:
    def of_kind(kind: str) -> list[int]:
        return [process.pid for process, its in processes(server.pid).items() if its == kind]

    server.event_stream("lost", "http://ex/lost")
    server.register("lost", QUERY)
    server.post("lost", "<http://ex/a> <http://ex/p> 1 .", 500)
    server.watermark("lost", 1000)
    server.wait(lambda: server.client.get("/queries/lost").json()["evaluations"] == 1)
    spark, workers = of_kind("jvm"), of_kind("worker")
    for process, kind in processes(server.pid).items():
        if kind == "worker":
            with suppress(psutil.NoSuchProcess):  # ended since it was listed
                process.kill()
    server.post("lost", "<http://ex/b> <http://ex/p> 2 .", 1500)
    server.watermark("lost", "end")
    documents = server.answers("/queries/lost/results", params={"since": "beginning"})
    assert [int(one["results"]["bindings"][0]["n"]["value"]) for one in documents] == [1, *[2] * 9, 1]
    assert len(spark) == 1
    assert of_kind("jvm") == spark
    assert not set(of_kind("worker")) & set(workers)
