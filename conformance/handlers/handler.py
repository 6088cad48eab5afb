"""The table of handlers."""

from __future__ import annotations

from collections.abc import Callable

from conformance.engines.engine import Engine
from conformance.engines.http import HttpEngine
from conformance.handlers.evaluation import csv_test, query_evaluation, update_evaluation
from conformance.handlers.graph_store import graph_store_test
from conformance.handlers.protocol import protocol_test
from conformance.handlers.service_description import service_description_test
from conformance.handlers.syntax import negative_query, negative_update, positive_query, positive_update
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict
from conformance.rsp.engine import RSP_TESTS, rsp_test
from conformance.vocabulary import MF

Handler = Callable[[Test, Engine], Outcome]


def _http(run: Callable[[Test, HttpEngine], Outcome]) -> Handler:
    def with_endpoint(test: Test, engine: Engine) -> Outcome:
        if not isinstance(engine, HttpEngine):
            return Outcome(test, Verdict.FAILED, "this is a test of HTTP requests, and there is no endpoint")
        return run(test, engine)

    return with_endpoint


HANDLERS: dict[str, Handler] = {
    MF[name].value: handler
    for name, handler in {
        "QueryEvaluationTest": query_evaluation,
        "CSVResultFormatTest": csv_test,
        "UpdateEvaluationTest": update_evaluation,
        "PositiveSyntaxTest": positive_query,
        "PositiveSyntaxTest11": positive_query,
        "NegativeSyntaxTest": negative_query,
        "NegativeSyntaxTest11": negative_query,
        "PositiveUpdateSyntaxTest": positive_update,
        "PositiveUpdateSyntaxTest11": positive_update,
        "NegativeUpdateSyntaxTest": negative_update,
        "NegativeUpdateSyntaxTest11": negative_update,
        "ProtocolTest": _http(protocol_test),
        "GraphStoreProtocolTest": _http(graph_store_test),
        "ServiceDescriptionTest": _http(service_description_test),
    }.items()
} | dict.fromkeys(RSP_TESTS, rsp_test)

HTTP_TESTS = frozenset(MF[name].value for name in ("ProtocolTest", "GraphStoreProtocolTest", "ServiceDescriptionTest"))


def handler_of(test: Test) -> Handler | None:
    """The handler of the test's type; None if it has no type that is known."""
    return next((HANDLERS[kind] for kind in test.types if kind in HANDLERS), None)
