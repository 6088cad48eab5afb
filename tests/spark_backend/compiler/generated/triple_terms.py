"""Generated graphs with triple terms and base directions, and queries of them.

Literals are written in the store's spelling (``tests.spark_backend.compiler.generated.terms``).
"""

from __future__ import annotations

from hypothesis import strategies as st

_NODES = (":x", ":y", ":z")
_PREDICATES = (":p", ":q")
_VALUES = ("1", "2", "'s'", "'s'@en", "'s'@en--ltr", "'s'@en--rtl", "true", "'1.5'^^xsd:double")
_VARIABLES = ("?a", "?b", "?c", "?p")

_nodes, _predicates = st.sampled_from(_NODES), st.sampled_from(_PREDICATES)
_flat = st.one_of(_nodes, st.sampled_from(_VALUES))


def _term(subject: str, predicate: str, object: str) -> str:
    return f"<<( {subject} {predicate} {object} )>>"


_objects = st.recursive(_flat, lambda inner: st.builds(_term, _nodes, _predicates, inner), max_leaves=3)
_subjects = st.one_of(_nodes, st.just("_:n"))
_triples = st.builds(lambda s, p, o: f"{s} {p} {o} . ", _subjects, _predicates, _objects)
_reified = st.builds(lambda s, p, o, n: f"<< {s} {p} {o} >> :by {n} . ", _nodes, _predicates, _flat, _nodes)
graphs = st.lists(st.one_of(_triples, _triples, _reified), max_size=8).map("".join)
"""A graph in Turtle."""

_variables = st.sampled_from(_VARIABLES)
_places = st.one_of(_variables, _variables, _nodes)
_verbs = st.one_of(_variables, _predicates)
_asked = st.recursive(
    st.one_of(_variables, _variables, _flat), lambda inner: st.builds(_term, _places, _verbs, inner), max_leaves=3
)
_pattern = st.one_of(
    st.builds(lambda s, p, o: f"{s} {p} {o} . ", _places, _verbs, _asked),
    st.builds(lambda s, p, o, n: f"{s} {p} {o} {{| :by {n} |}} . ", _places, _verbs, _asked, _places),
    st.builds(lambda s, p, o, n: f"<< {s} {p} {o} >> :by {n} . ", _places, _verbs, _asked, _places),
)
_basic = st.lists(_pattern, min_size=1, max_size=2).map("".join)
_read = st.one_of(_variables, st.builds("{}({})".format, st.sampled_from(("SUBJECT", "OBJECT")), _variables))
_condition = st.one_of(
    st.builds("{} {} {}".format, _read, st.sampled_from(("=", "!=", "<", "<=")), st.one_of(_read, _flat)),
    st.builds("{}({})".format, st.sampled_from(("isTRIPLE", "hasLANGDIR", "isIRI", "BOUND")), _variables),
    st.builds("LANGDIR({}) = 'ltr'".format, _variables),
    st.builds("EXISTS {{ {} }}".format, _basic),
)
_group = st.one_of(
    _basic,
    st.builds("{} FILTER({})".format, _basic, _condition),
    st.builds("{} OPTIONAL {{ {} }}".format, _basic, _basic),
    st.builds("{} MINUS {{ {} }}".format, _basic, _basic),
    st.builds("{{ {} }} UNION {{ {} }}".format, _basic, _basic),
)
queries = st.one_of(
    st.builds("SELECT * {{ {} }}".format, _group),
    st.builds("SELECT (SUBJECT(?a) AS ?s) (TRIPLE(?a, :p, ?b) AS ?t) (LANGDIR(?b) AS ?d) {{ {} }}".format, _group),
    st.builds("SELECT ?a (COUNT(*) AS ?n) {{ {} }} GROUP BY ?a".format, _group),
)
"""Queries of such graphs."""
