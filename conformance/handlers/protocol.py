"""Tests of the SPARQL 1.1 Protocol, sent as their descriptions say."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl, quote, urlencode

from conformance.answers.cases import graph_data
from conformance.engines.engine import EngineFailure
from conformance.engines.http import DECOY_GRAPH, HttpEngine
from conformance.handlers.exchanges import Expected, Mismatch, Request, check, exchanges
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict

_PREFIX = "/sparql/"
_DATASET_PARAMETERS = ("default-graph-uri", "named-graph-uri")


def protocol_test(test: Test, engine: HttpEngine) -> Outcome:
    """``mf:ProtocolTest``: all its requests in turn, over the graphs that the test names, decoys beside them.

    A query that is true of a dataset named by parameters is asked once more with parameters that name
    the decoys instead, and has to be false: who ignores the parameters would say true again.
    """
    data = dict(graph_data(test))
    try:
        engine.empty()
        engine.decoys()
        for name, document in data.items():
            engine.put(name, document)
        for request, expected in exchanges(test):
            _send(engine, request, expected)
            control = _control(request, set(data))
            if control is not None and expected.boolean is True:
                try:
                    _send(engine, control, replace(expected, boolean=False))
                except Mismatch as error:
                    raise Mismatch(f"with parameters that name other graphs: {error}") from None
    except (Mismatch, EngineFailure, OSError) as error:
        return Outcome(test, Verdict.FAILED, str(error))
    return Outcome(test, Verdict.STRICT)


def _send(engine: HttpEngine, request: Request, expected: Expected) -> None:
    endpoint = engine.endpoint
    target = endpoint.path("/sparql") + request.target.removeprefix(_PREFIX)
    try:
        check(expected, endpoint.exchange(request.method, target, request.headers, request.body))
    except Mismatch as error:
        raise Mismatch(f"{request.method} {target}: {error}") from None


def _control(request: Request, graphs: set[str]) -> Request | None:
    """The request with decoys for the graphs of its dataset; None if its parameters name none of these graphs."""
    path, _, query = request.target.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    changed = [
        (name, DECOY_GRAPH if name in _DATASET_PARAMETERS and value in graphs else value) for name, value in pairs
    ]
    if changed == pairs:
        return None
    return replace(request, target=f"{path}?{urlencode(changed, quote_via=quote)}")
