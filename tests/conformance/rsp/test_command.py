from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from conformance import command
from conformance.cli import conformance
from conformance.engines.endpoints import Endpoint
from conformance.engines.engine import Engine
from conformance.manifest import ManifestError
from conformance.rsp.case import are_meant, select_cases
from conformance.rsp.engine import RspEngine


def refuses_everything(request: httpx.Request) -> httpx.Response:
    problem = {"status": 400, "line": 3, "column": 1}
    status = 400 if request.url.path == "/sparql" else 200
    return httpx.Response(status, json=problem, headers={"content-type": "application/problem+json"})


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def engine(url: str | None, *more: object) -> Iterator[Engine]:
        assert url is not None
        yield RspEngine(Endpoint(url), httpx.MockTransport(refuses_everything))

    monkeypatch.setattr(command, "_rsp_engine", engine)


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(conformance, ["--url", "http://endpoint.example", *arguments])
    return result.exit_code, result.output


@pytest.mark.usefixtures("played")
def test_the_suite_needs_no_other_suites_and_says_what_failed(tmp_path: Path) -> None:
    earl = tmp_path / "earl.ttl"
    code, output = run("rsp/refusals", "--suite-path", "nowhere", "--earl", str(earl))
    assert code == 1
    assert "rsp/refusals" in output
    assert "undeclared-window" in output  # which is in line 4
    assert "#unknown-stream" not in output  # which is in line 3
    assert "refusals/manifest.ttl#unknown-stream" in earl.read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("rsp", "sparql11"), "rsp is run by itself"),
        (("rsp/nothing",), "there is no directory rsp/nothing with tests"),
        (("rsp", "--baseline"), "needs an endpoint"),
    ],
)
@pytest.mark.usefixtures("played")
def test_what_cannot_be_run_is_told(arguments: Sequence[str], told: str) -> None:
    code, output = run(*arguments)
    assert code != 0
    assert told in output


def test_directories_are_selected_by_name() -> None:
    assert {test.directory for test in select_cases(["rsp/gaps", "rsp/late/"])} == {"rsp/gaps", "rsp/late"}
    assert {test.directory for test in select_cases(["rsp"])} == {test.directory for test in select_cases()}
    with pytest.raises(ManifestError, match="no directory"):
        select_cases(["rsp/gap"])


def test_the_suite_is_meant_by_its_name_alone() -> None:
    assert are_meant(["rsp"])
    assert are_meant(["rsp/late", "rsp"])
    assert not are_meant([])
    assert not are_meant(["sparql11"])
