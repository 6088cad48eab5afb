"""Syntax tests: texts that are to be accepted, and texts that are not."""

from __future__ import annotations

from conformance.answers.cases import syntax_text
from conformance.engines.engine import Engine, EngineFailure, Language
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict


def positive_query(test: Test, engine: Engine) -> Outcome:
    return _syntax(test, engine, Language.QUERY, positive=True)


def negative_query(test: Test, engine: Engine) -> Outcome:
    return _syntax(test, engine, Language.QUERY, positive=False)


def positive_update(test: Test, engine: Engine) -> Outcome:
    return _syntax(test, engine, Language.UPDATE, positive=True)


def negative_update(test: Test, engine: Engine) -> Outcome:
    return _syntax(test, engine, Language.UPDATE, positive=False)


def _syntax(test: Test, engine: Engine, language: Language, *, positive: bool) -> Outcome:
    try:
        refused = engine.accepts(syntax_text(test), language)
    except EngineFailure as error:
        return Outcome(test, Verdict.FAILED, str(error))
    if positive is (refused is None):
        return Outcome(test, Verdict.STRICT)
    return Outcome(test, Verdict.FAILED, f"refused: {refused}" if positive else "accepted, though it is invalid")
