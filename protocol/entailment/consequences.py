"""What follows from one triple and a schema: the rules of a regime, with the schema put in.

Under RDFS nothing follows from two triples of data together, so that what follows from a graph is what follows from its
schema, and from each of its triples with it. What that is, the closure itself tells: of the schema together with one
triple of each property, and one of each class, about nodes that occur nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyoxigraph as ox

from protocol.entailment.closure import Closure
from protocol.entailment.lists import Triple
from protocol.entailment.regimes import Regime
from protocol.entailment.rules import Term
from protocol.entailment.schema import SCHEMA_PROPERTIES, TYPE

ANY, PROPERTY, CLASS = "any", "property", "class"
"""What a triple is told by: nothing, its property, or (``rdf:type``) the class that is its object."""
SUBJECT, PREDICATE, OBJECT = "s", "p", "o"
"""Places of the triple from which something follows, where a term may stand."""

PLACES = (SUBJECT, PREDICATE, OBJECT)

_SAID_OF_SCHEMAS = {str(TYPE), *map(str, SCHEMA_PROPERTIES)}


@dataclass(frozen=True)
class Way:
    """How consequences come about: what triples are told by, and the places of them whose terms are subject and object
    of what follows, "" where that is a term of the schema. ``rest``: all other places, too.
    """

    premise: str
    subject: str = ""
    object: str = ""
    rest: bool = False


COPIES, SUBJECTS_BY_CLASS = "copies", "subjects by class"
WAYS = {
    COPIES: Way(PROPERTY, SUBJECT, OBJECT),
    "subjects by property": Way(PROPERTY, SUBJECT),
    "objects by property": Way(PROPERTY, OBJECT),
    SUBJECTS_BY_CLASS: Way(CLASS, SUBJECT),
    "subjects": Way(ANY, SUBJECT),
    "objects": Way(ANY, OBJECT),
    "rest by property": Way(PROPERTY, rest=True),
    "rest by class": Way(CLASS, rest=True),
    "rest": Way(ANY, rest=True),
}
"""By their names: each consequence comes about in one of them."""
BEYOND = "beyond"
"""The name of those that make of data a statement of the schema, so that more follows from it than is told of one
triple.
"""
_REST = {way.premise: name for name, way in WAYS.items() if way.rest}
_NAMED = {way: name for name, way in WAYS.items()}


@dataclass(frozen=True)
class Consequence:
    """A triple that follows from each triple with this property, of this class, or from any (``term`` is "").

    ``subject`` and ``object`` are terms in canonical N-Triples, or the place of the triple whose term it is. A literal
    is no subject: nothing follows then.
    """

    premise: str
    term: str
    subject: str
    predicate: str
    object: str

    @property
    def follows(self) -> tuple[str, str, str]:
        return self.subject, self.predicate, self.object

    @property
    def way(self) -> str:
        """The name of the way in which it comes about."""
        subject, object_ = (part if part in PLACES else "" for part in (self.subject, self.object))
        return _NAMED.get(Way(self.premise, subject, object_), _REST[self.premise])


@dataclass(frozen=True)
class Consequences:
    """``triples``: what follows from the schema alone, in canonical N-Triples; ``of_triples``: from one more each."""

    triples: tuple[tuple[str, str, str], ...]
    of_triples: tuple[Consequence, ...]

    @cached_property
    def by_way(self) -> Mapping[str, Sequence[Consequence]]:
        """Those of triples, by the name of the way in which they come about; those BEYOND besides."""
        found: dict[str, list[Consequence]] = {name: [] for name in (*WAYS, BEYOND)}
        for one in self.of_triples:
            found[one.way].append(one)
            if {one.subject, one.object} == {SUBJECT, OBJECT} and one.predicate in _SAID_OF_SCHEMAS:
                found[BEYOND].append(one)
        return found


def consequences(regime: Regime, schema: Iterable[Triple]) -> Consequences:
    """Those of a schema under RDFS. What follows from two triples of data (OWL 2 RL) is not among them."""
    closure = Closure(regime)
    closure.add_terms(schema)
    alone = set(closure.triples())
    probes: dict[Term, tuple[str, str, str]] = {}
    asked: set[Triple] = set()

    def probe(premise: str, term: Term | None) -> None:
        subject, object_ = ox.BlankNode(), ox.BlankNode()
        named = "" if term is None else str(term)
        probes[subject] = premise, named, SUBJECT
        if premise == CLASS:
            assert term is not None
            asked.add((subject, TYPE, term))
            return
        probes[object_] = premise, named, OBJECT
        if term is None:
            term = ox.NamedNode(f"urn:bnode:{object_.value}")
            probes[term] = premise, named, PREDICATE
        asked.add((subject, term, object_))

    probe(ANY, None)
    for term in dict.fromkeys(term for triple in sorted(alone, key=str) for term in triple):
        if isinstance(term, ox.NamedNode):
            probe(PROPERTY, term)
        if not isinstance(term, ox.Literal):
            probe(CLASS, term)
    closure.add_terms(asked)
    found = set()
    for subject, predicate, object_ in set(closure.triples()) - alone - asked:
        places = [probes[term] for term in (subject, object_) if term in probes]
        if places:
            premise, named, _ = places[0]
            one, other = (probes[term][2] if term in probes else str(term) for term in (subject, object_))
            found.add(Consequence(premise, named, one, str(predicate), other))
    always = {one.follows for one in found if one.premise == ANY}
    return Consequences(
        tuple(sorted((str(s), str(p), str(o)) for s, p, o in alone)),
        tuple(sorted((one for one in found if one.premise == ANY or one.follows not in always), key=repr)),
    )
