"""What an evaluation gives: one query's solutions at one instant."""

from __future__ import annotations

from dataclasses import dataclass, field

from protocol.time import Instant
from spark_backend.budget import COMMON_SECONDS
from spark_backend.site import Site


@dataclass(frozen=True)
class Answer:
    """One query's solutions at one instant.

    ``bindings``: its solutions as SPARQL JSON binding objects in UTF-8, in order, a line each: as they go out, but for
    what stands between them. ``triples``: for CONSTRUCT, the N-Triples lines
    of each solution (as many entries as solutions), else empty. ``matches``: of solutions that are matches of event
    patterns, what tells those apart that bind the same, else empty. ``error`` is set instead where it failed.

    What its evaluation took is no part of the answer: ``site``, ``read`` (triples in the windows' contents, 0
    where it failed before they were read), ``seconds``, and those of its process's ``processor`` time (of evaluations
    made together, an equal share, and of tables that others read too).
    ``deferred`` is the file of the prepared query where there is no answer yet: it is to be given elsewhere, at
    ``site`` SPARK by Spark SQL, and what was in the common lane in one of the query's own.
    ``stopped``: the error is that it would have taken more than its budget. ``quiet``: nothing that is decided by
    content (``protocol.windows.spec.decided_by_content``) has the instant in ET.
    """

    instant: Instant
    bindings: bytes = b""
    triples: list[str] = field(default_factory=list)
    error: str | None = None
    site: Site = field(default=Site.DUCKDB, compare=False)
    read: int = field(default=0, compare=False)
    seconds: float = field(default=0.0, compare=False)
    processor: float = field(default=0.0, compare=False)
    deferred: str | None = None
    stopped: bool = field(default=False, compare=False)
    quiet: bool = False
    matches: list[str] = field(default_factory=list)

    @property
    def for_spark_sql(self) -> bool:
        """Whether it is one of Spark SQL's, given or still to be given."""
        return self.site is Site.SPARK

    def costly_after(self, before: int) -> int:
        """How many evaluations took too much for the common lane, in a row, with so many before this one."""
        return before + 1 if self.processor > COMMON_SECONDS else 0

    @property
    def size(self) -> int:
        """Its length in bytes, about."""
        return len(self.bindings) + sum(map(len, self.triples)) + sum(map(len, self.matches))

    @property
    def count(self) -> int:
        """How many solutions there are."""
        return self.bindings.count(b"\n") + 1 if self.bindings else 0

    @property
    def solutions(self) -> list[bytes]:
        """The binding object of each solution."""
        return self.bindings.split(b"\n") if self.bindings else []

    @property
    def told_apart(self) -> list[bytes]:
        """For each solution a text that only equal ones have: of matches, those of the same occurrences."""
        if not self.matches:
            return self.solutions
        return [b"%b\n%b" % (one, match.encode()) for one, match in zip(self.solutions, self.matches, strict=True)]


Answers = list[tuple[str, Answer]]
"""Answers of queries: (key, answer)."""
