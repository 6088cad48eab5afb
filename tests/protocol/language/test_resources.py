"""Variables that are no literals, whatever a pattern matches."""

from __future__ import annotations

import random

import pyoxigraph as ox
import pytest

from protocol.errors import ProtocolError
from protocol.grammar.parser import read_query
from protocol.language.resources import resources_of

PREFIX = "PREFIX : <http://e/> "
RESOURCES = [
    ("", ""),
    ("?s ?p ?o", "ps"),
    (":a ?p ?o . ?o :q ?v", "op"),
    ("?s :p/^:q ?o", "os"),
    ("?s :p+ ?o", "s"),
    ("?s (^:p)+ ?o", "o"),
    ("?s (:p|:q)+ ?o", "s"),
    ("?s (:p|^:q)+ ?o", ""),
    ("?s :p* ?o", ""),
    ("?s :p? ?o", ""),
    ("?s !(:p|^:q) ?o", ""),
    ("?s !:p ?o", "s"),
    ("GRAPH ?g { ?s :p ?o }", "gs"),
    ("{ ?s :p ?o } UNION { ?s ?p ?o }", "s"),
    ("{ ?s :p ?o } UNION { ?o :p ?s }", ""),
    ("{ ?s :p ?o } UNION { ?s :q ?o } UNION { ?v :r ?s }", ""),
    ("?s :p ?o OPTIONAL { ?o :q ?v }", "s"),
    ("OPTIONAL { ?s :p ?o } ?v :q ?s", "v"),
    ("?s :p ?o MINUS { ?o :q ?v }", "s"),
    ("?s :p ?o FILTER EXISTS { ?o :q ?v }", "s"),
    ("VALUES ?s { :a }", ""),
    ("VALUES ?s { :a 1 } ?s :p ?o", "s"),
    ("?s :p ?o BIND(?s AS ?v) BIND(?o AS ?w) BIND(STR(?s) AS ?x)", "sv"),
    ("BIND(?s AS ?v) ?s :p ?o", "s"),
    ("?v :q ?w BIND(?s AS ?x) ?s :p ?o", "sv"),
    (":a :p <<( ?s ?p ?o )>>", "ps"),
    ("?s :p <<( ?v :q <<( ?w ?p ?o )>> )>>", "psvw"),
    ("<< ?s :p ?o >> :q ?v", "s"),
    ("?v :q <<( ?s :p ?o )>> OPTIONAL { :a :q ?o }", "sv"),
    ("?v :q ?w BIND(SUBJECT(?w) AS ?s)", "v"),
    ("?v :q ?w BIND(SUBJECT(?w) AS ?s) FILTER(isTRIPLE(?w))", "v"),
    ("{ SELECT ?s { ?s ?p ?o } }", "s"),
    ("{ SELECT DISTINCT ?o ?p { ?s ?p ?o } ORDER BY ?o LIMIT 3 } ?s :q ?o", "ps"),
    ("{ SELECT ?s (COUNT(?p) AS ?n) (SAMPLE(?p) AS ?v) { ?s ?p ?o } GROUP BY ?s }", "s"),
    ("{ SELECT ?v ?w { ?s ?p ?o } GROUP BY (?s AS ?v) (?o AS ?w) }", "v"),
    ("{ SELECT ?p (?s AS ?v) { ?s ?p ?o } GROUP BY ?p VALUES ?s { 1 } }", "p"),
    ("{ SELECT (COUNT(?s) AS ?n) { ?s ?p ?o } }", ""),
]
"""Groups, and the variables that each of their solutions binds to no literal."""


def names_of(group: str) -> set[str]:
    variables = resources_of(read_query(f"{PREFIX} SELECT * {{ {group} BIND(1 AS ?one) }}").pattern)
    return {variable.name for variable in variables if not variable.name.startswith("_:")}


@pytest.mark.parametrize(
    ("group", "names"), [*RESOURCES, ("SERVICE :service { ?s ?p ?o }", ""), ("SERVICE ?s { ?o ?p ?v }", "")]
)
def test_what_every_solution_binds_to_no_literal(group: str, names: str) -> None:
    assert names_of(group) == set(names)


def test_a_chain_of_hundreds_is_no_deep_pattern() -> None:
    assert names_of("?o :p ?v " + "OPTIONAL { ?s :p ?o } " * 900 + "?s :q ?v") == {"o", "s"}
    assert names_of("{ ?s ?p ?o } UNION " * 900 + "{ ?s :p ?o }") == {"s"}


def test_no_solution_of_any_group_binds_one_to_a_literal() -> None:
    source, store = random.Random(0), ox.Store()
    nodes = [":a", ":p", ":q", "_:b"]
    objects = [*nodes, "1", "'x'", "<<( :a :p 1 )>>", "<<( _:b :q <<( :q :p :a )>> )>>"]
    for place in ("%s", "GRAPH :a { %s }", "GRAPH :g { %s }"):
        some = (" ".join(map(source.choice, (nodes, nodes[:3], objects))) for _ in range(9))
        store.update(f"{PREFIX} INSERT DATA {{ {place % ' . '.join(some)} }}")
    forms = ["{ %s } { %s }", "%s OPTIONAL { %s }", "%s MINUS { %s }", "{ %s } UNION { %s }"]
    groups, bound = [group for group, _ in RESOURCES], 0
    for _ in range(1_000):
        one, other, third = source.choices(groups, k=3)
        group = source.choice(forms) % (source.choice(forms) % (one, other), third)
        try:
            names = names_of(group)
            rows = store.query(f"{PREFIX} SELECT * {{ {group} }} LIMIT 200")
        except (ProtocolError, SyntaxError):  # a variable that is not new, or a key that the engine cannot name anew
            continue
        assert isinstance(rows, ox.QuerySolutions)
        for row in rows:
            assert all(isinstance(row[name], ox.NamedNode | ox.BlankNode) for name in names), group
            bound += len(names)
    assert bound > 4_000
