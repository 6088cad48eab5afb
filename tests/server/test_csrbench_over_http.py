"""CSRBench's weather recordings over HTTP: each window of its queries compared with one computed independently."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest

from protocol.terms import term_to_json
from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server, pytest.mark.shared]
STREAM = "http://knoesis.wright.edu/ssw/observations"


def properties(folder: Path) -> dict[int, dict[str, Any]]:
    """CSRBench's queries: the SELECT, and the window in milliseconds."""
    text = re.sub(r"\\[ \t]*\n", " ", (folder / "queries.properties").read_text())
    queries: dict[int, dict[str, Any]] = {}
    for number, name, value in re.findall(r"^srb\.query(\d)\.([\w.]+) *= *(.*)$", text, re.MULTILINE):
        queries.setdefault(int(number), {})[name] = value.strip()
    return queries


@pytest.fixture(scope="module")
def recordings(server: ServerProcess, csrbench: Path) -> dict[int, bytes]:
    """The files by their second of application time, posted to a stream that has ended."""
    files = {int(path.stem.removeprefix("data_")): path.read_bytes() for path in sorted(csrbench.glob("data_*.ttl"))}
    assert len(files) == 34
    server.event_stream("weather", STREAM)
    for second, body in files.items():
        server.post("weather", body, second * 1000)
    server.watermark("weather", "end")
    return files


def independently(query: str, files: dict[int, bytes], opening: int, close: int) -> Counter[str]:
    """The solutions over the triples of (opening, close], by Oxigraph."""
    store = pyoxigraph.Store()
    for second, body in files.items():
        if opening < second * 1000 <= close:
            store.load(body, format=pyoxigraph.RdfFormat.TURTLE)
    solutions = store.query(query)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    names = [variable.value for variable in solutions.variables]
    return Counter(
        repr({name: term_to_json(str(solution[name])) for name in names if solution[name] is not None})
        for solution in solutions
    )


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_every_window_of_a_csrbench_query_is_exact(
    server: ServerProcess, csrbench: Path, recordings: dict[int, bytes], number: int
) -> None:
    given = properties(csrbench)[number]
    query, size, slide = given["booleanquery"], int(given["window.size"]), int(given["window.slide"])
    continuous = query.replace("WHERE", f"FROM STREAM <{STREAM}> [RANGE {size}ms STEP {slide}ms] WHERE", 1)
    documents = server.answers("/sparql", params={"query": continuous, "since": "beginning"})
    answered = {}
    for document in documents:
        evaluation = document["evaluation"]
        answered[evaluation["time"]] = Counter(
            repr({name: binding[name] for name in document["head"]["vars"] if name in binding})
            for binding in document["results"]["bindings"]
        )
    # Every multiple of the slide is a close; those with content are evaluated: from the first second to
    # the last close that still holds the last one.
    expected = {}
    for close in range(0, 33_000 + size + slide, slide):
        if any(close - size < second * 1000 <= close for second in recordings):
            time = f"1970-01-01T00:00:{close // 1000:02d}Z"
            expected[time] = independently(query, recordings, close - size, close)
    assert answered == expected
    assert sum(map(len, expected.values())) > 0
