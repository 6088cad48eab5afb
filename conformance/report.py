"""What a run found: a table by directory for a person, and EARL for a machine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
from rich import box
from rich.console import Console
from rich.table import Table

from conformance.known import GOOD, Judgement
from conformance.outcome import Outcome, Verdict
from conformance.vocabulary import DCT, DOAP, EARL, RDF_TYPE, XSD

HOMEPAGE = "urn:x-sparql-streams"
"""The IRI of what is tested, in EARL."""


@dataclass(frozen=True)
class Judged:
    """An outcome, and what it means beside what is known."""

    outcome: Outcome
    judgement: Judgement

    @property
    def bad(self) -> bool:
        return self.judgement not in GOOD


@dataclass(frozen=True)
class Line:
    """A directory's counts. ``strictly`` + ``by_value`` + ``known`` + ``failed`` = ``total``."""

    directory: str
    strictly: int
    by_value: int
    known: int
    failed: int

    @property
    def total(self) -> int:
        return self.strictly + self.by_value + self.known + self.failed

    @property
    def passed(self) -> int:
        """Strictly or by value."""
        return self.strictly + self.by_value


def line(name: str, judged: Sequence[Judged]) -> Line:
    """The counts of these. A known failure is one that fails as it is known to."""
    verdicts = [one.outcome.verdict for one in judged]
    known = sum(one.judgement is Judgement.KNOWN for one in judged)
    strictly, by_value = verdicts.count(Verdict.STRICT), verdicts.count(Verdict.BY_VALUE)
    return Line(name, strictly, by_value, known, verdicts.count(Verdict.FAILED) - known)


def lines(judged: Sequence[Judged]) -> list[Line]:
    """One line for each directory, in the order of the run, after each suite's last its sum."""
    found: list[Line] = []
    suites = dict.fromkeys(_suite(one) for one in judged)
    for suite in suites:
        mine = [one for one in judged if _suite(one) == suite]
        directories = dict.fromkeys(one.outcome.test.directory for one in mine)
        found += [line(name, [one for one in mine if one.outcome.test.directory == name]) for name in directories]
        if len(directories) > 1 or suite not in directories:
            found.append(line(suite, mine))
    return found


def print_table(judged: Sequence[Judged], console: Console) -> None:
    """The table: directory, passed strictly, passed by value only, known failures, other failures, all."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("directory", no_wrap=True)
    for name in ("strictly", "by value", "known", "failed", "total"):
        table.add_column(name, justify="right")
    suites = {_suite(one) for one in judged}
    bad = {one.outcome.test.directory for one in judged if one.bad}
    for one in lines(judged):
        is_sum = one.directory in suites
        counts = (one.strictly, one.by_value, one.known, one.failed, one.total)
        shown = [str(count) if count or is_sum else "·" for count in counts]
        style = "bold" if is_sum else "red" if one.directory in bad else ""
        table.add_row(one.directory, *shown, style=style, end_section=is_sum)
    console.print(table)


def _suite(one: Judged) -> str:
    return one.outcome.test.directory.partition("/")[0]


def write_earl(judged: Sequence[Judged], path: Path, now: dt.datetime) -> None:
    """The outcomes in W3C's Evaluation and Report Language, as Turtle."""
    subject = ox.NamedNode(HOMEPAGE)
    date = ox.Literal(now.isoformat(timespec="seconds"), datatype=XSD["dateTime"])
    triples = [
        ox.Triple(subject, RDF_TYPE, DOAP["Project"]),
        ox.Triple(subject, RDF_TYPE, EARL["TestSubject"]),
        ox.Triple(subject, RDF_TYPE, EARL["Software"]),
        ox.Triple(subject, DOAP["name"], ox.Literal("sparql-streams")),
    ]
    for one in judged:
        assertion, result = ox.BlankNode(), ox.BlankNode()
        passed = one.outcome.verdict is not Verdict.FAILED
        triples += [
            ox.Triple(assertion, RDF_TYPE, EARL["Assertion"]),
            ox.Triple(assertion, EARL["assertedBy"], subject),
            ox.Triple(assertion, EARL["subject"], subject),
            ox.Triple(assertion, EARL["test"], ox.NamedNode(one.outcome.test.iri)),
            ox.Triple(assertion, EARL["mode"], EARL["automatic"]),
            ox.Triple(assertion, EARL["result"], result),
            ox.Triple(result, RDF_TYPE, EARL["TestResult"]),
            ox.Triple(result, EARL["outcome"], EARL["passed" if passed else "failed"]),
            ox.Triple(result, DCT["date"], date),
        ]
        if one.outcome.error or one.outcome.verdict is Verdict.BY_VALUE:
            info = one.outcome.error or one.outcome.verdict.value
            triples.append(ox.Triple(result, EARL["info"], ox.Literal(info)))
    prefixes = {"earl": EARL.iri, "dct": DCT.iri, "doap": DOAP.iri, "xsd": XSD.iri}
    path.write_bytes(ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b"")
