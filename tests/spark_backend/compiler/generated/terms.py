"""Generated terms, graphs and datasets for the comparison with the one-shot engine.

Each value is written in one spelling only, the store's: the window keeps spellings apart, the store does not. Doubles
are sums of halves, so that no order of addition rounds. Terms are few and shared, so that patterns join.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.spark_backend.compiler.one_shot import Content

SUBJECTS = (":x", ":y", ":z", "_:n")
PREDICATES = (":p", ":q", ":r")
PLAIN = (
    "0",
    "1",
    "2",
    "1.5",
    "'2.5'^^xsd:double",
    "'-1.5'^^xsd:double",
    "'s'",
    "'t'",
    "'s'@en",
    "true",
    "'2020-01-01T00:00:00Z'^^xsd:dateTime",
    "'z'^^:dt",
    "'0.5'^^xsd:float",
)
RARE = (
    "10",
    "-1",
    "'1'^^xsd:decimal",
    "'2'^^xsd:double",
    "9007199254740993",
    "9223372036854775807",
    "'INF'^^xsd:double",
    "'-INF'^^xsd:double",
    "'NaN'^^xsd:double",
    "'-0'^^xsd:double",
    "'0'^^xsd:double",
    "'NaN'^^xsd:float",
    "0.12345678901234567",
    "''",
    "'1'",
    "'s t'",
    "'é\\n'",
    "'t'@en-gb",
    "'s'@fr",
    "false",
    "'abc'^^xsd:integer",
    "'maybe'^^xsd:boolean",
    "'2020-01-01T00:00:00'^^xsd:dateTime",
    "'2020-01-01T01:30:00+01:00'^^xsd:dateTime",
    "'2019-12-31T23:59:59.5Z'^^xsd:dateTime",
    "'2020-01-01'^^xsd:date",
    "'P1D'^^xsd:duration",
)
LITERALS = (*PLAIN, *RARE)
literals = st.one_of(st.sampled_from(PLAIN), st.sampled_from(RARE))
constants = st.one_of(st.sampled_from((":x", ":y")), literals)

_objects = st.one_of(st.sampled_from((*SUBJECTS, ":x", ":y", "_:o")), literals)
_triples = st.tuples(st.sampled_from(SUBJECTS), st.sampled_from(PREDICATES), _objects).map(" ".join)
graphs = st.lists(_triples, max_size=7).map(lambda triples: "".join(f"{triple} . " for triple in triples))
"""A graph in Turtle, with blank nodes that other graphs of the dataset have too."""

contents = st.builds(
    lambda window, first, second, default, named: Content(
        {None: window, "http://ex/w1": first, "http://ex/w2": second}, {None: default, "http://ex/g1": named}
    ),
    graphs,
    graphs,
    graphs,
    graphs,
    graphs,
)
"""A window in the default graph, two that are named graphs, and the store's default graph and a named graph."""
