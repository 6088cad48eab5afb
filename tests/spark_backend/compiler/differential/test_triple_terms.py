"""Triple terms and base directions (RDF 1.2) in windows, against the one-shot engine."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.spark_backend.compiler.generated.triple_terms import graphs, queries
from tests.spark_backend.compiler.one_shot import (
    INSTANT,
    Content,
    asked,
    assert_same_solutions,
    constructed,
    evaluated,
    turtle,
)

ONE = Content(
    {
        None: """
:a :says <<( :x :p 1 )>>, <<( :x :p 2 )>>, <<( :y :q <<( :x :p 1 )>> )>>, 'plain', <<( :z :p :x )>> .
:a :says <<( _:b :p _:b )>> .
:x :p 1 . :y :p 2 . << :x :p 1 ~ :r1 >> :by :me . :d :said <<( :x :p '1'^^xsd:decimal )>> . :me :p 5 .
:s :t 'h'@en--ltr, 'h'@en, 'h'@ar--rtl, 'h', <<( :s :t 'h'@en--ltr )>> .
"""
    }
)
PATTERNS = {
    "variables in a term": "SELECT * {?w :says <<( ?s ?p ?o )>>}",
    "a constant in a term": "SELECT * {?w :says <<( :x :p ?o )>>}",
    "a term without variables": "SELECT * {?w :says <<( :x :p 1 )>>}",
    "joined on parts": "SELECT * {?w :says <<( ?s :p ?o )>> . ?s :p ?o}",
    "a term in a term": "SELECT * {?w :says <<( ?s ?q <<( ?s2 :p ?o )>> )>>}",
    "a variable twice in a term": "SELECT * {?w :says <<( ?s :p ?s )>>}",
    "blank nodes in a term": "SELECT * {?x :says <<( [] :p _:b )>>}",
    "a term as subject, which none is": "SELECT * {<<( ?a :b ?c )>> :p ?x}",
    "a term as subject of a term": "SELECT * {?x :says <<( <<( ?a :b ?c )>> :p 'x' )>>}",
    "a term at the end of a path": "SELECT * {?w :says/:nope* <<( ?s ?p ?o )>>}",
    "a reified triple": "SELECT * {<< ?s ?p ?o >> :by ?w}",
    "a reified triple with its reifier": "SELECT * {<< ?s ?p ?o ~ ?r >> :by ?w}",
    "an annotation": "SELECT * {?s ?p ?o {| :by ?w |}}",
    "a reifier": "SELECT * {?s ?p ?o ~ ?r}",
    "a reifier and an annotation": "SELECT * {?s ?p ?o ~ ?r {| :by ?w |}}",
    "in EXISTS": "SELECT * {?s ?p ?o FILTER EXISTS {?w :says <<( ?s ?p ?o )>>}}",
    "in NOT EXISTS": "SELECT * {?s ?p ?o FILTER NOT EXISTS {?w :says <<( ?s ?p ?o )>>}}",
    "in EXISTS row by row": "SELECT * {?s ?p ?o FILTER EXISTS {?w :says <<( ?s ?p ?o )>> FILTER(?p = :p && ?w != ?s)}}",
    "in EXISTS with what may be unbound": "SELECT * {?s ?p ?o OPTIONAL {?s :by ?v} "
    "FILTER EXISTS {?w :says <<( ?s ?q ?v )>> FILTER(?v != ?p)}}",
    "in OPTIONAL": "SELECT * {?s ?p ?o OPTIONAL {?w :says <<( ?s ?p ?o )>>}}",
    "in MINUS": "SELECT * {?s ?p ?o MINUS {?w :says <<( ?s ?p ?o )>>}}",
    "in VALUES": "SELECT * {VALUES ?t {<<( :x :p 1 )>> 'h'@en--ltr} ?s ?p ?t}",
    "the part of a term that is none, where others are looked at first": "SELECT * {?x ?u ?u FILTER(SUBJECT(?u))}",
    "a filter on a part": "SELECT * {?w :says <<( ?s :p ?o )>> FILTER(?o > 1)}",
    "subjects in terms compared": "SELECT * {?w :says <<( ?s ?p ?o )>> . ?x ?q ?y FILTER(?s = ?x && ?p != ?y)}",
    "subjects in terms compared in EXISTS": "SELECT * {?x ?q ?s FILTER EXISTS {?w :says <<( ?s ?p ?o )>> "
    "FILTER(?s = ?x || ?p >= ?q)}}",
    "grouped by a part": "SELECT ?s (COUNT(?o) AS ?n) {?w :says <<( ?s ?p ?o )>>} GROUP BY ?s",
    "the functions of parts": "SELECT * {?w :says ?t BIND(SUBJECT(?t) AS ?s) BIND(PREDICATE(?t) AS ?p) "
    "BIND(OBJECT(?t) AS ?o)}",
    "TRIPLE": "SELECT (TRIPLE(?s, ?p, ?o) AS ?t) {?s ?p ?o}",
    "TRIPLE of what makes none": "SELECT (TRIPLE(?o, ?p, ?s) AS ?t) (TRIPLE(?s, ?o, ?p) AS ?u) {?s ?p ?o}",
    "a term in an expression": "SELECT * {?s ?p ?o BIND(<<( ?s ?p ?o )>> AS ?t) FILTER(sameTerm(?t, <<( :x :p 1 )>>))}",
    "isTRIPLE": "SELECT * {?s ?p ?o FILTER(isTRIPLE(?o))}",
    "parts of parts": "SELECT (STR(SUBJECT(OBJECT(?o))) AS ?a) (CONCAT(STR(OBJECT(?o)), 'x') AS ?b) {?s :says ?o}",
    "=": "SELECT * {?s ?p ?o . ?s2 ?p2 ?o2 FILTER(?o = ?o2)}",
    "!=": "SELECT * {?s ?p ?o . ?s2 ?p2 ?o2 FILTER(?o != ?o2)}",
    "<": "SELECT * {?s ?p ?o . ?s2 ?p2 ?o2 FILTER(?o < ?o2)}",
    "= a term": "SELECT * {?s ?p ?o FILTER(?o = <<( :x :p 1 )>>)}",
    "IN": "SELECT * {?s ?p ?o FILTER(?o IN (<<( :x :p 1 )>>, 2))}",
    "the least and the greatest": "SELECT (MIN(?o) AS ?least) (MAX(?o) AS ?most) {?s :says ?o FILTER(isTRIPLE(?o) && "
    "!isBLANK(SUBJECT(?o)))}",
    "language and direction": "SELECT ?o (LANG(?o) AS ?l) (LANGDIR(?o) AS ?d) (hasLANG(?o) AS ?h) "
    "(hasLANGDIR(?o) AS ?i) (DATATYPE(?o) AS ?t) (isLITERAL(?o) AS ?k) {?s :t ?o}",
    "functions of strings with a direction": "SELECT (STRLANGDIR(STR(?o), 'en', 'rtl') AS ?l) (UCASE(?o) AS ?u) "
    "(CONCAT(?o, ?o) AS ?c) (STRLEN(?o) AS ?n) {?s :t ?o}",
    "a string with a direction": "SELECT * {?s ?p 'h'@en--ltr}",
}


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
def test_a_pattern_over_a_window_gives_what_it_gives_one_shot(text: str) -> None:
    assert_same_solutions(text, ONE)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS.keys())
def test_a_pattern_over_window_and_store_gives_what_it_gives_one_shot(text: str) -> None:
    window, store = ":a :says <<( :x :p 1 )>> . :s :t 'h'@en--ltr .", ":x :p 1, 2 . :b :says <<( :x :p 2 )>> ."
    assert_same_solutions(text, Content({None: window}, {None: store}))


def test_triple_terms_are_ordered_by_their_parts() -> None:
    content = Content(
        {
            None: ":s :p <<( :a :b 2 )>>, <<( :a :b 10 )>>, <<( :a :b -1.5 )>>, <<( :a :b 'x' )>>, <<( :a :b 'xy' )>>, "
            "<<( :a :b :z )>>, <<( :b :b 1 )>>, <<( :a :a 5 )>>, <<( :a :b <<( :a :b 1 )>> )>>, 'x', :i ."
        }
    )
    assert_same_solutions("SELECT ?o {:s :p ?o} ORDER BY ?o", content, ordered=True)
    assert_same_solutions("SELECT ?o {:s :p ?o} ORDER BY DESC(?o)", content, ordered=True)


def test_a_template_has_triple_terms_and_reifies_triples() -> None:
    template = "?w :q <<( ?s ?p <<( ?o :r [] )>> )>> . << ?s ?p ?o ~ ?w >> :from ?w"
    text = f"CONSTRUCT {{{template}}} WHERE {{?w :said <<( ?s ?p ?o )>>}}"
    of_literal = constructed(text, Content({None: ":w :said <<( :a :b 1 )>> ."}))
    assert not any("<http://ex/q>" in line for line in of_literal)  # it is no subject
    assert len(of_literal) == 2
    found = constructed(text, Content({None: ":w :said <<( :a :b :c )>> ."}))
    reified, said = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>", "<http://ex/from>"
    assert f"<http://ex/w> {reified} <<( <http://ex/a> <http://ex/b> <http://ex/c> )>> ." in found
    assert f"<http://ex/w> {said} <http://ex/w> ." in found
    (nested,) = (line for line in found if "<http://ex/q>" in line)
    assert nested.startswith(
        "<http://ex/w> <http://ex/q> <<( <http://ex/a> <http://ex/b> <<( <http://ex/c> <http://ex/r> _:c"
    )


def test_construct_where_is_its_own_template() -> None:
    data = ":w :says <<( :a :b 1 )>> ."
    found = constructed("CONSTRUCT WHERE {?w :says <<( ?s ?p ?o )>>}", Content({None: data}))
    assert found == {f"{' '.join(triple)} ." for triple in turtle(data)}


def test_triple_terms_with_blank_nodes_are_compared_by_value() -> None:
    terms = "<<( _:b :q 1 )>>, <<( _:b :q '1'^^xsd:decimal )>>, <<( _:b :q 2 )>>, <<( _:c :q 1 )>>"
    content = Content({None: f":a :p {terms} ."})
    assert_same_solutions("SELECT * {:a :p ?x . :a :p ?y FILTER(?x = ?y)}", content)
    assert_same_solutions("SELECT * {:a :p ?x . :a :p ?y FILTER(?x < ?y)}", content)


def test_a_template_without_variables_is_there_once_there_is_a_solution() -> None:
    text = "CONSTRUCT {<< :a :b :c ~ :r >> :q :z} WHERE {}"
    assert len(constructed(text, ONE)) == 2


def test_ask() -> None:
    assert asked("ASK {:a :says <<( ?x :p ?x )>>}", ONE)
    assert not asked("ASK {:a :says <<( ?x :q ?x )>>}", ONE)


def test_the_lexical_form_within_a_term_is_that_of_the_stream() -> None:
    content = Content({None: ":a :says <<( :x :p '01'^^xsd:integer )>> ."})
    _, answers = evaluated("SELECT ?t (STR(OBJECT(?t)) AS ?o) {?s :says ?t}", content)
    assert answers[INSTANT] == [
        ('<<( <http://ex/x> <http://ex/p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> )>>', '"01"')
    ]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(queries, graphs, st.one_of(st.just(""), graphs))
def test_a_generated_query_gives_what_it_gives_one_shot(text: str, window: str, store: str) -> None:
    assert_same_solutions(text, Content({None: window}, {None: store}))
