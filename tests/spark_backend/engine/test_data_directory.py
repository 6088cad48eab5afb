"""Every file of a data directory in turn deleted, cut or with a bit flipped.

Nothing that is still there is lost, no answer is wrong, and what is lost is said.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from protocol.evaluations import Evaluation, Failed
from protocol.streams import StreamElement
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

COUNT = (
    "SELECT (COUNT(*) AS ?n) (SUM(?o) AS ?sum) FROM STREAM <http://ex/{}> [RANGE 10s] WHERE {{ ?s <http://ex/p> ?o }}"
)
JOINED = (
    "SELECT ?s ?name FROM STREAM <http://ex/one> [RANGE 10s] WHERE { ?s <http://ex/p> ?o . ?s <http://ex/name> ?name }"
)
PUBLISHED = (
    "REGISTER STREAM out AS CONSTRUCT { ?s <http://ex/q> ?o } FROM STREAM <http://ex/one> [RANGE 10s] "
    "WHERE { ?s <http://ex/p> ?o }"
)
QUERIES = ("qone", "qtwo", "joined", "out")
QUADS = [("", f"<http://ex/{second}>", "<http://ex/name>", f'"{second}"') for second in range(0, 60, 5)]

Damage = Callable[[Path], None]


def delete(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[random.Random(str(path.name)).randrange(len(content))] ^= 4
        path.write_bytes(content)


def opened(directory: Path) -> SteppedBackend:
    return SteppedBackend(directory, Graphs(QUADS), clock=1_000_000)


def make(directory: Path) -> None:
    """Streams, standing queries over them (one with an output, one with the store), their answers out."""
    stepped = opened(directory)
    for name in ("one", "two"):
        stepped.event_stream(name, f"http://ex/{name}")
        stepped.register(f"q{name}", COUNT.format(name))
    stepped.register("joined", JOINED)
    stepped.register("out", PUBLISHED)
    for second in range(0, 60, 5):
        for name in ("one", "two"):
            stepped.post(name, f"<http://ex/{second}> <http://ex/p> {second} .", second * 1000)
        stepped.run()
    stepped.close()


def elements(stepped: SteppedBackend, name: str) -> list[tuple[int, bytes]]:
    follower = stepped.backend.follow(name, -1)
    found = []
    while some := follower.take():
        found += [(one.time, one.data) for one in some if isinstance(one, StreamElement)]
    follower.close()
    return found


class State:
    """What a data directory says: elements, all answers once more, and what of it failed."""

    def __init__(self, directory: Path) -> None:
        stepped = opened(directory)
        backend = stepped.backend
        self.streams = {stream.name for stream in backend.streams()}
        self.queries = {query.name for query in backend.queries()}
        # As those who come later ask, and after what comes next.
        self.answers: dict[tuple[str, int], object] = {}
        for name in sorted(self.streams & {"one", "two"}):
            stepped.post(name, "<http://ex/99> <http://ex/p> 99 .", 99_000)
        stepped.run()
        for name in QUERIES:
            if name in self.queries:
                for outcome in backend.replay(name, None, 2**60):
                    if isinstance(outcome, Evaluation):
                        self.answers[name, outcome.instant] = read(outcome.data)
        self.elements = {name: elements(stepped, name) for name in sorted(self.streams)}
        self.damaged = {stream.name for stream in backend.streams() if stream.damage}
        self.warnings = backend.health().warnings
        self.failures = {one.query for one in stepped.notices if isinstance(one, Failed)}
        self.again = {
            (name, instant)
            for name in QUERIES
            for instant in stepped.answers(name)
            if instant <= 50_000
        }  # fmt: skip
        stepped.close()


def read(data: bytes) -> object:
    try:
        return sorted(map(str, json.loads(data)["results"]["bindings"]))
    except ValueError:
        return data


def files(directory: Path) -> Iterator[Path]:
    yield from (path.relative_to(directory) for path in sorted(directory.rglob("*")) if path.is_file())


@pytest.fixture(scope="module", name="data")
def data_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "data"
    make(directory)
    return directory


def check(data: Path, tmp_path: Path, damage: Damage, wanted: Callable[[Path], bool]) -> None:
    shutil.copytree(data, tmp_path / "same")
    whole = State(tmp_path / "same")
    assert whole.streams == {"one", "two", "out"}
    assert not whole.warnings
    assert not whole.again
    tried = 0
    for file in files(data):
        if not wanted(file):
            continue
        tried += 1
        directory = tmp_path / f"{tried}"
        shutil.copytree(data, directory)
        damage(directory / file)
        state = State(directory)
        assert state.streams == whole.streams, file
        assert state.queries == whole.queries, file
        for key, answer in state.answers.items():
            assert answer == whole.answers[key], (file, key)
        for name, found in state.elements.items():
            assert set(found) <= set(whole.elements[name]), file
            # What is lost is said, and only what was in that file. (An output lacks what could not be evaluated.)
            if len(found) < len(whole.elements[name]) and (name != "out" or name in str(file)):
                assert name in state.damaged, file
                assert name in str(file)
        if len(state.answers) < len(whole.answers):
            assert state.damaged
            assert any(f"streams/{file.parts[1]}" in warning for warning in state.warnings), (file, state.warnings)
        shutil.rmtree(directory)
    assert tried


@pytest.mark.parametrize("damage", [flip])
def test_whatever_is_damaged_but_the_logs_loses_nothing(damage: Damage, data: Path, tmp_path: Path) -> None:
    check(data, tmp_path, damage, lambda file: file.suffix != ".segment")


@pytest.mark.parametrize("damage", [delete, cut])
def test_what_a_log_has_lost_is_said_and_nothing_else_is_lost(damage: Damage, data: Path, tmp_path: Path) -> None:
    check(data, tmp_path, damage, lambda file: file.suffix == ".segment" and file.parts[1].startswith("one"))


@pytest.mark.long
@pytest.mark.parametrize("damage", [delete, cut, empty, flip])
def test_every_file_in_turn(damage: Damage, data: Path, tmp_path: Path) -> None:
    check(data, tmp_path, damage, lambda file: True)


@pytest.mark.parametrize("both", [False, True])
def test_without_its_catalogue_a_server_says_so_and_finds_nobodys_elements(
    both: bool, data: Path, tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    shutil.copytree(data, directory)
    (directory / "catalogue.json").unlink()
    if both:
        (directory / "catalogue.copy.json").unlink()
    stepped = opened(directory)
    assert stepped.backend.health().warnings
    if both:
        assert "streams/one.1 belongs to no stream" in " ".join(stepped.backend.health().warnings)
        for _ in range(3):
            stepped.event_stream("one", "http://ex/one")
            assert stepped.backend.stream("one").elements == 0
            stepped.backend.delete_stream("one")
        assert (directory / "streams" / "one.1").is_dir()
    else:
        assert stepped.backend.stream("one").elements == 12
    stepped.close()


def test_a_damaged_catalogue_is_kept_aside(data: Path, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    shutil.copytree(data, directory)
    for name in ("catalogue.json", "catalogue.copy.json"):
        path = directory / name
        # The lateness of a stream, say: still JSON, and another answer.
        path.write_text(path.read_text().replace('"allowed_lateness": 0', '"allowed_lateness": 8'))
    content = path.read_text()
    stepped = opened(directory)
    assert not stepped.backend.streams()
    assert "no stream and no standing query is known" in " ".join(stepped.backend.health().warnings)
    stepped.close()
    assert (directory / "catalogue.copy.json.damaged-1").read_text() == content
