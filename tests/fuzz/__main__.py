"""``python -m tests.fuzz``: prints what was wrong; the exit status says whether anything was."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.fuzz.run import fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=["none", "engine"], default="none")
    parser.add_argument("--clients", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sparql-streams-fuzz-") as directory:
        findings = fuzz(
            arguments.backend, arguments.requests, arguments.seed, Path(directory), clients=arguments.clients
        )
    print(findings.report())
    return 1 if findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
