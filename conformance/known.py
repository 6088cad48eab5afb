"""Failures that are accounted for (``known_failures.toml``): the test, what goes wrong, why, and whose fault it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from conformance.outcome import Outcome, Verdict

FILE = Path(__file__).with_name("known_failures.toml")
THROUGH_WINDOWS = Path(__file__).with_name("known_failures_through_windows.toml")


class Owner(Enum):
    """Whose fault a failure is."""

    OURS = "ours"
    UPSTREAM = "upstream"
    SUITE = "suite"


@dataclass(frozen=True)
class Known:
    """A test that does not pass strictly. ``error`` is part of what the runner says of it when it fails.

    ``verdict`` is FAILED, or BY_VALUE for one that passes where literals count by value.
    ``reason`` names the section of the standard it was checked against; of what is upstream also the line that causes
    it, and why it cannot be mended from outside.
    """

    test: str
    verdict: Verdict
    owner: Owner
    reason: str
    error: str = ""


class Judgement(Enum):
    """An outcome beside what is known of its test."""

    AS_EXPECTED = "as expected"
    KNOWN = "known failure"
    NEW_FAILURE = "new failure"
    OTHER_FAILURE = "fails in another way than is known"
    UNEXPECTED_PASS = "unexpected pass"


GOOD = frozenset({Judgement.AS_EXPECTED, Judgement.KNOWN})


def judge(outcome: Outcome, known: Mapping[str, Known]) -> Judgement:
    """Whether the outcome is what it is known to be; a test that is not in the file has to pass strictly."""
    entry = known.get(outcome.test.iri)
    expected = Verdict.STRICT if entry is None else entry.verdict
    if outcome.verdict is expected:
        if entry is None or entry.verdict is Verdict.BY_VALUE:
            return Judgement.AS_EXPECTED
        return Judgement.KNOWN if entry.error in outcome.error else Judgement.OTHER_FAILURE
    worse = _RANK[outcome.verdict] < _RANK[expected]
    return Judgement.NEW_FAILURE if worse else Judgement.UNEXPECTED_PASS


_RANK = {Verdict.FAILED: 0, Verdict.BY_VALUE: 1, Verdict.STRICT: 2}
_VERDICTS = {"fails": Verdict.FAILED, "passes by value": Verdict.BY_VALUE}


def read_known(path: Path = FILE) -> dict[str, Known]:
    """The file's entries by test. ValueError names the entry that is wrong."""
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from None
    found: dict[str, Known] = {}
    for entry in _entries(read.get("known", []), read.get("unmended", {}), path):
        if entry.test in found:
            raise ValueError(f"{path}: {entry.test} is there twice")
        found[entry.test] = entry
    return found


def _entries(groups: Iterable[Mapping[str, object]], unmended: Mapping[str, str], path: Path) -> Iterable[Known]:
    """An entry for each test of each group: tests that fail for one reason are written together.

    ``tests`` is a list of IRIs, or a table of what is to be said of each. ``unmended``: texts by the names they have in
    groups.
    """
    for number, group in enumerate(groups, 1):
        where = f"{path}: the {number}. [[known]]"
        if unknown := group.keys() - {"tests", "verdict", "owner", "reason", "error", "unmended"}:
            raise ValueError(f"{where} has {', '.join(sorted(unknown))}, which means nothing")
        tests, verdict, owner, reason = (group.get(name) for name in ("tests", "verdict", "owner", "reason"))
        own = _said(tests)
        if not own:
            raise ValueError(f"{where} has no tests: write a list of IRIs, or a table of what is said of each")
        if verdict not in _VERDICTS:
            raise ValueError(f"{where} has the verdict {verdict!r}: write one of {', '.join(_VERDICTS)}")
        if owner not in [one.value for one in Owner]:
            raise ValueError(f"{where} has the owner {owner!r}: write one of ours, upstream, suite")
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"{where} has no reason")
        error = group.get("error", "")
        if verdict == "fails" and not error:
            raise ValueError(f"{where} does not say with which error its tests fail")
        name = group.get("unmended")
        if (name in unmended) is not (owner == Owner.UPSTREAM.value):
            raise ValueError(
                f"{where}: what is upstream, and nothing else, is unmended by one of {', '.join(unmended)}"
            )
        for test, said in own.items():
            if owner == Owner.UPSTREAM.value and not _LINE.search(said):
                raise ValueError(
                    f"{where} does not say of {test} which line causes it: write crate-version/src/file.rs:1"
                )
            told = " ".join(f"{said} {reason} {unmended.get(str(name), '')}".split())
            yield Known(test, _VERDICTS[str(verdict)], Owner(owner), told, str(error))


_LINE = re.compile(r"\b[a-z]+-\d+\.\d+\.\d+/src/[\w/]+\.rs:\d+")
"""Of a file of a crate."""


def _said(tests: object) -> dict[str, str]:
    """What is said of each test: nothing, where they are a list."""
    if isinstance(tests, dict):
        return tests
    return {str(test): "" for test in tests} if isinstance(tests, list) else {}
