"""What came of a test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from conformance.manifest import Test


class Verdict(Enum):
    """How a test went."""

    STRICT = "passed strictly"
    BY_VALUE = "passed by value"
    FAILED = "failed"


@dataclass(frozen=True)
class Outcome:
    """A test's verdict; ``error`` says what was wrong, where anything was."""

    test: Test
    verdict: Verdict
    error: str = ""
