"""What is built from the checkout is whole: installed in an empty environment, it answers queries there."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.server.server_process import ServerProcess

# An environment of its own, some minutes: `make wheel-check` runs it, and so does CI.
pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.server]

CHECKOUT = Path(__file__).parents[2]
COUNT = "SELECT (COUNT(*) AS ?n) FROM STREAM <http://ex/counted> [RANGE 10s STEP 5s] WHERE { ?s ?p ?o }"


def run(*command: str | Path, directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory from which nothing of the checkout is found."""
    return tmp_path_factory.mktemp("away")


@pytest.fixture(scope="module")
def programs(away: Path) -> Path:
    """The programs of an environment with the wheel and what requirements.lock names, and nothing else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONPATH", raising=False)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", away / "dist", CHECKOUT, directory=away)
        (wheel,) = (away / "dist").glob("*.whl")
        assert len(list((away / "dist").glob("*.tar.gz"))) == 1
        venv.create(away / "environment", with_pip=True)
        found = away / "environment" / "bin"
        install = (found / "python", "-m", "pip", "--no-input", "install", "--quiet", "--no-compile")
        run(*install, "--require-hashes", "--no-deps", "-r", CHECKOUT / "requirements.lock", directory=away)
        run(*install, "--no-deps", wheel, directory=away)
        run(found / "python", "-m", "pip", "check", directory=away)
    return found


def test_the_wheel_has_every_file_of_the_packages(programs: Path, away: Path) -> None:
    listed = run("git", "ls-files", "endpoint", "spark_backend", "protocol", "conformance", directory=CHECKOUT)
    (wheel,) = (away / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        assert {name for name in opened.namelist() if ".dist-info/" not in name} == set(listed.splitlines())


def test_the_program_of_the_wheel_answers_queries(programs: Path, away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    where = run(programs / "python", "-P", "-c", "import endpoint; print(endpoint.__file__)", directory=away)
    assert Path(where.strip()).is_relative_to(away / "environment")
    program = programs / "sparql-streams"
    with ServerProcess(away / "data", program=[str(program)], directory=away) as server:
        query = "SELECT ?n { VALUES ?n { 1 } }"
        answer = server.client.get("/sparql", params={"query": query}, headers={"Accept": "text/csv"})
        assert answer.text.splitlines() == ["n", "1"]
        page = server.client.get("/", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["content-type"].partition(";")[0]) == (200, "text/html")
        server.event_stream("counted", "http://ex/counted")
        server.register("count", COUNT)
        server.post("counted", "<http://ex/a> <http://ex/p> 1, 2 .", 1_000)
        server.watermark("counted", "end")
        counted = [
            (document["evaluation"]["time"], document["results"]["bindings"][0]["n"]["value"])
            for document in server.answers("/queries/count/results")
        ]
        assert counted == [("1970-01-01T00:00:05Z", "2"), ("1970-01-01T00:00:10Z", "2")]
        # The cases come with the wheel, and so do their expected answers.
        table = run(program, "conformance", "rsp/examples", "rsp/static", "--url", server.url, directory=away)
        assert "rsp/examples" in table
