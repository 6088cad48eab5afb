"""Triple terms, reified triples and annotations in the grammar (SPARQL 1.2 Query section 19.8)."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from protocol.errors import ExcludedByGrammar, ProtocolError, QuerySyntaxError
from protocol.grammar.one_shot import as_standard, exact_text
from protocol.grammar.parser import parse, read_query
from protocol.language.algebra import BGP, Call, Constant, Extend, Filter, TripleTerm, Variable, nodes
from protocol.language.model import ContinuousQuery

PREFIX = "PREFIX : <http://ex/> "
REIFIES = Constant("<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>")


def triples(pattern: str) -> set[tuple[object, ...]]:
    """The triple patterns of a query's WHERE."""
    query = read_query(f"{PREFIX}SELECT * {{ {pattern} }}")
    found = [node for node in nodes(query.pattern) if isinstance(node, BGP)]
    return {(one.subject, one.predicate, one.object) for bgp in found for one in bgp.triples}


def test_a_term_without_variables_is_a_constant() -> None:
    ((_, _, term),) = triples("?s :p <<( :a :b <<( :c a 'x'@ar--rtl )>> )>>")
    inner = '<<( <http://ex/c> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> "x"@ar--rtl )>>'
    assert term == Constant(f"<<( <http://ex/a> <http://ex/b> {inner} )>>")


def test_a_term_with_variables_is_unfolded() -> None:
    query = read_query(f"{PREFIX}SELECT * {{ ?s :p <<( ?a :b ?s )>> }}")
    assert set(query.variables) == {Variable("s"), Variable("a")}
    found = list(nodes(query.pattern))
    (extended,) = (node for node in found if isinstance(node, Extend))
    assert extended.variable == Variable("a")
    conditions = {node.name for one in found if isinstance(one, Filter) for node in nodes(one.condition)
                  if isinstance(node, Call)}  # fmt: skip
    assert conditions == {"&&", "ISTRIPLE", "SAMETERM", "PREDICATE", "OBJECT"}


@pytest.mark.parametrize(
    "written",
    [
        "<< :a :b :c ~ :r >> :by :me",
        ":a :b :c ~ :r {| :by :me |}",
        ":a :b :c ~ :r . :r :by :me",
        "<< :a :b :c ~ :r >> . :r :by :me",
    ],
)
def test_what_is_said_of_a_triple_is_said_of_its_reifier(written: str) -> None:
    reifier, term = Constant("<http://ex/r>"), Constant("<<( <http://ex/a> <http://ex/b> <http://ex/c> )>>")
    found = triples(written)
    assert (reifier, REIFIES, term) in found
    assert (reifier, Constant("<http://ex/by>"), Constant("<http://ex/me>")) in found
    asserted = Constant("<http://ex/a>"), Constant("<http://ex/b>"), Constant("<http://ex/c>")
    assert (asserted in found) is not written.startswith("<<")


def test_each_annotation_without_a_reifier_has_one_of_its_own() -> None:
    found = triples(":a :b :c {| :p 1 |} {| :p 2 |}")
    assert len({subject for subject, predicate, _ in found if predicate == REIFIES}) == 2


def test_a_template_keeps_the_terms_that_it_has() -> None:
    query = read_query(f"{PREFIX}CONSTRUCT {{ ?s :p <<( ?s :q _:n )>> }} {{ ?s :p ?o }}")
    assert query.template is not None
    ((_, _, term),) = query.template
    assert isinstance(term, TripleTerm)
    assert term.subject == Variable("s")


@pytest.mark.parametrize(
    "pattern",
    [
        "<<( ?s ?p ?o )>> .",
        "?s ?p <<( ?s :p/:q ?o )>>",
        "?s :p/:q ?o {| :by :me |}",
        "?s :p <<( ( 1 ) :p ?o )>>",
        "VALUES ?t { <<( ?s :p 1 )>> }",
        "VALUES ?t { <<( 'x' :p 1 )>> }",
        "BIND(<<( [] :p 1 )>> AS ?t)",
        "BIND(<< :s :p 1 >> AS ?t)",
        "?s ?p 'x'@en--up",
    ],
)
def test_what_is_no_triple_term_is_refused_at_its_place(pattern: str) -> None:
    with pytest.raises(QuerySyntaxError) as raised:
        read_query(f"{PREFIX}SELECT * {{ {pattern} }}")
    assert raised.value.column is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(COUNT(*)) AS ?n) {}",
        "SELECT (SUM(ABS(1) + MAX(?x)) AS ?n) { ?s ?p ?x }",
        "SELECT * { BIND(<<( 'x' <u:p> 1 )>> AS ?t) }",
        "SELECT * { BIND(<<( <<( <u:s> <u:p> 1 )>> <u:p> 1 )>> AS ?t) }",
    ],
)
def test_what_only_oxigraph_reads_is_refused(text: str) -> None:
    with pytest.raises(ExcludedByGrammar):
        exact_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) (SUM(?x) AS ?m) { ?s ?p ?x }",
        "SELECT * { ?s ?p <<( <<( <u:s> <u:p> 1 )>> <u:p> 1 )>> }",
        "SELECT (COUNT(*) AS ?n) (SUM(?x AS ?m) { ?s ?p ?x }",
    ],
)
def test_what_else_there_is_is_left_to_the_engine(text: str) -> None:
    assert exact_text(text)


def test_the_version_says_nothing_of_the_query() -> None:
    text = "VERSION \"1.2\" PREFIX : <http://ex/> VERSION '1.1' SELECT * FROM STREAM :s [RANGE 1s] { ?s ?p ?o }"
    assert isinstance(parse(text), ContinuousQuery)
    for wrong in ("VERSION 1.2", 'VERSION """1.2"""'):
        with pytest.raises(ProtocolError, match="a version in quotation marks"):
            parse(f"{wrong} SELECT * FROM STREAM <u:s> [RANGE 1s] {{ ?s ?p ?o }}")


def test_less_than_before_an_iri_is_a_comparison() -> None:
    query = parse("SELECT * FROM STREAM <u:s> [RANGE 1s] { ?s ?p ?o FILTER(?o<<u:x>) }")
    assert isinstance(query, ContinuousQuery)
    assert any(isinstance(node, Call) and node.name == "<" for node in nodes(query.expression.pattern))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?a, ?c { ?s ?p <<( ?a ?b ?c )>> }",
        "FROM <u:g> SELECT ?a { << ?a ?b ?c ~ ?r >> <u:p>* ?x }",
        "FROM <u:g> CONSTRUCT { ?a <u:p> <<( ?a <u:q> _:n )>> } { ?a ?b ?c {| ?p ?o |} }",
    ],
)
def test_a_query_that_takes_liberties_may_have_triple_terms(text: str) -> None:
    ox.Store().query(as_standard(text))
