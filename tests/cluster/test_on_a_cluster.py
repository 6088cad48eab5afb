"""What the server answers on a cluster: the whole way of the data, RSP-QL's cases, W3C's queries, Spark SQL."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from conformance.cli import DEFAULT_SUITE_PATH
from tests.cluster.conftest import LARGE
from tests.server.server_process import ServerProcess
from tests.server.test_first_light import (
    test_after_a_crash_nothing_acknowledged_is_lost_and_a_listener_goes_on_where_it_was,
    test_one_complete_document_arrives_for_each_evaluation_as_the_watermark_moves,
    test_static_knowledge_joins_with_a_window_and_an_update_is_seen_by_the_next_evaluation,
)

__all__ = [
    "test_after_a_crash_nothing_acknowledged_is_lost_and_a_listener_goes_on_where_it_was",
    "test_one_complete_document_arrives_for_each_evaluation_as_the_watermark_moves",
    "test_static_knowledge_joins_with_a_window_and_an_update_is_seen_by_the_next_evaluation",
]

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.long]

# `make cluster ALL=1` asks for all of them.
ALL = bool(os.environ.get("SPARQL_STREAMS_CLUSTER_ALL"))
SUITE = os.environ.get("SPARQL_STREAMS_SUITE_PATH", DEFAULT_SUITE_PATH)


def conformance(server: ServerProcess, *arguments: str) -> None:
    """Run cases against the server; what fails is in the message."""
    command = [sys.executable, "-m", "endpoint.cli", "conformance", "--url", server.url, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_rsp_ql_means_the_same(server: ServerProcess) -> None:
    # Facts and event patterns that name no stream are about the only one.
    for kind in ("queries", "streams"):
        for one in server.client.get(f"/{kind}").json()[kind]:
            server.client.delete(f"/{kind}/{one['name']}")
    assert server.client.get("/streams").json()["streams"] == []
    conformance(server, *(["rsp"] if ALL else ["rsp/count", "rsp/dataset", "rsp/empty"]))


@pytest.mark.skipif(not os.path.isdir(SUITE), reason="W3C's suite is not here (docs/conformance.md)")
def test_sparql_means_the_same_through_windows(server: ServerProcess) -> None:
    conformance(server, "--suite-path", SUITE, "--through-windows", *([] if ALL else ["sparql11/aggregates"]))


def test_large_windows_are_evaluated_by_spark_sql_on_the_workers(server: ServerProcess) -> None:
    server.event_stream("large", "http://ex/large")
    query = (
        "SELECT (COUNT(*) AS ?n) (SUM(?v) AS ?sum) FROM STREAM <http://ex/large> [RANGE 1s] "
        "WHERE { ?s <http://ex/amount> ?v }"
    )
    server.register("large", query)
    for second, count in enumerate((LARGE + 40, LARGE + 20)):
        body = "".join(f"<http://ex/{number}> <http://ex/amount> {number} .\n" for number in range(count))
        server.post("large", body, 1000 * second + 500)
    server.watermark("large", "end")
    documents = server.answers("/queries/large/results", params={"since": "beginning"})
    found = [
        tuple(int(row[name]["value"]) for name in ("n", "sum")) for d in documents for row in d["results"]["bindings"]
    ]
    assert found[:2] == [(100, 4950), (80, 3160)]
    assert "Z, Spark SQL: " in server.client.get("/queries/large/plan").text
