"""RSP-QL cases: what their manifests say, and the files they name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.manifest import Description, ManifestError, Suite, Test
from conformance.rsp.expected import Evaluation, read_expected
from conformance.rsp.script import Step, read_script
from conformance.vocabulary import MF, QT, RDFS, Namespace

RSPT = Namespace("https://sparql-streams.example/ns/rsp-test#")
"""``ContinuousEvaluationTest``, ``RefusalTest``; ``requests``: the file with the requests of an action."""

BASE = "https://sparql-streams.example/tests/rsp/"
ROOT = Path(__file__).with_name("cases")
SUITE = "rsp"

_ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)


@dataclass(frozen=True)
class Refusal:
    """The problem document that is expected: its status, and where in the query it points to (None: anywhere)."""

    status: int
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Case:
    """A query, the requests before it (and while it is listened to), and what is expected of it.

    ``comment`` says how the expected answers come about, if the manifest does.
    """

    name: str
    feature: str
    query: str
    query_file: str
    script: tuple[Step, ...]
    expected: tuple[Evaluation, ...] | Refusal
    result: Path
    comment: str | None

    @property
    def ordered(self) -> bool:
        """Whether the order of solutions matters."""
        return bool(_ORDER.search(self.query))

    @property
    def is_graph(self) -> bool:
        """Whether the answers are graphs."""
        forms: list[str] = re.findall(r"\b(?:SELECT|ASK|DESCRIBE|CONSTRUCT(?!\s+FACT))\b", self.query, re.IGNORECASE)
        # A definition of facts alone is a CONSTRUCT of them.
        return not forms or forms[0].upper() in ("CONSTRUCT", "DESCRIBE")


def are_meant(names: Sequence[str]) -> bool:
    """Whether these suites are this one, or directories of it. ManifestError if some are and others are not."""
    ours = [name.partition("/")[0] == SUITE for name in names]
    if any(ours) and not all(ours):
        raise ManifestError(f"{SUITE} is run by itself: it needs an endpoint with streams")
    return any(ours)


def select_cases(names: Sequence[str] = ()) -> list[Test]:
    """The tests of the suite, or of its directories that are named (``rsp/gaps``). ManifestError if there is none."""
    tests = [
        replace(test, directory=f"{SUITE}/{test.directory}") for test in Suite(ROOT, BASE).tests("manifest.ttl")
    ]  # fmt: skip
    wanted = {name.strip("/") for name in names} - {SUITE}
    if missing := wanted - {test.directory for test in tests}:
        raise ManifestError(f"there is no directory {min(missing)} with tests")
    return [test for test in tests if not wanted or test.directory in wanted]


def case_of(test: Test) -> Case:
    """A test's case. ManifestError says what is wrong with it."""
    about, suite = test.description, test.suite
    action = about.required(test.node, MF["action"])
    query, requests = (about.text(action, name) for name in (QT["query"], RSPT["requests"]))
    result = about.text(test.node, MF["result"])
    if query is None or requests is None or result is None:
        raise ManifestError(f"{about.place}: {test.node} names no query, no requests or no result")

    def file(name: str) -> str:
        return suite.read(requests.rpartition("/")[0] + "/" + name).decode()

    script = read_script(suite.read(requests).decode(), requests, file)
    text = suite.read(result).decode()
    is_refusal = RSPT["RefusalTest"].value in test.types
    expected = _refusal(text, result) if is_refusal else tuple(read_expected(text, result))
    return Case(
        test.name,
        test.directory.rpartition("/")[2],
        suite.read(query).decode(),
        query.rpartition("/")[2],
        tuple(script),
        expected,
        suite.path(result),
        about.text(test.node, RDFS["comment"]),
    )


def feature_of(test: Test) -> str:
    """What the manifest of a test's directory is about."""
    return _label(test.description) or test.directory


def _label(about: Description) -> str | None:
    manifests = [quad.subject for quad in about.store.quads_for_pattern(None, MF["entries"], None)]
    return about.text(manifests[0], RDFS["label"]) if manifests else None


def _refusal(text: str, place: str) -> Refusal:
    try:
        return Refusal(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise ManifestError(f"{place}: not a refusal: {error}") from None
