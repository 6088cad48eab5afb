"""Bodies of the benchmark of receipt: a stream reads in them what the bare parser does."""

from __future__ import annotations

import pytest

from protocol.streams import StreamSettings, TimeKind
from spark_backend.ingest.columns import read_elements
from tests.benchmarks.receipt.receipt import Workload, workloads

_OBSERVATIONS = 40


@pytest.mark.parametrize("workload", workloads(_OBSERVATIONS), ids=lambda workload: workload.name)
def test_a_stream_reads_what_the_parser_reads(workload: Workload) -> None:
    settings = StreamSettings(iri="http://example.org/stream", time=TimeKind.EVENT)
    many = workload.name.endswith("many")
    batch = read_elements(workload.body, workload.content_type, settings=settings, at=None if many else 0)
    # The triple that carries the time of a graph is no data.
    carriers = _OBSERVATIONS if b"generatedAtTime" in workload.body else 0
    assert batch.num_rows == workload.parse() - carriers == 5 * _OBSERVATIONS
    assert len(batch["element"].unique()) == (_OBSERVATIONS if many else 1)
