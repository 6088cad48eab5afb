"""``make bench``: the figures of the system beside the baselines of the same run and the targets."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import cluster, ingest
from tests.benchmarks.aarhus import NoData
from tests.benchmarks.figures import Figure
from tests.benchmarks.latency import latency
from tests.benchmarks.loops import replay
from tests.benchmarks.one_shot import one_shot
from tests.benchmarks.standing import registering, standing
from tests.benchmarks.windows import large_windows

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    # As at Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = _options()
    benchmarks: dict[str, tuple[str, Callable[[], list[Figure]]]] = {
        "a": ("ingest to result", lambda: ingest.measure(options.data, quick=options.quick)),
        "b": ("latency", lambda: latency.measure(quick=options.quick)),
        "c": ("standing queries in real time", lambda: standing.measure(quick=options.quick)),
        "d": ("a replay, against loops", lambda: replay.measure(quick=options.quick)),
        "e": ("one-shot queries over HTTP", lambda: one_shot.measure(quick=options.quick)),
        "f": ("large windows", lambda: large_windows.measure(quick=options.quick, plot=options.plot)),
        "g": ("a cluster", lambda: cluster.measure(quick=options.quick)),
        "h": ("registering", lambda: registering.measure(quick=options.quick)),
    }
    wrong = [name for name in options.only if name not in benchmarks]
    if wrong:
        print(f"--only {','.join(wrong)}: there are {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}")
    figures: list[Figure] = []
    failed = False
    for name in options.only or benchmarks:
        title, measure = benchmarks[name]
        began = time.monotonic()
        print(f"({name}) {title} ...", file=sys.stderr, flush=True)
        try:
            measured = measure()
        except (NoData, RuntimeError) as error:
            failed = True
            print(f"({name}) {title}: not measured: {error}", *getattr(error, "__notes__", ()), flush=True)
            continue
        figures += measured
        for figure in measured:
            print(figure.line(), flush=True)
        print(f"({name}) took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    if options.json is not None:
        document = {
            "load": os.getloadavg(),
            "cores": os.cpu_count(),
            "figures": [figure.to_json() for figure in figures],
        }
        options.json.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[], metavar="a,b,c,d,e,f,g")
    parser.add_argument("--quick", action="store_true", help="smaller and shorter: for a look, not for a record")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="where aarhus/ is")
    parser.add_argument("--json", type=Path, default=None, metavar="FILE")
    drawn = ROOT / "build" / "large-windows.svg"
    parser.add_argument("--plot", type=Path, default=drawn, metavar="FILE", help="a picture of (f), in SVG")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
