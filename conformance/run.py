"""A run: the tests of some suites, each given to the handler of its type, judged by what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.engines.engine import Engine
from conformance.handlers import HTTP_TESTS, handler_of
from conformance.known import Known, judge
from conformance.manifest import ManifestError, Suite, Test
from conformance.outcome import Outcome, Verdict
from conformance.report import Judged
from conformance.vocabulary import MF

MANIFESTS: dict[str, tuple[str, ...]] = {
    "sparql10": ("sparql10/manifest.ttl",),
    "sparql11": ("sparql11/manifest-all.ttl", "sparql11/http-rdf-update/manifest.ttl"),
    "sparql12": ("sparql12/manifest.ttl",),
}
"""The suites, with the manifests that hold all their tests."""

NOT_OF_WINDOWS = frozenset({"sparql11/entailment"})
"""Entailment regimes are refused in continuous queries."""


def select(root: Path, names: Sequence[str]) -> list[Test]:
    """The tests of these suites (``sparql11``), directories (``sparql11/protocol``) or all if none is named.

    ManifestError if there is no such suite, or nothing in it.
    """
    suite = Suite(root)
    found: dict[str, Test] = {}
    for name in names or MANIFESTS:
        top, _, rest = name.strip("/").partition("/")
        if top not in MANIFESTS:
            raise ManifestError(
                f"there is no suite {name!r}: there are {', '.join(MANIFESTS)}, and directories in them"
            )
        tests = [test for manifest in MANIFESTS[top] for test in suite.tests(manifest)]
        wanted = [test for test in tests if not rest or test.directory == f"{top}/{rest}"]
        if not wanted:
            raise ManifestError(f"the suite {top} has no directory {rest!r} with tests")
        found |= {test.iri: test for test in wanted}
    return list(found.values())


def run(tests: Sequence[Test], engine: Engine, known: Mapping[str, Known]) -> Iterator[Judged]:
    """Each test's outcome as it comes. A test of an unknown type, or one that cannot be read, has failed."""
    for test in tests:
        outcome = _outcome(test, engine)
        yield Judged(outcome, judge(outcome, known))


def without_http(tests: Sequence[Test]) -> list[Test]:
    """Those that an engine without HTTP can take."""
    return [test for test in tests if not HTTP_TESTS.intersection(test.types)]


def query_evaluations(tests: Sequence[Test]) -> list[Test]:
    """Those that can be asked of windows: a query's answer over graphs."""
    wanted = (MF["QueryEvaluationTest"].value, MF["CSVResultFormatTest"].value)
    return [
        test for test in tests if any(kind in wanted for kind in test.types) and test.directory not in NOT_OF_WINDOWS
    ]


def _outcome(test: Test, engine: Engine) -> Outcome:
    handler = handler_of(test)
    if handler is None:
        return Outcome(test, Verdict.FAILED, f"no handler for a test of type {', '.join(test.types)}")
    try:
        return handler(test, engine)
    except ManifestError as error:
        return Outcome(test, Verdict.FAILED, f"the test cannot be read: {error}")
