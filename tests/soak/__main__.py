"""``make soak``: a server under a steady load for long; nothing is lost, memory and latency do not grow.

Elements come at a rate, queries count those of a room each, and each has listeners, of whom some take five seconds for
each event and some come and go. In the last half of the time no kind of process grows by more MiB a minute than
``tests.soak.memory`` allows, and the 99th percentile from POST to event is no more than half as long again as in the
quarter before. In the first quarter of an hour, in which caches fill, they may grow by more: a short run finds what is
lost and what leaks fast, one of half an hour and more what leaks slowly. The rates are variables, for a machine that
has less to give.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.crash.faults import processes
from tests.server.server_process import ServerProcess
from tests.soak.memory import Memory, growth, limit
from tests.soak.workload import Listener, Run, Workload, post

_LOOK_SECONDS = 5.0
_CATCH_UP_SECONDS = 120.0


def main() -> int:
    # As at Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--listeners", type=int, default=200)
    parser.add_argument("--slow", type=int, default=20)
    parser.add_argument("--restless", type=int, default=20)
    given = parser.parse_args()
    workload = Workload(given.rate, given.queries, given.listeners, given.slow, given.restless)
    with (
        tempfile.TemporaryDirectory(prefix="sparql-streams-soak-") as directory,
        ServerProcess(Path(directory) / "data") as server,
    ):
        server.wait_for_spark()
        server.event_stream("elements", "http://ex/elements", retention="PT1M")
        for number in range(workload.queries):
            server.register(f"q{number}", workload.query(number))
        run, memory = Run(workload), Memory(lambda: processes(server.pid))
        began = time.monotonic()
        asyncio.run(_soak(server, run, memory, 60 * given.minutes))
        _report(run, memory, began, began + 60 * given.minutes)
    for line in run.wrong:
        print(f"WRONG: {line}")
    return 1 if run.wrong else 0


async def _soak(server: ServerProcess, run: Run, memory: Memory, seconds: float) -> None:
    workload = run.workload
    listeners = [
        Listener(
            run,
            number % workload.queries,
            slow=number < workload.slow,
            restless=workload.slow <= number < workload.slow + workload.restless,
        )
        for number in range(workload.listeners)
    ]
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as http:
        listening = [asyncio.create_task(listener.listen(http)) for listener in listeners]
        looking = asyncio.create_task(_look(run, memory))
        posted = await post(run, http, seconds)
        run.ending = True
        await http.put("/streams/elements/watermark", content=str(1000 * posted))
        deadline = time.monotonic() + _CATCH_UP_SECONDS
        while any(one.second < posted for one in listeners) and time.monotonic() < deadline:
            await asyncio.sleep(0.2)
        for task in (looking, *listening):
            task.cancel()
        done = await asyncio.gather(looking, *listening, return_exceptions=True)
    run.wrong += [f"who listens or looks failed: {one!r}" for one in done if isinstance(one, Exception)]
    short = [one.second for one in listeners if one.second != posted]
    if short:
        run.wrong.append(f"{len(short)} of {len(listeners)} listeners have other than {posted} answers: {short[:20]}")


async def _look(run: Run, memory: Memory) -> None:
    began = time.monotonic()
    while not run.ending:
        await asyncio.to_thread(memory.look)
        now = time.monotonic()
        recent = sorted(seconds for when, seconds in run.latencies if when > now - 30)
        p99 = recent[int(len(recent) * 0.99)] if recent else 0.0
        if int(now - began) % 30 < _LOOK_SECONDS:
            print(f"{now - began:5.0f} s: p99 {p99:.2f} s, sent {run.behind:.1f} s late", flush=True)
        await asyncio.sleep(_LOOK_SECONDS)


def _report(run: Run, memory: Memory, began: float, ended: float) -> None:
    half, quarter = (began + ended) / 2, (3 * began + ended) / 4
    print("kind      processes      MiB   a minute   limit   (of the last half)")
    for one in growth(memory.samples, half, ended):
        most = limit(one.kind, half - began)
        print(f"{one.kind:9} {one.processes:9} {one.size:8.1f} {one.slope:10.2f} {most:7.1f}")
        if one.slope > most:
            run.wrong.append(f"a process of the kind {one.kind} grows by {one.slope:.1f} MiB a minute")
    before, after = (
        sorted(seconds for when, seconds in run.latencies if since <= when < upto)
        for since, upto in ((quarter, half), (half, ended))
    )
    if not before or not after:
        run.wrong.append("no event came in time to be measured")
        return
    p99 = [some[int(len(some) * 0.99)] for some in (before, after)]
    print(f"p99 from POST to event: {p99[0]:.2f} s in the second quarter, {p99[1]:.2f} s in the last half")
    print(f"said to listeners: {run.told}")
    if p99[1] > 1.5 * p99[0] + 0.5:
        run.wrong.append(f"the 99th percentile has grown from {p99[0]:.2f} to {p99[1]:.2f} s")


if __name__ == "__main__":
    sys.exit(main())
