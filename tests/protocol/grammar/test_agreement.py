"""Our parser and Oxigraph's take the same texts for queries; where they do not is named here, with who is right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph
import pytest

from protocol.errors import ProtocolError
from protocol.grammar.parser import parse, read_query
from protocol.language.model import OneShotQuery
from protocol.sparql.tokens import tokenize
from tests.protocol.grammar.generated_queries import Tokens, Writer, in_our_words, mutated, text_of

BASE = "http://example.org/base/"
W3C = Path(__file__).parents[4] / "shared/w3c/sparql"
AGGREGATES = frozenset({"GROUP", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"})


def is_ours(text: str) -> bool:
    """Whether our parser takes the text for a query."""
    try:
        read_query(text, BASE)
    except ProtocolError:
        return False
    return True


class _Read(Exception):
    """Oxigraph has read the text, and was about to evaluate it."""


class _Graphs:
    """Named graphs that are asked for between parsing and evaluation."""

    def __iter__(self) -> Iterator[pyoxigraph.NamedNode]:
        raise _Read


def is_oxigraphs(text: str) -> bool:
    """Whether Oxigraph's parser does."""
    try:
        pyoxigraph.Store().query(text, base_iri=BASE, named_graphs=_Graphs())  # type: ignore[arg-type]  # raises
    except _Read:
        return True
    except SyntaxError:
        return False
    raise AssertionError("evaluated")


# What Oxigraph refuses and the standard has, and so have we; and the other way round.
ONLY_OURS = {
    "a variable selected twice (18.2.4.4)": "SELECT ?a ?a { ?a ?b ?c }",
    "no property at all in a negated property set ([95])": "SELECT * { ?a !() ?b }",
    "a variable described twice ([11])": "DESCRIBE ?a ?a { ?a ?b ?c }",
    "GROUP BY in ASK ([12], [18])": "ASK { ?a ?b ?c } GROUP BY ?a",
    "GROUP BY in CONSTRUCT ([10], [18])": "CONSTRUCT { ?a ?a ?a } { ?a ?b ?c } GROUP BY ?a",
    "GROUP BY in DESCRIBE ([11], [18])": "DESCRIBE ?b { ?a ?b ?c } GROUP BY ?a",
    "an aggregate in HAVING of ASK ([12], [121])": "ASK { ?a ?b ?c } HAVING(COUNT(*) > 1)",
    "white space after BNODE ([121])": "SELECT * { BIND(BNODE () AS ?x) }",
    "white space after COALESCE ([121])": "SELECT * { BIND(COALESCE (1) AS ?x) }",
    "white space after CONCAT ([121])": "SELECT * { BIND(CONCAT ('a') AS ?x) }",
    "a label in EXISTS in an argument in HAVING": "SELECT ?a { ?a ?b ?c } HAVING REGEX(EXISTS { ?a ?b _:a }, '')",
    "an alias that SELECT reads again over groups (18.2.4.4)": "SELECT (SUM(?c) AS ?n) (?n + 1 AS ?m) { ?a ?b ?c }",
}
ONLY_OXIGRAPHS = {
    "a sign before a sign before a number ([118])": "SELECT * { FILTER(+ + 1) }",
    "an alias in GROUP BY of what is bound (18.5, Extend)": "SELECT (1 AS ?x) { ?a ?b ?c } GROUP BY (?b AS ?a) ?c",
    "a label before and after BIND, which ends the pattern (5.1.1)": "SELECT * { _:a ?b ?c BIND(1 AS ?x) _:a ?d ?e }",
    "a label before and after VALUES (5.1.1)": "SELECT * { _:a ?b ?c VALUES ?x { 1 } _:a ?d ?e }",
    "BOUND of what is no key, over groups (11.4)": "SELECT (BOUND(?c) AS ?x) { ?a ?b ?c } GROUP BY ?a",
    "an alias in what it is, over groups (11.4)": "SELECT (COALESCE(?x) AS ?x) { ?a ?b ?c } GROUP BY ?a",
}
BOTH = {
    "an alias of what is in the groups and no key of theirs (18.2.4.4)": "SELECT (MAX(?c) AS ?c) { ?a ?b ?c }",
    "a key in brackets ([20])": "SELECT ?c { ?a ?b ?c } GROUP BY (?c)",
    "a label in the template and in the pattern (19.6)": "CONSTRUCT { _:a ?b ?c } { _:a ?b ?c }",
    "! before another !, of SPARQL 1.2": "SELECT * { FILTER(!!?x) }",
    "a sign before that of a number": "SELECT * { FILTER(- -1) }",
}
NEITHER = {
    "an IRI alone as a condition ([69])": "SELECT * { FILTER <u:p> }",
    "an IRI alone to order by ([24])": "SELECT * { ?a ?b ?c } ORDER BY <u:p>",
    "an IRI alone to group by ([20])": "SELECT ?a { ?a ?b ?c } GROUP BY ?a <u:p>",
    "a sign before a sign ([118])": "SELECT * { FILTER(- +?x) }",
    "EXISTS twice ([125])": "SELECT * { FILTER EXISTS EXISTS { ?a ?b ?c } }",
    "a comparison of a comparison ([114])": "SELECT * { FILTER(?a < ?b = ?c) }",
    "a comparison of a comparison after && ([114])": "SELECT * { FILTER(?a && ?b < ?c IN (1)) }",
    "! after a sign ([118])": "SELECT * { FILTER(-!?x) }",
}


@pytest.mark.parametrize(
    ("text", "ours", "oxigraphs"),
    [
        pytest.param(text, ours, oxigraphs, id=name)
        for (ours, oxigraphs), named in {
            (True, False): ONLY_OURS, (False, True): ONLY_OXIGRAPHS, (True, True): BOTH, (False, False): NEITHER,
        }.items()
        for name, text in named.items()
    ],
)  # fmt: skip
def test_the_disagreements_that_were_met(text: str, ours: bool, oxigraphs: bool) -> None:
    assert is_ours(text) is ours
    assert is_oxigraphs(text) is oxigraphs


def is_named(tokens: Tokens) -> bool:
    """Whether a text may have one of the constructs on which we are known to disagree."""
    words = [token.upper() for token in tokens]
    form = next((word for word in words if word in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")), "SELECT")
    if form != "SELECT" and not AGGREGATES.isdisjoint(words):
        return True
    labels = [token for token in tokens if token.startswith("_:")]
    if len(labels) > len(set(labels)) and not {"BIND", "VALUES"}.isdisjoint(words):
        return True
    if labels and {"EXISTS", "HAVING"} <= set(words):
        return True
    grouped = not {"HAVING", *AGGREGATES}.isdisjoint(words)
    places = range(len(tokens))
    return any(
        tokens[place : place + 3] == ["!", "(", ")"]
        or tokens[place : place + 2] in (["+", "+"], ["-", "-"], ["+", "-"], ["-", "+"])
        or (words[place] in ("SELECT", "DESCRIBE") and _selects_twice(_projection(tokens[place:])))
        or (words[place] == "SELECT" and grouped and _reads_beside_groups(_projection(tokens[place:])))
        or (words[place] == "GROUP" and _groups_by_an_alias(tokens, place))
        for place in places
    )


def _groups_by_an_alias(tokens: Tokens, group: int) -> bool:
    """Whether there is an alias after this GROUP that is a variable before it."""
    known = {token[1:] for token in tokens[:group] if token[:1] in ("?", "$")}
    return any(before.upper() == "AS" and alias[1:] in known for before, alias in itertools.pairwise(tokens[group:]))


def _projection(tokens: Tokens) -> Tokens:
    """What is projected where it begins with the first of these tokens."""
    depth = 0
    for place, token in enumerate(tokens):
        depth += (token == "(") - (token == ")")
        if depth == 0 and (token == "{" or token.upper() in ("WHERE", "FROM")):
            return tokens[:place]
    return tokens


def _selects_twice(projection: Tokens) -> bool:
    """Whether a variable is projected twice."""
    selected, depth = set[str](), 0
    for before, token in itertools.pairwise(projection):
        depth += (token == "(") - (token == ")")
        if token[:1] in ("?", "$") and (depth == 0 or before.upper() == "AS"):
            if token[1:] in selected:
                return True
            selected.add(token[1:])
    return False


def _reads_beside_groups(projection: Tokens) -> bool:
    """Whether there is BOUND in the projection, or an alias in another place, too."""
    names = [token[1:] for token in projection if token[:1] in ("?", "$")]
    aliases = [name[1:] for before, name in itertools.pairwise(projection) if before.upper() == "AS"]
    return "BOUND" in projection or any(names.count(alias) > 1 for alias in aliases)


def disagreements(seed: int, number: int, shapes: Sequence[Tokens] = ()) -> tuple[int, list[str]]:
    """How many of so many generated texts are queries, and those of which we are not of one mind.

    ``shapes`` are other queries that texts are made of, by mutation.
    """
    source = random.Random(seed)
    judged = queries = 0
    open_ = []
    while judged < number:
        generated = not shapes or source.random() < 0.7
        tokens = Writer(source).query() if generated else source.choice(shapes)
        if not generated or source.random() < 0.4:
            tokens = mutated(tokens, source)
        if is_named(tokens):
            continue
        judged += 1
        text = text_of(tokens)
        if source.random() < 0.5:
            text = text_of(in_our_words(tokens, source), source)
        ours, oxigraphs = is_ours(text), is_oxigraphs(text)
        queries += ours
        if ours is not oxigraphs or (oxigraphs and not isinstance(parse(text, base=BASE), OneShotQuery)):
            open_.append(text)
    return queries, open_


def test_generated_texts_are_queries_to_both_or_to_neither() -> None:
    queries, open_ = disagreements(1, 600)
    assert not open_
    assert 150 < queries < 500


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not W3C.is_dir(), reason="the W3C test suites are not here")
def test_twenty_thousand_texts_are_queries_to_both_or_to_neither() -> None:
    files = sorted((*W3C.glob("sparql10/**/*.rq"), *W3C.glob("sparql11/**/*.rq")))
    shapes = [[token.text for token in tokenize(file.read_bytes().decode())[:-1]] for file in files]
    queries, open_ = disagreements(2, 20_000, [tokens for tokens in shapes if tokens])
    assert not open_
    assert queries > 5_000
