"""How often terms occur in what a query reads: what the order of joins is chosen by, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Occurrences:
    """Of one predicate: its triples, and how many subjects and objects they have."""

    triples: int
    subjects: int
    objects: int


@dataclass(frozen=True)
class Statistics:
    """Of a sample of ``triples``: occurrences by predicate (canonical N-Triples)."""

    triples: int
    predicates: Mapping[str, Occurrences]
