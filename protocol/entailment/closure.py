"""The closure of a graph under the rules of a regime, by semi-naive evaluation over numbers that stand for terms.

A triple that is new is joined with all there are, so that what was inferred once is not inferred again, and adding to
a graph costs what is added. The rules are those of ``protocol.entailment.rules``; nothing is known here of what they
say.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyoxigraph as ox

from protocol.entailment.axioms import AXIOMS, is_membership, membership_axioms
from protocol.entailment.lists import KINDS_OF_MEMBERS, LIST_PROPERTIES, OF_LISTS, Triple, list_rules
from protocol.entailment.matching import NumberedPattern, Place, Premise, Triples, column, matches
from protocol.entailment.regimes import Regime
from protocol.entailment.relation import Relation, objects_of, paired
from protocol.entailment.rules import RULES, Pattern, Rule, Term, named
from protocol.integers import Numbers, distinct


class Vocabulary:
    """Terms and the numbers that stand for them, from 0 on: the same term has the same number for good."""

    def __init__(self) -> None:
        self._numbers: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._memberships: list[int] = []
        self._looked_at = 0

    def __len__(self) -> int:
        return len(self._terms)

    def copy(self) -> Vocabulary:
        """Another one, to which more can be added, with the same numbers so far."""
        other = Vocabulary()
        other._numbers, other._terms = dict(self._numbers), list(self._terms)
        other._memberships, other._looked_at = list(self._memberships), self._looked_at
        return other

    def number(self, term: Term) -> int:
        found = self._numbers.get(term)
        if found is None:
            found = self._numbers[term] = len(self._terms)
            self._terms.append(term)
        return found

    def term(self, number: int) -> Term:
        return self._terms[number]

    def memberships(self) -> Numbers:
        """The numbers of the properties ``rdf:_n`` among them."""
        new = range(self._looked_at, len(self._terms))
        self._memberships += (number for number in new if is_membership(self._terms[number]))
        self._looked_at = len(self._terms)
        return np.array(self._memberships, np.int64)


@dataclass(frozen=True)
class _NumberedRule:
    name: str
    premises: tuple[NumberedPattern, ...]
    conclusions: tuple[NumberedPattern, ...]
    unequal: tuple[tuple[str, str], ...]


class ClosureTooLarge(Exception):
    """There is more that follows than there may be."""


class Closure:
    """What follows from triples that are added, some at a time, under one regime.

    Holds what was added and all that follows, also triples with a literal as subject, from which more may follow.
    """

    def __init__(self, regime: Regime, vocabulary: Vocabulary | None = None) -> None:
        self.regime = regime
        self.most = math.inf
        """``add`` raises ClosureTooLarge, and leaves what is of no use, where there are more triples than these."""
        self.vocabulary = vocabulary if vocabulary is not None else Vocabulary()
        self.contradictions: set[str] = set()
        """Names of the rules that what was added contradicts."""
        self._rules: list[_NumberedRule] = []
        self._known_rules: set[_NumberedRule] = set()
        self._triples: dict[int, Relation] = {}
        self._lists: dict[int, Relation] = {}
        self._of_lists = {self.vocabulary.number(named(name)) for name in LIST_PROPERTIES}
        self._of_lists |= {self.vocabulary.number(term) for term in OF_LISTS}
        self._kinds = [self.vocabulary.number(kind) for kind in KINDS_OF_MEMBERS]
        self._type = self.vocabulary.number(named("rdf:type"))
        self._rules = [self._numbered(one) for one in RULES[regime]]
        if regime is not Regime.NONE:
            self.add_terms(_ground(AXIOMS[regime]))

    def __len__(self) -> int:
        """How many triples there are, those with a literal as subject among them."""
        return sum(map(len, self._triples.values()))

    def copy(self, vocabulary: Vocabulary | None = None) -> Closure:
        """Another one to which more can be added, over the same vocabulary or a copy of it."""
        other = Closure.__new__(Closure)
        other.__dict__.update(self.__dict__)
        other.vocabulary = self.vocabulary if vocabulary is None else vocabulary
        other.contradictions = set(self.contradictions)
        other._rules, other._known_rules = list(self._rules), set(self._known_rules)
        other._triples, other._lists = dict(self._triples), dict(self._lists)
        return other

    def add_terms(self, triples: Iterable[Triple]) -> Triples:
        """``add``, of terms."""
        number = self.vocabulary.number
        flat = [number(term) for triple in triples for term in triple]
        return self.add(np.array(flat, np.int64).reshape(-1, 3))

    def add(self, triples: Numbers) -> Triples:
        """Add rows of (subject, predicate, object), and all that follows; what of these is new, by predicate."""
        coming = _by_predicate(triples)
        if self.regime is not Regime.NONE:
            # Those of this graph alone: others share the vocabulary.
            known = self.vocabulary.memberships()
            found = map(self.vocabulary.term, known[np.isin(known, triples)].tolist())
            for axiom in _ground(membership_axioms(found)):
                _append(coming, *(np.array([self.vocabulary.number(term)], np.int64) for term in axiom))
        added: dict[int, Relation] = {}
        new_rules = self._new_list_rules(coming)
        new = self._new(coming)
        while new:
            _add(self._triples, new)
            _add(added, new)
            if len(self) > self.most:
                raise ClosureTooLarge(f"what follows under {self.regime} is more than {self.most} triples")
            following = self._concluded(self._rules, new)
            if new_rules:
                # A rule that is new is asked of all there is, once.
                for predicate, pairs in self._concluded(new_rules, self._triples).items():
                    following[predicate] += pairs
                new_rules = []
            new = self._new(following)
        return added

    def triples(self) -> Iterator[Triple]:
        """All that are RDF triples, as terms."""
        return rdf_triples(self._triples, self.vocabulary)

    @property
    def relations(self) -> Triples:
        """All triples, by predicate."""
        return self._triples

    def _new(self, coming: dict[int, list[Numbers]]) -> dict[int, Relation]:
        """What of it is not there yet."""
        new = {}
        for predicate, pairs in coming.items():
            found = distinct(np.concatenate(pairs))
            if (known := self._triples.get(predicate)) is not None:
                found = known.without(found)
            if len(found):
                new[predicate] = Relation(found)
        return new

    def _concluded(self, rules: Sequence[_NumberedRule], new: Triples) -> dict[int, list[Numbers]]:
        """What follows where at least one premise is matched by what is new."""
        coming: dict[int, list[Numbers]] = defaultdict(list)
        size, new_size = len(self), sum(map(len, new.values()))
        for one in rules:
            for index in range(len(one.premises)):
                if not _may_match(one.premises[index], new):
                    continue
                premises = [
                    Premise(pattern, new, new_size) if at == index else Premise(pattern, self._triples, size)
                    for at, pattern in enumerate(one.premises)
                ]
                found = matches(premises, one.unequal)
                if not found.rows:
                    continue
                if not one.conclusions:
                    self.contradictions.add(one.name)
                for conclusion in one.conclusions:
                    _append(coming, *(column(found, place) for place in conclusion))
        return coming

    def _new_list_rules(self, coming: Mapping[int, list[Numbers]]) -> list[_NumberedRule]:
        """Rules of the lists that are complete now."""
        if self.regime is not Regime.OWL_RL:
            return []
        arrived = {
            predicate: distinct(np.concatenate(coming[predicate]))
            for predicate in self._of_lists & coming.keys()
        }  # fmt: skip
        if self._type in coming:
            types = np.concatenate(coming[self._type])
            arrived[self._type] = distinct(types[np.isin(objects_of(types), self._kinds)])
        if not any(map(len, arrived.values())):
            return []
        for predicate, pairs in arrived.items():
            known = self._lists.get(predicate, Relation())
            self._lists[predicate] = known.with_new(Relation(known.without(pairs)))
        found = [self._numbered(one) for one in list_rules(_terms(self._lists, self.vocabulary))]
        rules = [one for one in dict.fromkeys(found) if one not in self._known_rules]
        self._known_rules.update(rules)
        self._rules += rules
        return rules

    def _numbered(self, one: Rule) -> _NumberedRule:
        return _NumberedRule(
            one.name,
            tuple(map(self._pattern, one.premises)),
            tuple(map(self._pattern, one.conclusions)),
            tuple((left.value, right.value) for left, right in one.unequal),
        )

    def _pattern(self, pattern: Pattern) -> NumberedPattern:
        subject, predicate, object = (self._place(place) for place in pattern)
        return subject, predicate, object

    def _place(self, place: Term | ox.Variable) -> Place:
        return place.value if isinstance(place, ox.Variable) else self.vocabulary.number(place)


def closure(regime: Regime, triples: Iterable[ox.Triple]) -> set[ox.Triple]:
    """All triples that follow from these under the regime, these and its axioms among them.

    For graphs that fit in memory several times; quoted triples are terms of which nothing follows.
    """
    axioms = _of_axioms(regime)
    found = axioms.copy(axioms.vocabulary.copy())
    found.add_terms((one.subject, one.predicate, one.object) for one in triples)
    return {ox.Triple(*one) for one in found.triples()}  # type: ignore[arg-type]


@cache
def _of_axioms(regime: Regime) -> Closure:
    """What follows from nothing: those of OWL 2 RL take 30 ms. It is copied, never added to."""
    return Closure(regime)


def rdf_triples(triples: Triples, vocabulary: Vocabulary) -> Iterator[Triple]:
    """Those that RDF has: no literal and no triple term as subject, and nothing but an IRI as predicate."""
    for subject, predicate, object in _terms(triples, vocabulary):
        if isinstance(subject, ox.NamedNode | ox.BlankNode) and isinstance(predicate, ox.NamedNode):
            yield subject, predicate, object


def _terms(triples: Triples, vocabulary: Vocabulary) -> Iterator[Triple]:
    for predicate, relation in triples.items():
        name = vocabulary.term(predicate)
        for subject, object in zip(relation.subjects.tolist(), relation.objects.tolist(), strict=True):
            yield vocabulary.term(subject), name, vocabulary.term(object)


def _ground(axioms: Iterable[Pattern]) -> Iterator[Triple]:
    for subject, predicate, object in axioms:
        assert not isinstance(subject, ox.Variable)
        assert not isinstance(predicate, ox.Variable)
        assert not isinstance(object, ox.Variable)
        yield subject, predicate, object


def _may_match(pattern: NumberedPattern, triples: Triples) -> bool:
    return not isinstance(pattern[1], int) or pattern[1] in triples


def _by_predicate(triples: Numbers) -> dict[int, list[Numbers]]:
    coming: dict[int, list[Numbers]] = defaultdict(list)
    _append(coming, triples[:, 0], triples[:, 1], triples[:, 2])
    return coming


def _append(coming: dict[int, list[Numbers]], subjects: Numbers, predicates: Numbers, objects: Numbers) -> None:
    if not len(predicates):
        return
    pairs = paired(subjects, objects)
    if (predicates[0] == predicates).all():
        coming[int(predicates[0])].append(pairs)
        return
    order = np.argsort(predicates, kind="stable")
    names, begins = np.unique(predicates[order], return_index=True)
    for name, part in zip(names.tolist(), np.split(pairs[order], begins[1:]), strict=True):
        coming[name].append(part)


def _add(triples: dict[int, Relation], new: Triples) -> None:
    for predicate, relation in new.items():
        triples[predicate] = triples[predicate].with_new(relation) if predicate in triples else relation
