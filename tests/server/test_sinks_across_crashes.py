"""A hundred thousand answers to a webhook, while both sides are killed: none is lost, all come in order."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from protocol.formats.sse import resume_token
from tests.server.server_process import ServerProcess

ANSWERS = int(os.environ.get("SINK_ANSWERS", "100000"))
KILLS = 5
STREAM = "http://example.org/readings"
QUERY = f"SELECT ?value FROM STREAM <{STREAM}> [RANGE 1s] WHERE {{ ?reading <http://example.org/value> ?value }}"
_MESSAGES = 5_000
_PATIENCE = 1800


class Receiver:
    """A webhook in a process of its own, which can be killed."""

    def __init__(self, notes: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self._notes = notes
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(__file__).with_name("sink_receiver.py")
        self._process = subprocess.Popen([sys.executable, str(program), str(self.port), str(self._notes)])

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def taken(self) -> list[tuple[str, str]]:
        """The id and the digest of each answer; a line that the kill has cut off was never acknowledged."""
        text = self._notes.read_text() if self._notes.exists() else ""
        return [(line[:16], line[17:]) for line in text.splitlines() if len(line) == 81]

    def count(self) -> int:
        return self._notes.stat().st_size // 82 if self._notes.exists() else 0


def messages(first: int, last: int) -> str:
    """Messages of these seconds, each with its time."""
    when = "<http://www.w3.org/ns/sosa/resultTime>"
    typed = "^^<http://www.w3.org/2001/XMLSchema#dateTime>"
    parts = []
    for second in range(first, last + 1):
        time_of = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second))
        parts.append(
            f'_:r {when} "{time_of}"{typed} .\n_:r <http://example.org/value> "{second}" .\n'
        )  # fmt: skip
    return "# @message\n".join(parts)


@contextmanager
def fed(server: ServerProcess) -> Iterator[None]:
    """Post everything, each request until it is answered: the server may be killed in the middle of one."""
    stopped = threading.Event()

    def feed() -> None:
        with httpx.Client(base_url=server.url, timeout=120) as client:
            for first in range(1, ANSWERS + 1, _MESSAGES):
                body = messages(first, min(first + _MESSAGES - 1, ANSWERS))
                headers = {"Content-Type": "application/n-triples; messages=rdfm", "Idempotency-Key": f"from-{first}"}
                while not stopped.is_set():
                    try:
                        if client.post("/streams/s", content=body, headers=headers).status_code == 200:
                            break
                    except httpx.TransportError:
                        pass  # it is killed, and will be there again
                    time.sleep(0.5)
            while not stopped.is_set():
                try:
                    mark = client.put("/streams/s/watermark", content=str(ANSWERS * 1000))
                    if mark.status_code == 200:
                        return
                except httpx.TransportError:
                    time.sleep(0.5)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.long
def test_none_is_lost_and_all_come_in_order_though_both_sides_are_killed(tmp_path: Path) -> None:
    chance = random.Random(13)
    receiver = Receiver(tmp_path / "taken")
    server = ServerProcess(tmp_path / "data", options=("--allow-fetch", f"http://127.0.0.1:{receiver.port}/"))
    receiver.start()
    server.start()
    began = time.monotonic()
    try:
        server.event_stream("s", STREAM, timestampPath=["http://www.w3.org/ns/sosa/resultTime"])  # type: ignore[arg-type]
        server.register("q", QUERY)
        made = server.client.put("/queries/q/sinks/hook", json={"type": "webhook", "url": receiver.url})
        assert made.status_code == 201, made.text
        with fed(server):
            for number in range(1, KILLS + 1):
                mark = ANSWERS * number // (KILLS + 1) + chance.randrange(ANSWERS // 20)
                server.wait(lambda mark=mark: receiver.count() >= mark, patience=_PATIENCE, interval=0.02)
                print(f"{receiver.count()} taken after {time.monotonic() - began:.0f} s: both are killed", flush=True)
                for victim in chance.sample([server, receiver], 2):
                    victim.kill()  # type: ignore[attr-defined]
                    time.sleep(chance.random())
                for victim in chance.sample([server, receiver], 2):
                    victim.start()  # type: ignore[attr-defined]
                    time.sleep(chance.random())
            last = resume_token(ANSWERS * 1000)
            server.wait(lambda: receiver.taken()[-1:] and receiver.taken()[-1][0] == last, _PATIENCE, interval=1)
    finally:
        server.stop()
        server.client.close()
        receiver.kill()
    taken = receiver.taken()
    firsts = list(dict.fromkeys(identifier for identifier, _ in taken))
    print(f"{len(taken)} deliveries of {len(firsts)} answers in {time.monotonic() - began:.0f} s")
    assert firsts == [resume_token(second * 1000) for second in range(1, ANSWERS + 1)]
    assert len(set(taken)) == len(firsts), "the same bytes each time"
    assert len(taken) - len(firsts) <= 2 * KILLS, "only what was being sent in a crash comes again"
