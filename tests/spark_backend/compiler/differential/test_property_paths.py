"""Property paths over windows and graphs mean what they mean one-shot (SPARQL 1.1 Query sections 9 and 18.4)."""

from __future__ import annotations

import re

import pyoxigraph as ox
import pytest

from protocol.grammar.one_shot import exact_text
from tests.spark_backend.compiler.differential.thirds import third
from tests.spark_backend.compiler.one_shot import (
    INSTANT,
    PREFIXES,
    Content,
    assert_same_solutions,
    evaluated,
    graph_by_graph,
    store_of,
)

# A ring of :p, a tree of :q, a multigraph of :p and :q between :a and :b, literals at the ends, a blank node between.
EDGES = """
:a :p :b ; :q :b, :t . :b :p :c . :c :p :a, :d . :d :r 1, 2.5, "x" .
:t :q :u, :v . :u :q 7 . :e :p _:n . _:n :p :f . :loop :p :loop . :g :s :a .
"""
ONE = Content({None: EDGES})
TWO_GRAPHS = Content({"http://ex/w1": EDGES, "http://ex/w2": ":a :p :z . :z :p :y ; :q :a ."})
MIXED = Content(
    {None: ":a :p :b . :b :q :c ."},
    {None: ":b :p :d . :d :p :a, :b . :c :q 5 .", "http://ex/g1": ":a :p :g . :g :p :h ."},
)
STATIC = Content({None: ""}, {None: EDGES})
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"

PATHS = {
    "a sequence": ":p/:q",
    "a sequence of three": ":p/:p/:p",
    "an alternative": ":p|:q",
    "an alternative of itself": ":p|:p",
    "an inverse": "^:p",
    "an inverse of a sequence": "^(:p/:q)",
    "a sequence with an inverse": ":p/^:p",
    "a sequence of alternatives": "(:p|:q)/(:p|^:q)",
    "a negated predicate": "!:p",
    "a negated set": "!(:p|:r)",
    "a negated inverse": "!^:p",
    "a negated set of inverses": "!(^:p|^:r)",
    "a negated set both ways": "!(:p|^:q)",
    "a negated rdf:type": "!a",
    "zero or one": ":p?",
    "zero or more": ":p*",
    "one or more": ":p+",
    "zero or one of an alternative": "(:p|:q)?",
    "zero or more of an alternative": "(:p|:q)*",
    "one or more of an alternative": "(:p|:q)+",
    "one or more of a sequence": "(:p/:q)+",
    "zero or more of a sequence": "(:p/:p)*",
    "one or more inverses": "(^:p)+",
    "an inverse of one or more": "^(:p+)",
    "one or more both ways": "(:q|^:q)+",
    "zero or more of a negated set": "(!(:p|:r))*",
    "one or more of a negated set both ways": "(!(:p|^:p))+",
    "one or more of zero or more": "(:p*)+",
    "zero or one of one or more": "(:p+)?",
    "zero or more of one or more": "(:q+)*",
    "one or more of zero or one": "(:q?)+",
    "one or more of an alternative with zero or more": "(:r|:q*)+",
    "one or more of a sequence with zero or more": "(:p/:q*)+",
    "one or more of a sequence of zero or more": "(:p*/:q*)+",
    "a sequence of one or more": ":p+/:q+",
    "a sequence of zero or more": ":q*/:q*",
    "an alternative of zero or more": ":p*|:q*",
    "a predicate that is not there": ":nope+",
    "zero or more of what is not there": ":nope*",
    "a path after one or more": ":p+/:r",
}
ENDS = {
    "neither end": "SELECT * {{?s {} ?o}}",
    "the subject": "SELECT * {{:a {} ?o}}",
    "the object": "SELECT * {{?s {} :b}}",
    "a literal": "SELECT * {{?s {} 7}}",
    "both ends": "SELECT * {{:a {} :c}}",
    "the same end twice": "SELECT * {{:a {} :a}}",
    "one variable at both ends": "SELECT * {{?x {} ?x}}",
    "a join": "SELECT * {{?s :p ?k . ?k {} ?o}}",
    "a filter by value": "SELECT * {{?s {} ?o FILTER(?o > 1 || isIRI(?s))}}",
}


# To Oxigraph an alternative is a set of pairs; by 18.4 it is a union, and by 18.2.2.4 these are what it unites.
UNITED = {
    ":p|:q": "{{ {s} :p {o} }} UNION {{ {s} :q {o} }}",
    ":p|:p": "{{ {s} :p {o} }} UNION {{ {s} :p {o} }}",
    ":p*|:q*": "{{ {s} :p* {o} }} UNION {{ {s} :q* {o} }}",
    "(:p|:q)/(:p|^:q)": " UNION ".join(
        f"{{{{ {{s}} {path} {{o}} }}}}" for path in (":p/:p", ":p/^:q", ":q/:p", ":q/^:q")
    ),
    "!(:p|^:q)": "{{ {s} !:p {o} }} UNION {{ {o} !:q {s} }}",
}


def standard(text: str, path: str) -> str:
    """The query for Oxigraph, its path taken apart as the standard does."""
    found = re.search(rf"([:?]?\w+) {re.escape(path)} ([:?]?\w+)", text)
    if path not in UNITED or found is None:
        return text
    group = f"{{ {UNITED[path].format(s=found[1], o=found[2])} }}"
    return text[: found.start()] + group + text[found.end() :]


@pytest.mark.parametrize(
    ("path", "ends"),
    [
        pytest.param(path, ends, id=f"{name}-{of}", marks=third(row, column))
        for row, (name, path) in enumerate(PATHS.items())
        for column, (of, ends) in enumerate(ENDS.items())
    ],
)
def test_a_path_over_a_window_gives_what_it_gives_one_shot(path: str, ends: str) -> None:
    text = ends.format(path)
    assert_same_solutions(text, ONE, oracle=standard(text, path))


IN_DATASETS = [
    ("GRAPH :w1 {{ {} }}", TWO_GRAPHS),
    ("GRAPH ?g {{ {} }}", TWO_GRAPHS),
    ("?s ?any ?k GRAPH ?g {{ {} }}", TWO_GRAPHS),
    ("GRAPH ?g {{ {} }}", MIXED),
    ("GRAPH :g1 {{ {} }}", MIXED),
    ("{}", MIXED),
    ("{}", STATIC),
    ("{}", Content({None: ""})),
]
PATHS_IN_DATASETS = [":p/:p", ":p+", ":p*", "(:p|:q)?", "!:q", "!(:p|^:q)", "(:p/:q*)+", "^:p/:p*"]
ENDS_IN_DATASETS = ["?s {} ?o", ":a {} ?o", "?s {} :a", ":a {} :b", ":a {} :a", "?x {} ?x"]


@pytest.mark.parametrize(
    ("group", "content", "path", "ends"),
    [
        pytest.param(group, content, path, ends, marks=third(dataset, row, column))
        for dataset, (group, content) in enumerate(IN_DATASETS)
        for row, path in enumerate(PATHS_IN_DATASETS)
        for column, ends in enumerate(ENDS_IN_DATASETS)
    ],
)
def test_a_path_in_graphs_and_over_windows_and_store_gives_what_it_gives_one_shot(
    group: str, content: Content, path: str, ends: str
) -> None:
    if content.windows == {None: ""} and not content.graphs and ends in (":a {} :a", ":a {} ?o", "?s {} :a"):
        return  # nothing is a node of the empty graph: see the test of constants outside of it
    text = f"SELECT * {{ {group.format(ends.format(path))} }}"
    assert_same_solutions(text, content, oracle=graph_by_graph(standard(text, path), content))


@pytest.mark.parametrize(
    ("pattern", "solutions"),
    [
        (":zz :p* ?o", [("<http://ex/zz>",)]),
        (":zz :p? ?o", [("<http://ex/zz>",)]),
        ("?o :p* :zz", [("<http://ex/zz>",)]),
        ("?o :p* 77", [(f'"77"^^{INTEGER}',)]),
        (":zz (:p*)+ ?o", [("<http://ex/zz>",)]),
        (":zz (:p|:q*)+ ?o", [("<http://ex/zz>",)]),
        (":zz ^(:p?) ?o", [("<http://ex/zz>",)]),
        (":zz :p* :zz", [()]),
        (":zz :p* :a", []),
        (":zz :p+ ?o", []),
        (":zz :p*/:q ?o", []),
        # In the middle of a sequence is a variable, and between two of them are the nodes of the graph alone.
        (":zz :p*/:q* ?o", []),
        (":zz (:p*/:q*)+ ?o", []),
        ("VALUES ?o { :zz } ?o :p* ?o", []),
    ],
)
@pytest.mark.parametrize("content", [ONE, MIXED, Content({None: ""})])
def test_a_path_of_length_zero_is_there_at_a_constant_that_is_in_no_triple(
    pattern: str, solutions: list[tuple[str, ...]], content: Content
) -> None:
    """18.4: eval(Path(X:term, ZeroLengthPath, Y:var)) is {(Y, X)}, whatever the graph. Oxigraph looks in the graph."""
    text = f"SELECT * {{ {pattern} }}"
    _, answers = evaluated(text, content)
    assert answers[INSTANT] == solutions


@pytest.mark.parametrize(("path", "oxigraph", "standard"), [(":zz :p* ?o", 0, 1), (":a (:p|:q) ?o", 2, 3)])
def test_oxigraph_still_departs_from_the_standard_in_paths_and_is_asked_otherwise(
    path: str, oxigraph: int, standard: int
) -> None:
    text = f"{PREFIXES} SELECT * {{{path}}}"
    store = store_of(text, ONE)
    for asked, solutions in ((text, oxigraph), (exact_text(text), standard)):
        answer = store.query(asked)
        assert isinstance(answer, ox.QuerySolutions)
        assert len(list(answer)) == solutions


def test_a_long_path_over_a_ring_ends() -> None:
    ring = " ".join(f":n{place} :p :n{(place + 1) % 300} ." for place in range(300))
    _, answers = evaluated("SELECT (COUNT(*) AS ?n) {?s :p+ ?o}", Content({None: ring}))
    assert answers[INSTANT] == [(f'"90000"^^{INTEGER}',)]


def test_paths_of_several_instants_are_those_of_each() -> None:
    text = "SELECT * {GRAPH ?g {?s :p+ ?o OPTIONAL {:a (:p|:q)* ?o}}}"
    _, together = evaluated(text, TWO_GRAPHS, (1000, 2000, 3000))
    _, alone = evaluated(text, TWO_GRAPHS, (2000,), reverse=True)
    assert together[1000] == together[2000] == together[3000] == alone[2000]
