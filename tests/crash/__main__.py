"""``make crash``: processes of a server under load are killed and frozen at random, and everything is counted.

Each round hits one: the server, Spark's JVM, the source of instants, the daemon of workers, a worker, an evaluator, the
template of the server's own processes, a reader, the writer. At the end every acknowledged element and update is there
once, every listener has had every answer once, with the content that ``oracle`` says, and no process, lock or file of
the run is left. ``--seed`` plays the same faults again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.crash.faults import KINDS
from tests.crash.run import crash


def main() -> int:
    # As at Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    parser = argparse.ArgumentParser(prog="python -m tests.crash")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="hit only these processes")
    parser.add_argument("--keep", action="store_true", help="keep the server's log and data, and say where")
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="sparql-streams-crash-")) if arguments.keep else None
    with tempfile.TemporaryDirectory(prefix="sparql-streams-crash-") as temporary:
        place = directory or Path(temporary)
        wrong = crash(arguments.rounds, arguments.seed, arguments.kinds, place, partial(print, flush=True))
    for line in wrong:
        print(f"WRONG: {line}")
    if directory is not None:
        print(f"kept in {directory}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
