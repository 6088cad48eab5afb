"""Evaluation tests: a query's answer, or what a store holds after an update, compared with the suite's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyoxigraph as ox

from conformance.answers.cases import Dataset, query_case, update_case
from conformance.answers.comparison import GraphAnswer, QueryResult, Sameness, Solutions, compare
from conformance.answers.results import expected_answer
from conformance.engines.engine import Engine, EngineFailure
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict

_PREFERRED = {
    "srj": "application/sparql-results+json",
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
}
_FORMAT_DIRECTORIES = ("csv-tsv-res", "json-res")
_SHOWN = 600


def query_evaluation(test: Test, engine: Engine) -> Outcome:
    """``mf:QueryEvaluationTest``; a test of a result format asks for that format."""
    about_a_format = test.directory.rpartition("/")[2] in _FORMAT_DIRECTORIES
    return _query(test, engine, about_a_format)


def csv_test(test: Test, engine: Engine) -> Outcome:
    """``mf:CSVResultFormatTest``: the answer is asked for as CSV."""
    return _query(test, engine, True)


def _query(test: Test, engine: Engine, about_a_format: bool) -> Outcome:
    case = query_case(test)
    if not case.regimes:
        return Outcome(test, Verdict.FAILED, "not declared: it is of other entailment regimes than this endpoint has")
    extension = case.result.iri.rpartition(".")[2]
    try:
        answers = engine.answers(case, _PREFERRED.get(extension) if about_a_format else None)
    except EngineFailure as error:
        return Outcome(test, Verdict.FAILED, str(error))
    expected = expected_answer(case.result)
    worst = Sameness.STRICT
    for way, actual in answers.items():
        same = compare(expected, _in_order(expected, actual), lax=case.lax)
        if same is Sameness.DIFFERENT:
            return Outcome(test, Verdict.FAILED, f"{way}: {difference(expected, actual)}")
        worst = min(worst, same)
    return Outcome(test, Verdict.STRICT if worst is Sameness.STRICT else Verdict.BY_VALUE)


def _in_order(expected: QueryResult, actual: QueryResult) -> QueryResult:
    """Order matters where the suite numbers the solutions; only there does it say what the order is."""
    if isinstance(expected, Solutions) and isinstance(actual, Solutions):
        return replace(actual, ordered=expected.ordered)
    return actual


def update_evaluation(test: Test, engine: Engine) -> Outcome:
    """``mf:UpdateEvaluationTest``: all graphs of the store, each compared on its own; nothing else may be there."""
    case = update_case(test)
    try:
        after = engine.after(case)
    except EngineFailure as error:
        return Outcome(test, Verdict.FAILED, str(error))
    expected = _graphs(case.after)
    actual: Mapping[str, GraphAnswer] = {"": after.default, **after.named}
    worst = Sameness.STRICT
    for name in sorted({*expected, *actual}):
        left, right = expected.get(name, GraphAnswer()), actual.get(name, GraphAnswer())
        same = compare(left, right)
        if same is Sameness.DIFFERENT:
            return Outcome(test, Verdict.FAILED, f"graph {name or 'default'}: {difference(left, right)}")
        worst = min(worst, same)
    return Outcome(test, Verdict.STRICT if worst is Sameness.STRICT else Verdict.BY_VALUE)


def _graphs(dataset: Dataset) -> dict[str, GraphAnswer]:
    graphs: dict[str, set[ox.Triple]] = {"": set()}
    for document in dataset.default:
        graphs[""].update(quad.triple for quad in document.quads())
    for name, document in dataset.named:
        graphs.setdefault(name, set()).update(quad.triple for quad in document.quads())
    return {name: GraphAnswer(frozenset(triples)) for name, triples in graphs.items()}


def difference(expected: QueryResult, actual: QueryResult) -> str:
    """Both, for a person, cut where they get long."""
    return f"expected {_shown(expected)}; got {_shown(actual)}"


def _shown(answer: QueryResult) -> str:
    if isinstance(answer, bool):
        return str(answer).lower()
    if isinstance(answer, GraphAnswer):
        lines = sorted(str(triple) for triple in answer.triples)
        text = f"{len(lines)} triples {' . '.join(lines)}"
    else:
        rows = [" ".join(f"?{name}={term}" for name, term in sorted(row.items())) for row in answer.rows]
        rows = rows if answer.ordered else sorted(rows)
        text = f"{len(rows)} solutions of {' '.join(sorted(answer.variables))}: {' | '.join(rows)}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
