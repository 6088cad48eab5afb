"""Standard SPARQL text to the compiler's algebra, by way of rdflib's parser and its translation: query forms (18.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import rdflib
from rdflib.plugins.sparql.parserutils import CompValue

from protocol.grammar.describe import described
from protocol.language import algebra as a
from protocol.language.model import Form
from spark_backend.compiler.algebra.marks import number_hidden
from spark_backend.compiler.reading.from_rdflib import part_of, pattern_of, value_under, variable_of
from spark_backend.compiler.reading.order_of_appearance import variables_in_order
from spark_backend.compiler.reading.parsing import parsed_query


def translate(text: str, form: Form, base: str | None = None) -> a.Query:
    """The algebra of a standard SPARQL query.

    Raises QuerySyntaxError where rdflib's parser fails, UnsupportedFeature naming what is not compiled (``refusals``).
    """
    parsed, query = parsed_query(text, base)
    bases = [str(node.iri) for node in parsed[0] if node.name == "Base"]
    return replace(_translated(text, form, parsed, query), base=bases[-1] if bases else None)


def _translated(text: str, form: Form, parsed: Any, query: CompValue) -> a.Query:
    if form is Form.DESCRIBE:
        return _described(parsed[1], query.p)
    pattern = number_hidden(pattern_of(query.p))
    if form is Form.CONSTRUCT:
        template = query.template
        if getattr(parsed[1].where, "name", "") == "FakeGroupGraphPatten":  # CONSTRUCT WHERE {…} (16.2.4)
            template = _triples_of(query.p)
        # rdflib names blank nodes anew at every parse; theirs are the same for the same text.
        blanks: dict[rdflib.BNode, rdflib.BNode] = {}
        for part in (part for triple in template or () for part in triple if isinstance(part, rdflib.BNode)):
            blanks.setdefault(part, rdflib.BNode(f"b{len(blanks)}"))
        parts = tuple(
            (part_of(blanks.get(s, s)), part_of(blanks.get(p, p)), part_of(blanks.get(o, o)))
            for s, p, o in template or ()
        )
        names = sorted(a.in_scope(_projected(pattern)), key=lambda variable: variable.name)
        return a.Query(_reprojected(pattern, tuple(names)), tuple(names), parts)
    variables = tuple(dict.fromkeys(map(variable_of, query.PV or ())))
    if form is Form.ASK:
        variables = tuple(sorted(a.in_scope(pattern), key=lambda variable: variable.name))
    elif parsed[1].projection is None:  # SELECT *: rdflib's set of variables is in no order, and misses some
        place = variables_in_order(text)
        scope = a.in_scope(_projected(pattern))
        variables = tuple(sorted(scope, key=lambda variable: (place.get(variable.name, len(place)), variable.name)))
    return a.Query(_reprojected(pattern, variables), variables)


def _described(parsed: Any, node: CompValue | None) -> a.Query:
    resources = tuple(dict.fromkeys(map(part_of, parsed.var)))
    if node is None:
        return described(None, resources)
    pattern = number_hidden(pattern_of(node))
    names = tuple(sorted(a.in_scope(_projected(pattern)), key=lambda variable: variable.name))
    # rdflib makes it DISTINCT, under LIMIT and OFFSET: those are of the solutions as they are.
    cut = pattern if isinstance(pattern, a.Slice) else None
    pattern = a.Project(_projected(pattern), names)
    if cut is not None:
        pattern = a.Slice(pattern, cut.offset, cut.limit)
    return described(pattern, resources or names)  # DESCRIBE *


def _projected(pattern: a.Pattern) -> a.Pattern:
    """What the outermost projection projects."""
    while isinstance(pattern, a.Slice | a.Distinct):
        pattern = pattern.pattern
    return pattern.pattern if isinstance(pattern, a.Project) else pattern


def _reprojected(pattern: a.Pattern, variables: tuple[a.Variable, ...]) -> a.Pattern:
    """The same pattern with its outermost projection replaced: rdflib's is in no particular order."""
    if isinstance(pattern, a.Project):
        return a.Project(pattern.pattern, variables)
    if isinstance(pattern, a.Distinct):
        return a.Distinct(_reprojected(pattern.pattern, variables))
    if isinstance(pattern, a.Slice):
        return a.Slice(_reprojected(pattern.pattern, variables), pattern.offset, pattern.limit)
    return a.Project(pattern, variables)


def _triples_of(node: CompValue) -> list[tuple[Any, Any, Any]]:
    triples: list[tuple[Any, Any, Any]] = []
    if node.name == "BGP":
        triples.extend(node.triples)
    for key in ("p", "p1", "p2"):
        if isinstance(value_under(node, key), CompValue):
            triples.extend(_triples_of(node[key]))
    return triples
