"""Rows of terms to solutions as text: SPARQL JSON bindings, and the triples of CONSTRUCT and DESCRIBE.

Serialised once, here: the sink and the listeners pass these strings on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from protocol.terms import term_to_json
from protocol.time import Instant


def bindings(keys: Sequence[str], columns: Sequence[Sequence[str | None]], count: int) -> list[str]:
    """Solution mappings as JSON objects (SPARQL 1.1 Query Results JSON Format, 3.2): ``count`` of them, by column.

    ``keys`` are the variables' names as JSON strings; unbound ones are left out of their objects.
    """
    written = [
        ["" if term is None else f"{key}:{_write(term)}" for term in column]
        for key, column in zip(keys, columns, strict=True)
    ]
    if not written:
        return ["{}"] * count
    if any("" in column for column in written):
        return ["{" + ",".join(filter(None, row)) + "}" for row in zip(*written, strict=True)]
    return ["{" + ",".join(row) + "}" for row in zip(*written, strict=True)]


def _write(term: str) -> str:
    if "\\" not in term and term.isprintable():  # nothing to escape, in either format
        if term[0] == "<":
            return f'{{"type":"uri","value":"{term[1:-1]}"}}'
        if term[0] == "_":
            return f'{{"type":"bnode","value":"{term[2:]}"}}'
        if term[0] == '"':
            lexical, typed, datatype = term[1:-1].rpartition('"^^<')
            if typed:
                return f'{{"type":"literal","value":"{lexical}","datatype":"{datatype}"}}'
            lexical, _, language = term[1:].rpartition('"')
            if not language:
                return f'{{"type":"literal","value":"{lexical}"}}'
            return f'{{"type":"literal","value":"{lexical}","xml:lang":"{language[1:]}"}}'
    return json.dumps(term_to_json(term), ensure_ascii=False, separators=(",", ":"))


def descriptions(rows: Sequence[Sequence[str | None]]) -> tuple[list[str], list[str]]:
    """The solutions of a DESCRIBE and the triples of each, from rows (resource, subject, predicate, object).

    A solution is a resource and a digest of its description, as a JSON object: one whose description has changed
    is another solution to ISTREAM and DSTREAM (docs/model.md, "Streaming operators"). Its triples are N-Triples lines,
    in order.
    """
    by_resource: dict[str, list[str]] = {}
    for resource, *triple in rows:
        by_resource.setdefault(str(resource), []).append(f"{' '.join(map(str, triple))} .")
    triples = ["\n".join(sorted(lines)) for lines in by_resource.values()]
    digests = (hashlib.sha256(text.encode()).hexdigest()[:32] for text in triples)
    solutions = [
        f'{{"resource":{_write(resource)},"description":"{digest}"}}'
        for resource, digest in zip(by_resource, digests, strict=True)
    ]
    return solutions, triples


def instantiate(
    template: Sequence[tuple[str, str, str]],
    variables: Sequence[str],
    row: Sequence[str | None],
    *,
    query: str,
    instant: Instant,
    place: int,
) -> str:
    """The template's triples for one solution as N-Triples lines (SPARQL 1.1 Query section 16.2).

    Triples with an unbound part or a literal where none may stand are left out. Blank nodes are fresh
    for each solution, named after the query, the instant and the solution's place: the same at every replay.
    """
    bound = dict(zip((f"?{variable}" for variable in variables), row, strict=True))
    lines = []
    for parts in template:
        terms = []
        for position, part in enumerate(parts):
            if part.startswith("_:"):
                digest = hashlib.sha256(f"{query} {instant} {place} {part}".encode()).hexdigest()
                term: str | None = f"_:c{digest[:24]}"
            else:
                term = bound.get(part) if part.startswith("?") else part
            if term is None or (position == 0 and term[0] == '"') or (position == 1 and term[0] != "<"):
                break
            terms.append(term)
        else:
            lines.append(f"{terms[0]} {terms[1]} {terms[2]} .")
    return "\n".join(lines)
