"""``make bench``: the figures of the system beside the baselines of the same run and the targets."""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import cluster, geometry, ingest, live_queries
from tests.benchmarks.aarhus import NoData
from tests.benchmarks.entailment import entailed_windows, entailment
from tests.benchmarks.figures import Figure, table
from tests.benchmarks.join_orders import joins
from tests.benchmarks.latency import end_to_end, latency
from tests.benchmarks.loops import replay, windows
from tests.benchmarks.one_shot import one_shot
from tests.benchmarks.receipt import receipt, validation
from tests.benchmarks.server import ROOT
from tests.benchmarks.sliding import costs, rates
from tests.benchmarks.standing import registering, shapes, standing
from tests.benchmarks.windows import large_windows

_ASKED_FOR = ("d", "g")
"""What is measured only where it is asked for: (d) is like (w), and (g) is for docs/scale.md."""


def main() -> int:
    # As at Ctrl-C: what was started is stopped.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = _options()
    quick, beside, plots = options.quick, options.beside, options.plots
    benchmarks: dict[str, tuple[str, Callable[[], list[Figure]]]] = {
        "w": ("windows over HTTP, against loops", lambda: windows.measure(quick=quick, beside=beside)),
        "s": ("a slide against a jump, live", lambda: rates.measure(quick=quick)),
        "i": ("an instant against its window's range", lambda: costs.measure(quick=quick, plot=plots / "slide.svg")),
        "m": ("many queries of many shapes", lambda: shapes.measure(quick=quick)),
        "j": ("joins of windows and graphs, against Oxigraph", lambda: joins.measure(quick=quick)),
        "a": ("ingest to result", lambda: ingest.measure(options.data, quick=quick)),
        "r": ("receipt by format, against the bare parser", lambda: receipt.measure(quick=quick)),
        "v": ("receipt with a shape, against without", lambda: validation.measure(quick=quick)),
        "b": ("latency", lambda: latency.measure(quick=quick, beside=beside)),
        "t": ("MQTT to webhook, against POST to event", lambda: end_to_end.measure(quick=quick)),
        "c": ("standing queries in real time", lambda: standing.measure(quick=quick)),
        "d": ("a replay, against loops", lambda: replay.measure(quick=quick)),
        "e": ("one-shot queries over HTTP", lambda: one_shot.measure(quick=quick)),
        "f": ("large windows", lambda: large_windows.measure(quick=quick, plot=plots / "large-windows.svg")),
        "g": ("a cluster", lambda: cluster.measure(quick=quick)),
        "h": ("registering", lambda: registering.measure(quick=quick)),
        "p": ("positions in polygons, against pyoxigraph", lambda: geometry.measure(quick=quick)),
        "l": ("live queries on the store", lambda: live_queries.measure(quick=quick)),
        "n": ("entailment", lambda: entailment.measure(quick=quick)),
        "o": ("windows under RDFS, against none", lambda: entailed_windows.measure(quick=quick)),
    }
    wrong = [name for name in options.only if name not in benchmarks]
    if wrong:
        print(f"--only {','.join(wrong)}: there are {', '.join(benchmarks)}", file=sys.stderr)
        return 2
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}")
    print("What the columns mean is told in docs/benchmarks.md.", flush=True)
    figures: list[Figure] = []
    failed = False
    for name in options.only or [name for name in benchmarks if name not in _ASKED_FOR]:
        title, measure = benchmarks[name]
        began = time.monotonic()
        print(f"\n({name}) {title}", flush=True)
        try:
            measured = measure()
        except (NoData, RuntimeError) as error:
            failed = True
            print(f"not measured: {error}", *getattr(error, "__notes__", ()), flush=True)
            continue
        figures += measured
        print(f"\n{table(measured)}\n\ntook {time.monotonic() - began:.0f} s", flush=True)
    met = Counter(figure.verdict for figure in figures)
    print(f"\nOf {met['met'] + met['not met']} targets, {met['met']} are met.")
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
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=[], metavar="LETTERS", help="some of them: w,i for example"
    )
    parser.add_argument("--quick", action="store_true", help="smaller and shorter: for a look, not for a record")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="where aarhus/ is")
    parser.add_argument("--json", type=Path, default=None, metavar="FILE")
    parser.add_argument(
        "--beside",
        type=lambda text: Path(text).resolve(strict=True),
        default=None,
        metavar="DIR",
        help="another checkout of the project: (w) and (b) measure its server in turn with this one's",
    )
    parser.add_argument(
        "--plots", type=Path, default=ROOT / "build", metavar="DIR", help="where the pictures of (i) and (f) are put"
    )
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
