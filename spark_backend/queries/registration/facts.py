"""Facts that queries read of definitions which others have registered (docs/language.md, "Facts").

What a query reads is settled when it is registered: the definitions that there are then, and none that come later. So
one that standing queries read can be neither deleted nor changed, and an answer stays a function of the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from protocol.errors import Conflict, ProtocolError, QuerySemanticError
from protocol.language.model import ContinuousQuery, Current
from spark_backend.queries.running_queries import RunningQueries, RunningQuery


def with_facts(
    query: ContinuousQuery, others: Mapping[str, ContinuousQuery]
) -> tuple[ContinuousQuery, tuple[str, ...]]:
    """The query with the facts that it reads of the ``others`` (by name) among its windows, and whose these are.

    Raises QuerySemanticError, with the place, for a name that none of them defines, or several.
    """
    defining = {name: other for name, other in sorted(others.items()) if other.defines is not None}
    read: dict[str, ContinuousQuery] = {}
    windows = list(query.windows)
    for current in query.currents:
        for name in _meant(current, defining):
            read[name] = defining[name]
            windows += [
                replace(
                    member,
                    graph=current.graph,
                    window=replace(member.window, report=current.report),
                    line=current.line,
                    column=current.column,
                )
                for member in defining[name].windows
            ]
    borrowed = (definition for other in read.values() for definition in other.definitions)
    found = replace(query, windows=tuple(windows), definitions=(*query.definitions, *borrowed))
    return found, tuple(read)


def _meant(current: Current, defining: Mapping[str, ContinuousQuery]) -> list[str]:
    """The names of the queries whose definitions are meant."""
    if current.name is None:
        found = list(defining)
    else:
        found = [name for name, query in defining.items() if query.defines and query.defines.name == current.name]
        found = found or [name for name, query in defining.items() if current.name in _names(name, query)]
    if not found:
        named = "is none" if current.name is None else f"is none named {current.name}"
        raise _error(
            current,
            f"there {named} among the definitions of facts that are registered ({_listed(defining)}): register it, "
            "or write CONSTRUCT FACT before the query",
        )
    if current.name is not None and len(found) > 1:
        raise _error(
            current,
            f"several queries define {current.name} ({', '.join(found)}): define it before the query that reads it",
        )
    return found


def _names(name: str, query: ContinuousQuery) -> set[str]:
    return {name} if query.registration is None else {name, query.registration.name}


def _listed(defining: Mapping[str, ContinuousQuery]) -> str:
    told = (
        f"{query.defines.name} of the query {name}" if query.defines and query.defines.name != name else name
        for name, query in defining.items()
    )
    return ", ".join(told) or "none yet"


def _error(current: Current, detail: str) -> ProtocolError:
    return QuerySemanticError(detail, line=current.line, column=current.column)


class FactReaders:
    """Who reads whose facts, among the running queries. Called under their lock."""

    def __init__(self, running: RunningQueries) -> None:
        self._running = running

    def of(self, name: str) -> list[RunningQuery]:
        """The queries that read the facts of this one."""
        return [running for running in self._running if name in running.reads]

    def require_unread(self, name: str) -> None:
        """Raises Conflict, naming them, if standing queries read the facts of this one."""
        readers = {running.name for running in self.of(name) if running.standing}
        readers |= {reader for reader, dormant in self._running.dormant.items() if name in dormant.reads}
        if readers:
            raise Conflict(f"the facts of the query {name} are read by {', '.join(sorted(readers))}: delete them first")

    def require_there(self, query: ContinuousQuery, reads: Sequence[str]) -> None:
        """Raises Conflict if a definition that the query reads has changed since it was looked for."""
        definitions = [known.query.defines for name in reads if (known := self._running.get(name)) is not None]
        if len(definitions) < len(reads) or any(one not in query.definitions for one in definitions):
            raise Conflict("definitions of facts that the query reads have just been changed: register it again")

    def check(self, name: str, query: ContinuousQuery) -> bool:
        """Whether the facts of the query of this name are gone or other ones once this one takes its place.

        Raises Conflict if standing queries read them.
        """
        known = self._running.get(name)
        if known is None or known.query.defines is None or _same_facts(known.query, query):
            return False
        self.require_unread(name)
        return True


def _same_facts(one: ContinuousQuery, other: ContinuousQuery) -> bool:
    streams = [[member.stream for member in query.windows] for query in (one, other)]
    return one.defines == other.defines and streams[0] == streams[1]
