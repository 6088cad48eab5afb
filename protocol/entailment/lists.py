"""Rules of OWL 2 RL that speak of lists, each written out for the lists of a schema (OWL 2 Profiles, section 4.3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

import pyoxigraph as ox

from protocol.entailment.rules import Pattern, Rule, Term, named

Triple = tuple[Term, Term, Term]
Members = tuple[Term, ...]

_TYPE, _SUB_CLASS, _SAME = named("rdf:type"), named("rdfs:subClassOf"), named("owl:sameAs")
_X, _Y = ox.Variable("x"), ox.Variable("y")

LIST_PROPERTIES = ("rdf:first", "rdf:rest")
KINDS_OF_MEMBERS = tuple(
    named(name) for name in ("owl:AllDifferent", "owl:AllDisjointClasses", "owl:AllDisjointProperties")
)
"""What ``owl:members`` and ``owl:distinctMembers`` are said of."""


def list_rules(schema: Iterable[Triple]) -> tuple[Rule, ...]:
    """The rules that follow from each list of the schema that one of these properties leads to.

    A list without an end, or that parts, or goes in a circle, is none, and says nothing.
    """
    first: dict[Term, set[Term]] = defaultdict(set)
    rest: dict[Term, set[Term]] = defaultdict(set)
    heads: list[tuple[Term, Term, Term]] = []
    typed: dict[Term, set[Term]] = defaultdict(set)
    for subject, predicate, object in schema:
        if predicate == named("rdf:first"):
            first[subject].add(object)
        elif predicate == named("rdf:rest"):
            rest[subject].add(object)
        elif predicate in OF_LISTS:
            heads.append((subject, predicate, object))
        elif predicate == _TYPE:
            typed[subject].add(object)
    rules: list[Rule] = []
    for subject, predicate, head in sorted(heads, key=str):
        members = _members(head, first, rest)
        if members:
            rules += OF_LISTS[predicate]((subject, predicate, head), members, typed[subject])
    return tuple(rules)


def _members(head: Term, first: dict[Term, set[Term]], rest: dict[Term, set[Term]]) -> Members:
    members: list[Term] = []
    seen: set[Term] = set()
    node = head
    while node != named("rdf:nil"):
        if node in seen or len(first[node]) != 1 or len(rest[node]) != 1:
            return ()
        seen.add(node)
        members += first[node]
        (node,) = rest[node]
    return tuple(members)


def _typed(of: object, kinds: Iterable[Term]) -> tuple[Pattern, ...]:
    assert isinstance(of, ox.Variable)
    return tuple((of, _TYPE, kind) for kind in kinds)


def _intersection(head: Triple, members: Members, _: set[Term]) -> Iterator[Rule]:
    yield Rule("cls-int1", (head, *_typed(_X, members)), ((_X, _TYPE, head[0]),))
    yield Rule("cls-int2", (head, (_X, _TYPE, head[0])), _typed(_X, members))
    yield Rule("scm-int", (head,), tuple((head[0], _SUB_CLASS, member) for member in members))


def _union(head: Triple, members: Members, _: set[Term]) -> Iterator[Rule]:
    for member in members:
        yield Rule("cls-uni", (head, (_X, _TYPE, member)), ((_X, _TYPE, head[0]),))
    yield Rule("scm-uni", (head,), tuple((member, _SUB_CLASS, head[0]) for member in members))


def _one_of(head: Triple, members: Members, _: set[Term]) -> Iterator[Rule]:
    yield Rule("cls-oo", (head,), tuple((member, _TYPE, head[0]) for member in members))


def _chain(head: Triple, members: Members, _: set[Term]) -> Iterator[Rule]:
    steps = [ox.Variable(f"u{number}") for number in range(len(members) + 1)]
    premises = tuple((steps[number], member, steps[number + 1]) for number, member in enumerate(members))
    yield Rule("prp-spo2", (head, *premises), ((steps[0], head[0], steps[-1]),))


def _key(head: Triple, members: Members, _: set[Term]) -> Iterator[Rule]:
    values = [ox.Variable(f"z{number}") for number in range(len(members))]
    equal = tuple(
        premise
        for value, member in zip(values, members, strict=True)
        for premise in ((_X, member, value), (_Y, member, value))
    )
    kinds = (*_typed(_X, [head[0]]), *_typed(_Y, [head[0]]))
    yield Rule("prp-key", (head, *kinds, *equal), ((_X, _SAME, _Y),), ((_X, _Y),))


def _together(head: Triple, members: Members, kinds: set[Term]) -> Iterator[Rule]:
    """What ``owl:members`` says depends on what it is said of."""
    different, classes, properties = KINDS_OF_MEMBERS
    if different in kinds:
        for one, other in combinations(members, 2):
            yield Rule("eq-diff2", (head, (one, _SAME, other)), ())
    if classes in kinds:
        for one, other in combinations(members, 2):
            yield Rule("cax-adc", (head, *_typed(_X, (one, other))), ())
    if properties in kinds:
        for one, other in combinations(members, 2):
            yield Rule("prp-adp", (head, (_X, one, _Y), (_X, other, _Y)), ())


def _distinct(head: Triple, members: Members, kinds: set[Term]) -> Iterator[Rule]:
    if KINDS_OF_MEMBERS[0] in kinds:
        for one, other in combinations(members, 2):
            yield Rule("eq-diff3", (head, (one, _SAME, other)), ())


OF_LISTS: dict[Term, Callable[[Triple, Members, set[Term]], Iterator[Rule]]] = {
    named("owl:intersectionOf"): _intersection,
    named("owl:unionOf"): _union,
    named("owl:oneOf"): _one_of,
    named("owl:propertyChainAxiom"): _chain,
    named("owl:hasKey"): _key,
    named("owl:members"): _together,
    named("owl:distinctMembers"): _distinct,
}
"""Which rules a property makes of the list that it leads to."""
