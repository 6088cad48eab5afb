"""Rounds: a server under load, one of its processes killed or frozen in each; then everything is counted."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx
import psutil

from tests.crash import oracle
from tests.crash.clients import Asker, Client, Listener, Poster
from tests.crash.faults import Fault, faults, processes
from tests.server.server_process import ServerProcess

FROZEN_AFTER = 3.0
"""Seconds (``--frozen-after``): shorter than by default, for rounds to be short."""
_NOTICED_WITHIN = FROZEN_AFTER + 12
"""A process that is frozen for good is gone after so long, on a machine that is busy."""
_RECOVERED_WITHIN = 240.0
_ENDED_WITHIN = 60.0


def crash(rounds: int, seed: int, kinds: Sequence[str], directory: Path, say: Callable[[str], None]) -> list[str]:
    """Play the rounds over a data directory made in ``directory``. Returns what was wrong, a line each."""
    with _settings(directory):
        return _Crash(seed, kinds, directory, say).play(rounds)


@contextlib.contextmanager
def _settings(directory: Path) -> Iterator[None]:
    temporary = directory / "temporary"
    temporary.mkdir()
    # What a process leaves in its temporary directory is to be found.
    own = {"SPARQL_STREAMS_FROZEN_AFTER": str(FROZEN_AFTER), "TMPDIR": str(temporary)}
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Crash:
    def __init__(self, seed: int, kinds: Sequence[str], directory: Path, say: Callable[[str], None]) -> None:
        self._chance = random.Random(seed)
        self._kinds = kinds
        self._directory = directory
        self._say = say
        self._server = ServerProcess(directory / "data")
        self._wrong: list[str] = []
        self._seen: set[psutil.Process] = set()
        url = self._server.url
        self._poster = Poster(url, pause=0.4)
        self._asker = Asker(url)
        self._listeners = [
            Listener(url, query, random.Random(self._chance.random()) if restless else None)
            for query in oracle.QUERIES
            for restless in (False, True)
        ]
        self._clients: list[Client] = [self._poster, self._asker, *self._listeners]

    def play(self, rounds: int) -> list[str]:
        began = time.monotonic()
        self._server.start()
        try:
            self._server.wait_for_spark()
            self._prepare()
            for client in self._clients:
                client.start()
            self._until(lambda: self._reached(5), "the first answers")
            to_come = faults(self._chance, FROZEN_AFTER, self._kinds)
            for number in range(1, rounds + 1):
                self._round(number, to_come)
                if self._found():
                    break
            self._finish()
        finally:
            for client in self._clients:
                client.stopping.set()
            self._server.stop()
        self._look_for_what_is_left()
        told = sum((one.told for one in self._clients), start=Counter[str]())
        self._say(f"{self._poster.seconds} seconds of the stream in {time.monotonic() - began:.0f} s; said to clients:")
        for what, often in told.most_common():
            self._say(f"  {often} x {what}")
        return self._wrong + self._found()

    def _prepare(self) -> None:
        self._server.event_stream("elements", f"{oracle.EX}elements")
        for name, text in oracle.QUERIES.items():
            if text.startswith("REGISTER"):
                answer = self._server.client.post(
                    "/sparql", content=text, headers={"Content-Type": "application/sparql-query"}
                )
                assert answer.status_code == 201, answer.text
            else:
                self._server.register(name, text.replace("<streams/", f"<{self._server.url}/streams/"))

    def _round(self, number: int, to_come: Iterator[Fault]) -> None:
        time.sleep(self._chance.uniform(0, 2))
        known = processes(self._server.pid)
        self._seen |= set(known)
        # Workers whose daemon was killed go on, and as long as none is missing there is no other daemon.
        fault, hit = next((fault, hit) for fault in to_come if (hit := self._one(known, fault.kind)) is not None)
        if fault.first is not None and (first := self._one(known, fault.first)) is not None:
            first.suspend()
        began = time.monotonic()
        noticed = ""
        if fault.kind == "server" and fault.signal is signal.SIGKILL:
            self._server.kill()
            self._server.start()
            self._until(lambda: not _there(set(known)), "what a killed server had started", _ENDED_WITHIN)
        else:
            with contextlib.suppress(psutil.NoSuchProcess):
                hit.send_signal(fault.signal)
            if fault.wakes is not None:
                time.sleep(fault.wakes)
                with contextlib.suppress(psutil.NoSuchProcess):
                    hit.send_signal(signal.SIGCONT)
            elif fault.signal is signal.SIGSTOP:
                said: set[str] = set()
                self._until(lambda: self._gone(hit, said), f"the frozen {fault.kind}", _NOTICED_WITHIN)
                if "stalled" not in said:
                    self._wrong.append(f"{fault}: /health said nothing of it, only {said}")
                noticed = f"noticed in {time.monotonic() - began:.1f} s, "
        posted = self._poster.seconds
        self._until(lambda: self._reached(posted + 1), f"answers after: {fault}")
        self._say(
            f"{number}: {fault} ({hit.pid}): {noticed}all have their answers after {time.monotonic() - began:.1f} s"
        )

    def _gone(self, process: psutil.Process, said: set[str]) -> bool:
        """Whether a process has ended; ``said`` gets what the server says of itself meanwhile."""
        with contextlib.suppress(httpx.TransportError):
            document = self._server.client.get("/health").json()
            said |= {document[part]["state"] for part in ("backend", "store", "readers")}
        return not _there({process})

    def _one(self, known: dict[psutil.Process, str], kind: str) -> psutil.Process | None:
        """Any process of a kind."""
        of_kind = [one for one in known if known[one] == kind]
        return self._chance.choice(of_kind) if of_kind else None

    def _reached(self, second: int) -> bool:
        return all(len(one.answers) >= second for one in self._listeners) and self._poster.seconds >= second

    def _until(self, condition: Callable[[], bool], what: str, patience: float = _RECOVERED_WITHIN) -> None:
        deadline = time.monotonic() + patience
        while not condition():
            if self._found():
                return
            if time.monotonic() > deadline:
                states = [f"{one.name}: {len(one.answers)}" for one in self._listeners]
                self._wrong.append(f"{what}: not within {patience:.0f} s ({self._poster.seconds} posted; {states})")
                return
            time.sleep(0.05)

    def _found(self) -> list[str]:
        return [line for client in self._clients for line in client.wrong] + self._wrong

    def _finish(self) -> None:
        """No more is posted: every answer has to come, and nothing else."""
        self._poster.stopping.set()
        self._asker.stopping.set()
        self._poster.join(60)
        self._asker.join(60)
        seconds = self._poster.seconds
        with contextlib.suppress(httpx.TransportError):
            self._server.watermark("elements", 1000 * seconds)
        self._until(lambda: self._reached(seconds), "the last answers")
        for listener in self._listeners:
            listener.check(seconds)
        self._check_elements(seconds)

    def _check_elements(self, seconds: int) -> None:
        """Each element that was acknowledged is in the stream once, and in the order in which it was posted."""
        found: list[str] = []
        for event in self._server.events("/streams/elements", params={"since": "beginning"}):
            if event.event == "message":
                found.append(event.data.split(" ", 1)[0])
            if len(found) >= oracle.A_SECOND * seconds:
                break
        if found != [f"<{oracle.EX}e{k}>" for k in range(oracle.A_SECOND * seconds)]:
            self._wrong.append(f"the stream has other elements than were posted: {len(found)} of {seconds} seconds")
        held = self._server.client.get("/streams/elements").json()["elements"]
        if held != oracle.A_SECOND * seconds:
            self._wrong.append(f"the stream has {held} elements, and {oracle.A_SECOND * seconds} were posted")

    def _look_for_what_is_left(self) -> None:
        # What was killed takes a moment to end.
        self._until(lambda: not _there(self._seen), "what a stopped server had started", _NOTICED_WITHIN)
        left = _there(self._seen)
        self._wrong += [f"left behind: process {one.pid}, {' '.join(one.cmdline())[:200]}" for one in left]
        scratch = self._directory / "data" / "spark"
        kept = ("spark.log", "java", "cores.json")  # the log, where Java is, how many cores it had
        self._wrong += [f"left behind: {one}" for one in scratch.iterdir() if one.name not in kept]
        snapshots = self._directory / "data" / "snapshots"
        self._wrong += [f"left behind: {one}" for one in (snapshots.iterdir() if snapshots.exists() else ())]
        self._wrong += [f"left behind: {one}" for one in (self._directory / "temporary").iterdir()]
        # Nothing is locked: a server that is started again has it all.
        self._server.start()
        held = self._server.client.get("/streams/elements").json()["elements"]
        if held != oracle.A_SECOND * self._poster.seconds:
            self._wrong.append(f"after a restart the stream has {held} elements")
        self._server.stop()


def _there(some: set[psutil.Process]) -> list[psutil.Process]:
    """Those that still run."""
    found = []
    for one in some:
        with contextlib.suppress(psutil.Error):
            if one.is_running() and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found
