"""The table of features and cases in ``README.md``: made from the manifests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from conformance.manifest import Test
from conformance.rsp.case import RSPT, feature_of

README = Path(__file__).with_name("README.md")
_BEGIN, _END = "<!-- table: python -m conformance.rsp table -->", "<!-- end of table -->"


def table(tests: Sequence[Test]) -> str:
    """Markdown: a line for each feature with how many cases it has, then each feature's cases."""
    groups = [(name, list(cases)) for name, cases in groupby(tests, key=lambda test: test.directory.rpartition("/")[2])]
    lines = ["| feature | what it covers | cases |", "|---|---|---:|"]
    lines += [
        f"| [{name}](cases/{name}/manifest.ttl) | {feature_of(cases[0])} | {len(cases)} |" for name, cases in groups
    ]
    lines.append(f"| | **all** | **{len(tests)}** |")
    for name, cases in groups:
        lines += ["", f"### {name}", ""]
        lines += [f"- `{test.iri.rpartition('#')[2]}` {test.name}{_kind(test)}" for test in cases]
    return "\n".join(lines)


def _kind(test: Test) -> str:
    return " (refused)" if RSPT["RefusalTest"].value in test.types else ""


def written_into(text: str, made: str) -> str:
    """The text with the table in place of the one that is in it."""
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{made}\n{_END}{after}"
