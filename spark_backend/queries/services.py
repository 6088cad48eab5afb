"""Evaluation of queries with SERVICE: other endpoints are asked first, once an instant, and what they gave is recorded.

Here the terms that a service is given are evaluated, the service is asked, and then the query is evaluated over the
record. An instant that has a record is never asked for again: not by a replay, nor after a restart.
"""

from __future__ import annotations

import hashlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Protocol

from protocol.errors import ServiceFailed, Unavailable
from protocol.formats.solution_rows import solution_rows
from protocol.sparql.guard import FetchRefused
from protocol.sparql.source import Source
from protocol.terms import is_triple
from protocol.time import Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import OWN_AT_ONCE, Budget
from spark_backend.compiler.plan import Plan
from spark_backend.compiler.services import ServiceCall
from spark_backend.evaluation.step import Due
from spark_backend.federation.records import Row, ServiceRecord, ServiceRecords
from spark_backend.files import DamagedDocument
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.spark.pipeline import Answering

ROWS_OF_REQUEST = 100
"""So many solutions are sent with a request, by VALUES."""


class ServiceSession(Protocol):
    """What a service is asked by at one instant, within limits of time and size that hold for all requests together."""

    def solutions(self, iri: str, query: str, variables: Sequence[str]) -> Sequence[Row]:
        """The solutions of a SELECT. Raises ServiceFailed."""


class OtherEndpoints(Protocol):
    """The endpoints that SERVICE may ask."""

    @property
    def limits(self) -> Sequence[str]:
        """What bounds a request, and what is kept of it, for a person."""

    def permits(self, iri: str) -> bool:
        """Whether the endpoint may be asked."""

    def session(self) -> ServiceSession: ...


class NoEndpoints:
    """There is none that may be asked."""

    limits = ()

    def permits(self, iri: str) -> bool:
        return False

    def session(self) -> ServiceSession:
        raise ServiceFailed("no other endpoint may be asked")


class FederatedEvaluations:
    """Evaluates as ``evaluations`` do, queries with SERVICE over records of what services gave.

    Of these, so many are evaluated at once as have lanes of their own; services are asked besides.
    """

    def __init__(
        self, evaluations: Answering, registry: Registry, records: ServiceRecords, endpoints: OtherEndpoints
    ) -> None:
        self._evaluations = evaluations
        self._registry = registry
        self._records = records
        self._endpoints = endpoints
        self._evaluating = threading.BoundedSemaphore(OWN_AT_ONCE)
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def tried(self, due: Sequence[Due]) -> list[tuple[str, Answer]]:
        return self._evaluations.tried(due)

    def answers(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        """The answers in order; an error where a service failed. Raises Unavailable, also if the query has ended."""
        try:
            query = self._registry.read_prepared(prepared)
        except FileNotFoundError as error:
            raise Unavailable("the query has ended meanwhile") from error
        if not query.plan.services:
            yield from self._evaluations.answers(key, prepared, instants, budget)
            return
        failed: dict[Instant, Answer] = {}
        for number in range(len(query.plan.services)):
            for answer in self._recorded(key, query, number, [t for t in instants if t not in failed], budget):
                failed[answer.instant] = answer
        left = [instant for instant in instants if instant not in failed]
        given = self._evaluated(key, prepared, left, budget)
        yield from sorted([*failed.values(), *given], key=lambda answer: answer.instant)

    def ended(self, key: str) -> None:
        """A registration is no more: its records go."""
        self._records.forget(key)
        self._asking.pop(key, None)

    def _evaluated(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> list[Answer]:
        if not instants:
            return []
        with self._evaluating:
            return list(self._evaluations.answers(key, prepared, instants, budget))

    def _recorded(
        self, key: str, query: PreparedQuery, number: int, instants: Sequence[Instant], budget: Budget
    ) -> Iterator[Answer]:
        """See that there is a record of one service at each instant; the answers of the instants at which it failed."""
        call, bindings = query.plan.services[number].call, query.bindings[number]
        new = [instant for instant in instants if not self._records.has(key, instant, number)]
        given: dict[Instant, Sequence[Row]] = {}
        wrong = set()
        if bindings is not None:
            for answer in self._evaluated(key, bindings, new, budget):
                if answer.error is not None:
                    wrong.add(answer.instant)
                    yield answer
                else:
                    given[answer.instant] = _terms(answer, call.given)
        for instant in instants:
            if instant in wrong:
                continue
            with self._asking[key]:
                if not self._records.has(key, instant, number):
                    record = self._ask(call, given.get(instant, ((),)))
                    record = replace(record, rows=_own_nodes(record.rows, f"{key} {instant} {number}"))
                    self._records.write(key, instant, number, record)
            try:
                failure = self._records.read(key, instant, number).failed
            except FileNotFoundError as error:
                raise Unavailable("the query has ended meanwhile, or its instant is held no more") from error
            except DamagedDocument as error:
                failure = f"the record of what SERVICE gave is damaged: {error}"
            if failure is not None:
                yield Answer(instant, error=failure)

    def _ask(self, call: ServiceCall, given: Sequence[Row]) -> ServiceRecord:
        """What a service gives for these terms (one row of none where it is given none)."""
        session = self._endpoints.session()
        rows: list[Row] = []
        try:
            if call.variable is None:
                rows += self._of_address(session, call, f"<{call.service}>", given)
            else:
                place = call.given.index(call.variable)
                for address, some in groupby(sorted(given, key=lambda row: row[place] or ""), lambda row: row[place]):
                    rows += self._of_address(session, call, address or "", list(some))
        except ServiceFailed as error:
            return ServiceRecord(failed=error.detail)
        return ServiceRecord(rows)

    def _of_address(self, session: ServiceSession, call: ServiceCall, address: str, given: Sequence[Row]) -> list[Row]:
        """What one endpoint gives for these terms. Raises ServiceFailed."""
        # A blank node of ours is no node there, and triple terms are not read: but what the service gives has a term
        # of these variables in each solution.
        sent = [
            row for row in given if not any(term is None or term.startswith("_:") or is_triple(term) for term in row)
        ]
        found: list[Row] = []
        try:
            if call.variable is not None and not address.startswith("<"):
                raise ServiceFailed(f"SERVICE ?{call.variable}: {address} is no address")
            for first in range(0, len(sent), ROWS_OF_REQUEST):
                found += self._of_request(session, call, address, sent[first : first + ROWS_OF_REQUEST], first)
        except ServiceFailed as error:
            if call.silent:
                return [tuple(address if name == call.variable else None for name in call.variables)]
            raise ServiceFailed(f"SERVICE {address} failed: {error.detail}") from error
        return found

    def _of_request(
        self, session: ServiceSession, call: ServiceCall, address: str, given: Sequence[Row], number: int
    ) -> Iterator[Row]:
        """What one request gives: the solutions with terms that were sent. Raises ServiceFailed."""
        query = call.request([tuple(term or "" for term in row) for row in given])
        asked = frozenset(given)
        certain = [call.variables.index(name) for name in call.certain]
        places = [call.variables.index(name) for name in call.given]
        for found in session.solutions(address[1:-1], query, call.variables):
            row = tuple(
                address if name == call.variable and term is None else term
                for name, term in zip(call.variables, found, strict=True)
            )
            for place in certain:
                if row[place] is None:
                    raise ServiceFailed(f"it gave a solution without ?{call.variables[place]}, which cannot be")
            if not places or tuple(row[place] for place in places) in asked:
                yield _apart(row, number, address)


def require_permitted(plan: Plan, text: str, endpoints: OtherEndpoints) -> None:
    """Raises FetchRefused, with the place in the query's text, for a service that may not be asked."""
    for service in plan.services:
        call = service.call
        if call.variable is None and not endpoints.permits(call.service):
            raise Source(text).error(
                f"SERVICE is refused: this server may not fetch <{call.service}> (the setting allow_fetch names what "
                "it may)",
                call.place or 0,
                FetchRefused,
            )


def _terms(answer: Answer, variables: Sequence[str]) -> list[Row]:
    """The solutions of an answer, as terms."""
    head = ", ".join(f'"{name}"' for name in variables).encode()
    lines = b",".join(answer.solutions)
    return solution_rows(b'{"head":{"vars":[%b]},"results":{"bindings":[%b]}}' % (head, lines), variables)


def _apart(row: Row, request: int, address: str) -> Row:
    """The solution with blank nodes that no other request has given."""
    return tuple(f"{term} {request} {address}" if term is not None and term.startswith("_:") else term for term in row)


def _own_nodes(rows: Iterable[Row], of: str) -> list[Row]:
    """The solutions with blank nodes that nobody else has, the same ones for the same."""
    return [
        tuple(
            f"_:s{hashlib.sha256(f'{of} {term}'.encode()).hexdigest()[:32]}"
            if term is not None and term.startswith("_:")
            else term
            for term in row
        )
        for row in rows
    ]
