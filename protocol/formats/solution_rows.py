"""SPARQL 1.1 Query Results JSON as rows of terms."""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyoxigraph import QueryResultsFormat, QuerySolutions, Triple, parse_query_results

from protocol.formats.json.depth import check_json_depth
from protocol.formats.long_tokens import LONG_TOKEN, is_long_token


def solution_rows(document: bytes, variables: Sequence[str]) -> list[tuple[str | None, ...]]:
    """The solutions of a SELECT: of each the terms of these variables, canonical N-Triples, None where unbound.

    Raises SyntaxError for what is no such document, and for a triple term, which is no term of SPARQL 1.1.
    """
    check_json_depth(document)
    try:
        return _rows(document, variables)
    except SyntaxError:
        # Oxigraph takes nothing behind the bindings, where other endpoints tell of other things, nor a head without
        # vars, as Comunica writes it of a pattern without variables.
        bare = _without_others(document)
        if bare is None:
            raise
        return _rows(bare, variables)


def _without_others(document: bytes) -> bytes | None:
    """The document without members that are not the standard's, and with those that are; None if it is so already, or
    not of this kind.
    """
    try:
        members = json.loads(document)
        bare = {"head": {"vars": [], **members["head"]}, "results": {"bindings": members["results"]["bindings"]}}
    except (ValueError, TypeError, LookupError):
        return None
    return None if members == bare else json.dumps(bare, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _rows(document: bytes, variables: Sequence[str]) -> list[tuple[str | None, ...]]:
    try:
        results = parse_query_results(document, QueryResultsFormat.JSON)
        if not isinstance(results, QuerySolutions):
            raise SyntaxError("it is the answer to an ASK, not to a SELECT")
        named = [variable.value for variable in results.variables]
        places = [named.index(name) if name in named else None for name in variables]
        rows = []
        for solution in results:
            terms = [None if place is None else solution[place] for place in places]
            if any(isinstance(term, Triple) for term in terms):
                raise SyntaxError("it has a triple term")
            rows.append(tuple(None if term is None else str(term) for term in terms))
        return rows
    except ValueError as error:
        raise SyntaxError(str(error)) from error
    except MemoryError as error:
        if not is_long_token(error):
            raise
        raise SyntaxError(LONG_TOKEN) from error
