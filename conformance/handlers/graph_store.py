"""Tests of the SPARQL 1.1 Graph Store HTTP Protocol: described in RDF, or (older ones) as messages in prose."""

from __future__ import annotations

from conformance.engines.engine import EngineFailure
from conformance.engines.http import HttpEngine
from conformance.handlers.exchanges import Mismatch, check, exchanges, filled
from conformance.handlers.messages import older_test
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict
from conformance.vocabulary import MF

_PREFIX = "/gsp"


def graph_store_test(test: Test, engine: HttpEngine) -> Outcome:
    """``mf:GraphStoreProtocolTest``: its requests in turn; an older one has them in prose."""
    try:
        if test.description.optional(test.node, MF["action"]) is None:
            older_test(test, engine)
        else:
            _described(test, engine)
    except (Mismatch, EngineFailure, OSError) as error:
        return Outcome(test, Verdict.FAILED, str(error))
    return Outcome(test, Verdict.STRICT)


def _described(test: Test, engine: HttpEngine) -> None:
    engine.empty()
    engine.decoys()
    endpoint = engine.endpoint
    values: list[tuple[str, str]] = []
    for described, expected in exchanges(test):
        request = filled(described, values)
        target = endpoint.path("/graphs") + request.target.removeprefix(_PREFIX)
        response = endpoint.exchange(request.method, target, request.headers, request.body)
        try:
            check(expected, response, head=request.method == "HEAD")
        except Mismatch as error:
            raise Mismatch(f"{request.method} {target}: {error}") from None
        if expected.location is not None:
            values.append((expected.location, response.headers["location"]))
