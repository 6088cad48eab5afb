"""``Engine`` for RSP-QL cases, and the handler of their types."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

import httpx

from conformance.answers.cases import QueryCase, UpdateCase
from conformance.answers.comparison import QueryResult
from conformance.engines.endpoints import TIMEOUT_SECONDS, Endpoint
from conformance.engines.engine import Contents, Engine, EngineFailure, Language
from conformance.manifest import Test
from conformance.outcome import Outcome, Verdict
from conformance.rsp.case import RSPT, Case, Refusal, case_of
from conformance.rsp.client import EndpointPlayer
from conformance.rsp.expected import difference


class RspEngine:
    """An endpoint that is played RSP-QL cases; nothing else is asked of it. Its graphs are dropped."""

    def __init__(self, endpoint: Endpoint, transport: httpx.BaseTransport | None = None) -> None:
        self._endpoint = endpoint
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS, transport=transport, trust_env=False)

    def close(self) -> None:
        self._client.close()

    def complaint(self, case: Case) -> str | None:
        """What is wrong with how the endpoint answers the case; None if nothing is."""
        try:
            with closing(EndpointPlayer(self._endpoint, self._client, case)) as played:
                if isinstance(case.expected, Refusal):
                    refusal = played.refusal()
                    wrong = {
                        name: value
                        for name, value in vars(case.expected).items()
                        if value not in (None, getattr(refusal, name))
                    }
                    return f"{refusal}, expected {wrong}" if wrong else None
                return difference(case.expected, played.evaluations(), ordered=case.ordered)
        except EngineFailure as error:
            return str(error)
        except httpx.HTTPError as error:
            return f"no HTTP response: {error!r}"

    # Engine

    def answers(self, case: QueryCase, preferred: str | None) -> Mapping[str, QueryResult]:
        """See ``Engine``: one-shot queries are not tested here."""
        raise EngineFailure("only RSP-QL cases are played")

    def after(self, case: UpdateCase) -> Contents:
        """See ``Engine``: updates are not tested here."""
        raise EngineFailure("only RSP-QL cases are played")

    def accepts(self, text: str, language: Language) -> str | None:
        """See ``Engine``: syntax is not tested by itself here."""
        raise EngineFailure("only RSP-QL cases are played")


def rsp_test(test: Test, engine: Engine) -> Outcome:
    """An RSP-QL case's outcome. ManifestError if its files are not as they should be."""
    if not isinstance(engine, RspEngine):
        return Outcome(test, Verdict.FAILED, "this is a test of continuous queries, and there are no streams")
    complaint = engine.complaint(case_of(test))
    return Outcome(test, Verdict.STRICT) if complaint is None else Outcome(test, Verdict.FAILED, complaint)


RSP_TESTS = tuple(RSPT[name].value for name in ("ContinuousEvaluationTest", "RefusalTest"))
