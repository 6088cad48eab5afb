"""Rows of terms to solutions as text: SPARQL JSON bindings, and the triples of CONSTRUCT and DESCRIBE.

Serialised once, here: the sink and the listeners pass these strings on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from protocol.terms import TOO_DEEP, is_triple, term_to_json, triple_text
from protocol.time import Instant
from spark_backend.compiler.plan import TemplatePart, TemplateTriple

_TEXT = pa.large_string()


def bindings(keys: Sequence[str], columns: Sequence[pa.ChunkedArray], count: int) -> pa.LargeStringArray:
    """Solution mappings as JSON objects (SPARQL 1.1 Query Results JSON Format, 3.2): ``count`` of them, by column.

    ``keys`` are the variables' names as JSON strings; unbound ones are left out of their objects. Each object is a
    line. A term is written once, however many solutions it is in.
    """
    if not columns:
        return pa.array(["{}\n"] * count, _TEXT)
    always = columns[0].null_count == 0
    members = [
        _members(key, column, "," if place or not always else "")
        for place, (key, column) in enumerate(zip(keys, columns, strict=True))
    ]
    if not always:  # then the comma is taken away that comes first, whichever it is
        members = [pc.utf8_slice_codeunits(_side_by_side(members), 1)]
    return _side_by_side([pa.scalar("{", _TEXT), *members, pa.scalar("}\n", _TEXT)])


def _members(key: str, column: pa.ChunkedArray, before: str) -> pa.LargeStringArray:
    """The member of a variable in each object, with what is to be before it; null where it is unbound."""
    found = column.cast(_TEXT).combine_chunks().dictionary_encode()
    distinct = pa.array([f"{before}{key}:{_write(term)}" for term in found.dictionary.to_pylist()], _TEXT)
    return distinct.take(found.indices)


def _side_by_side(texts: Sequence[pa.LargeStringArray | pa.LargeStringScalar]) -> pa.LargeStringArray:
    """In each place the texts that are there, as one."""
    # Arrow has a separator, too, but drops a place where all are null when these are to be skipped.
    return pc.binary_join_element_wise(*texts, pa.scalar("", _TEXT), null_handling="replace", null_replacement="")


def _write(term: str) -> str:
    if "\\" not in term and term.isprintable():  # nothing to escape, in either format
        if term[0] == "<" and not is_triple(term):
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
            if "--" not in language:
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
    template: Sequence[TemplateTriple],
    variables: Sequence[str],
    row: Sequence[str | None],
    *,
    query: str,
    instant: Instant,
    place: int,
) -> str:
    """The template's triples for one solution as N-Triples lines (SPARQL 1.2 Query section 16.2).

    Triples with an unbound part, or with a literal or triple term where none may stand, are left out, also where they
    are within triple terms, and those that nest more deeply than streams take. Blank nodes are fresh for each solution,
    named after the query, the instant and the solution's place: the same at every replay.
    """
    bound = dict(zip((f"?{variable}" for variable in variables), row, strict=True))

    def terms(triple: TemplateTriple) -> tuple[str, str, str] | None:
        s, p, o = map(term, triple)
        fitting = s and p and o and not is_triple(s) and s[0] in "<_" and not is_triple(p) and p[0] == "<"
        return (s, p, o) if s and p and o and fitting and not TOO_DEEP.match(o) else None

    def term(part: TemplatePart) -> str | None:
        if not isinstance(part, str):
            within = terms(part)
            return None if within is None else triple_text(*within)
        if part.startswith("_:"):
            digest = hashlib.sha256(f"{query} {instant} {place} {part}".encode()).hexdigest()
            return f"_:c{digest[:24]}"
        return bound.get(part) if part.startswith("?") else part

    made = map(terms, template)
    return "\n".join(f"{triple[0]} {triple[1]} {triple[2]} ." for triple in made if triple is not None)
