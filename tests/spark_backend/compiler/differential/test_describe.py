"""DESCRIBE over windows gives the descriptions that Oxigraph gives one-shot."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from spark_backend.answers.solutions import descriptions
from tests.spark_backend.compiler.one_shot import INSTANT, Content, evaluated, one_shot

TRIPLES = """
:a :p _:b ; :q :c . _:b :q _:c, 1 ; :r :a . _:c :r "x"@en ; :s _:b . :c :p :a . :z :k _:b, 5 .
:d :p [] . :e :p _:f, _:g .
_:f :p 1 . _:g :p 1 .
"""
ONE = Content({None: TRIPLES})
MIXED = Content(
    {None: ":a :p :b .", "http://ex/w1": ":a :q :w ."},
    {None: ":a :q [ :r 1 ] . :b :p 2 .", "http://ex/g1": ":a :z 1 ."},
)


def canonical(triples: list[ox.Triple]) -> set[ox.Quad]:
    graph = ox.Dataset(ox.Quad(triple.subject, triple.predicate, triple.object) for triple in triples)
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(graph)


def described(text: str, content: Content) -> set[ox.Quad]:
    _, answers = evaluated(text, content)
    _, triples = descriptions(answers[INSTANT])
    return canonical(list(ox.parse("\n".join(triples).encode(), format=ox.RdfFormat.N_TRIPLES)))


@pytest.mark.parametrize("content", [ONE, MIXED, Content({None: ""})])
@pytest.mark.parametrize(
    "text",
    [
        "DESCRIBE :a",
        "DESCRIBE :a :c :nope",
        "DESCRIBE :a WHERE {}",
        "DESCRIBE :a {?s :nope ?o}",
        "DESCRIBE ?s {?s :p ?o}",
        "DESCRIBE ?o {?s :p ?o}",
        "DESCRIBE ?s ?o :c {?s :p ?o}",
        "DESCRIBE * {?s :p ?o}",
        "DESCRIBE ?x {:z :k ?x}",
        "DESCRIBE ?s ?w {?s :p ?o OPTIONAL {?o :k ?w}}",
        "DESCRIBE ?s {?s :p ?o} ORDER BY DESC(?s) LIMIT 1",
        "DESCRIBE ?s {?s :p ?o FILTER EXISTS {?s :q ?w}}",
        "DESCRIBE ?t {?s :p+ ?t}",
        "DESCRIBE ?nope {?s :p ?o}",
        "DESCRIBE ?resource {?resource :q ?subject}",
    ],
)
def test_a_description_is_what_it_is_one_shot(text: str, content: Content) -> None:
    assert described(text, content) == canonical(list(one_shot(text, content)))


def test_resources_come_in_order_each_with_its_description() -> None:
    _, answers = evaluated("DESCRIBE ?s {?s :k|:q ?o}", Content({None: ":b :k 1 . :a :q 2 ; :p 3, 4 ."}))
    solutions, triples = descriptions(answers[INSTANT])
    assert [solution.split('"value":"')[1].split('"')[0] for solution in solutions] == ["http://ex/a", "http://ex/b"]
    assert [len(text.splitlines()) for text in triples] == [3, 1]


def test_a_resource_whose_description_changes_is_another_solution() -> None:
    text = "DESCRIBE ?s {?s :p ?o}"
    before, after = (
        descriptions(evaluated(text, Content({None: triples}))[1][INSTANT])[0]
        for triples in (":a :p 1 . :b :p 2 .", ":a :p 1 . :b :p 2 ; :q 3 .")
    )
    assert before[0] == after[0]
    assert before[1] != after[1]
