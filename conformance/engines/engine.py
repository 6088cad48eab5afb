"""What is tested, as the handlers of evaluation and syntax tests see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from conformance.answers.cases import QueryCase, UpdateCase
from conformance.answers.comparison import GraphAnswer, QueryResult


class EngineFailure(Exception):
    """What was tested gave no answer where it should have: the test failed, and this says how."""


class Language(Enum):
    QUERY = "query"
    UPDATE = "update"


@dataclass(frozen=True)
class Contents:
    """All triples of a store: its default graph, and each named graph that has any."""

    default: GraphAnswer = field(default_factory=GraphAnswer)
    named: Mapping[str, GraphAnswer] = field(default_factory=dict)


class Engine(Protocol):
    """Answers queries, runs updates, judges syntax. Each call is on its own: nothing is left from the one before."""

    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        """The answer, once for each way in which the engine can be asked, by a name of that way.

        ``preferred``: the media type to ask for, if the test is about one. EngineFailure if there is no answer.
        """

    def after(self, case: UpdateCase) -> Contents:
        """What the store holds when the update was run over ``case.before``. EngineFailure if it was refused."""

    def accepts(self, text: str, language: Language) -> str | None:
        """None if the text is one of the language, else what is wrong with it, as the engine says."""
