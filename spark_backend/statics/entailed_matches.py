"""What static patterns match under an entailment regime, and the consequences that streamed triples have.

A graph of the store is not inferred as a whole: of a pattern are looked up the triples of which its matches may follow.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import pyoxigraph as ox

from protocol.entailment.axioms import is_membership
from protocol.entailment.closure import Closure
from protocol.entailment.consequences import (
    ANY,
    BEYOND,
    CLASS,
    OBJECT,
    PLACES,
    PROPERTY,
    Consequence,
    Consequences,
    consequences,
)
from protocol.entailment.regimes import Regime
from protocol.entailment.rules import named
from protocol.entailment.schema import SCHEMA_KINDS, SCHEMA_PROPERTIES
from protocol.terms import RDF, RDF_TYPE, is_triple, parse_term, term_text
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.statics.graphs import Quad, StaticGraphs

_Triple = tuple[str, str, str]
_Schema = frozenset[_Triple]
_KEPT_CLOSURES = 8
"""Of what follows from so many graphs is kept all."""
_MEMBER, _MEMBERSHIP, _PROPERTY = (
    str(named(name)) for name in ("rdfs:member", "rdfs:ContainerMembershipProperty", "rdf:Property")
)
_BEGIN = f"<{RDF}_"
_TOLD_OF_MEMBERSHIPS = {_MEMBER, *(str(named(f"rdfs:{name}")) for name in ("subPropertyOf", "domain", "range"))}
_KINDS_OF_MEMBERSHIPS = {None, _MEMBERSHIP, _PROPERTY}


class EntailedMatches:
    """The rows of static patterns under a regime, of the store as it is."""

    def __init__(self, graphs: StaticGraphs, schema: Sequence[str]) -> None:
        """``schema`` are the IRIs of the graphs that the schema is taken from; none: it is the default graph's."""
        self._graphs = graphs
        self._of_schema = list(schema) or None
        self._schemas = _OfGraphs(graphs, _schemas)
        self._memberships = _OfGraphs(graphs, _memberships)
        self._closures: OrderedDict[tuple[str, ...] | None, tuple[int, Sequence[_Triple]]] = OrderedDict()

    def rows(self, pattern: StaticPattern, names: Sequence[str]) -> Iterable[Quad]:
        """Those of a pattern under a regime; ``names`` are the graphs of the store that it ranges over, or merges.

        Of consequences (``StaticPattern.way``): the term of the premise, and the triple that follows.
        """
        shared = self._shared()
        if pattern.regime is Regime.OWL_RL:
            return self._of_closures(pattern, shared, names)
        there = set(self._graphs.named_graphs())
        read = None if pattern.scope == "default" else tuple(name for name in names if name in there)
        if pattern.scope == "schema" or (pattern.scope != "default" and not read):
            if pattern.way is not None:
                return _consequences(pattern, shared)
            if pattern.scope != "schema":
                return []
            return [("", *one) for one in _of(pattern.regime, shared).triples if _matches(pattern, one)]
        by_graph = self._own(pattern, shared, read)
        if pattern.scope != "named":
            own = shared.union(*by_graph.values())
            if pattern.way is not None:
                return _consequences(pattern, own)
            return {("", s, p, o) for _, s, p, o in self._entailed(pattern, own, read, [""])}
        # Graphs that say nothing of classes and properties themselves have the same schema.
        alike: dict[_Schema, list[str]] = defaultdict(list)
        for name in read or ():
            alike[shared | by_graph.get(_graph(name), set())].append(name)
        if pattern.way is not None:
            return [row for own in alike for row in _consequences(pattern, own)]
        return (quad for own, group in alike.items() for quad in self._entailed(pattern, own, group, group))

    def _entailed(
        self, pattern: StaticPattern, schema: _Schema, read: Sequence[str] | None, names: Sequence[str]
    ) -> Iterator[Quad]:
        """What the pattern matches of what follows from graphs and the schema; ``names`` are those of its rows."""
        found = _of(pattern.regime, schema)
        alone = [one for one in found.triples if _matches(pattern, one)]
        yield from ((_graph(name), *one) for name in names for one in alone)
        yield from self._graphs.quads(pattern.subject, pattern.predicate, pattern.object, read)
        wanted: dict[tuple[str, str], list[Consequence]] = defaultdict(list)
        for one in found.of_triples:
            if _may_match(pattern, one):
                wanted[one.premise, "" if one.premise == CLASS else one.term].append(one)
        for (premise, term), some in wanted.items():
            by_class: dict[str, list[Consequence]] = defaultdict(list)
            for one in some:
                by_class[one.term].append(one)
            predicate = {ANY: None, PROPERTY: term, CLASS: RDF_TYPE}[premise]
            for g, s, p, o in self._graphs.quads(None, predicate, None, read):
                for one in by_class.get(o, ()) if premise == CLASS else some:
                    follows = _follows(one, s, p, o)
                    if follows is not None and _matches(pattern, follows):
                        yield g, *follows

    def _of_closures(self, pattern: StaticPattern, shared: _Schema, names: Sequence[str]) -> Iterator[Quad]:
        """What the pattern matches in all that follows from the graphs, merged or each by itself; of the schema what it
        says.
        """
        if pattern.scope == "schema":
            yield from (("", *triple) for triple in shared)
            return
        there = set(self._graphs.named_graphs())
        read = [name for name in names if name in there]
        groups = [(name, (name,)) for name in read] if pattern.scope == "named" else [("", tuple(read) or None)]
        for name, group in groups:
            if group is None and pattern.scope != "default":
                continue  # it names graphs that are not there
            triples = self._closed(pattern.regime, shared, group)
            yield from ((_graph(name), *triple) for triple in triples if _matches(pattern, triple))

    def _closed(self, regime: Regime, shared: _Schema, graphs: tuple[str, ...] | None) -> Sequence[_Triple]:
        """All that follows from graphs, merged, and the schema."""
        version = self._graphs.version
        known = self._closures.get(graphs)
        if known is None or known[0] != version:
            triples = {(s, p, o) for _, s, p, o in self._graphs.quads(None, None, None, graphs)} | shared
            closure = Closure(regime)
            closure.add_terms((parse_term(s), parse_term(p), parse_term(o)) for s, p, o in triples)
            known = version, [(str(s), str(p), term_text(o)) for s, p, o in closure.triples()]
            self._closures[graphs] = known
            while len(self._closures) > _KEPT_CLOSURES:
                self._closures.popitem(last=False)
        return known[1]

    def _own(self, pattern: StaticPattern, shared: _Schema, graphs: Sequence[str] | None) -> Mapping[str, set[_Triple]]:
        """What each of these graphs says of classes and properties, as far as the pattern's matches depend on it."""
        said = self._schemas(graphs)
        if not _tells_of_memberships(pattern, shared.union(*said.values())):
            return said
        found = {name: set(triples) for name, triples in said.items()}
        for name, triples in self._memberships(graphs).items():
            found.setdefault(name, set()).update(triples)
        return found

    def _shared(self) -> _Schema:
        """The schema of all graphs."""
        return frozenset().union(*self._schemas(self._of_schema).values())


class _OfGraphs:
    """What is found in graphs of the store, of each by its term, until the store changes."""

    def __init__(
        self, graphs: StaticGraphs, find: Callable[[StaticGraphs, Sequence[str] | None], Iterable[Quad]]
    ) -> None:
        self._graphs = graphs
        self._find = find
        self._known: dict[tuple[str, ...] | None, tuple[int, dict[str, set[_Triple]]]] = {}

    def __call__(self, graphs: Sequence[str] | None) -> Mapping[str, set[_Triple]]:
        key, version = None if graphs is None else tuple(graphs), self._graphs.version
        known = self._known.get(key)
        if known is None or known[0] != version:
            found: dict[str, set[_Triple]] = defaultdict(set)
            for g, s, p, o in self._find(self._graphs, graphs):
                found[g].add((s, p, o))
            known = version, found
            # Others may look at the same time.
            self._known = {key: known, **{one: of for one, of in list(self._known.items()) if of[0] == version}}
        return known[1]


def _schemas(store: StaticGraphs, graphs: Sequence[str] | None) -> Iterator[Quad]:
    """What these graphs say of classes and properties."""
    for predicate in SCHEMA_PROPERTIES:
        yield from store.quads(None, str(predicate), None, graphs)
    for kind in SCHEMA_KINDS:
        yield from store.quads(None, RDF_TYPE, str(kind), graphs)


def _memberships(store: StaticGraphs, graphs: Sequence[str] | None) -> Iterator[Quad]:
    """That those are properties of containers which these graphs have: no quad pattern finds them."""
    for g, *terms in store.quads(None, None, None, graphs):
        for term in terms:
            if term.startswith(_BEGIN) and is_membership(parse_term(term)):
                yield g, term, RDF_TYPE, _MEMBERSHIP


def _tells_of_memberships(pattern: StaticPattern, schema: _Schema) -> bool:
    """Whether it may matter to a pattern which properties ``rdf:_n`` there are: to find them, all is read."""
    if pattern.way == BEYOND:  # what these add is below rdfs:member, of which the schema tells
        return False
    if pattern.predicate is None or pattern.predicate in _TOLD_OF_MEMBERSHIPS:
        return True
    if pattern.predicate == RDF_TYPE and pattern.object in _KINDS_OF_MEMBERSHIPS:
        return True
    return any(subject in (_MEMBER, _MEMBERSHIP, _PROPERTY) for subject, _, _ in schema)


@lru_cache(maxsize=64)
def _of(regime: Regime, schema: _Schema) -> Consequences:
    """What follows from a schema, which is asked again for every pattern."""
    lines = "".join(f"{s} {p} {o} .\n" for s, p, o in sorted(schema))
    triples = ox.parse(lines.encode(), format=ox.RdfFormat.N_TRIPLES)
    return consequences(regime, [(one.subject, one.predicate, one.object) for one in triples])


def _consequences(pattern: StaticPattern, schema: _Schema) -> list[Quad]:
    """Of the triples of one way, with which term of theirs they tell what follows."""
    assert pattern.way is not None
    found = [one for one in _of(pattern.regime, schema).by_way[pattern.way] if _may_match(pattern, one)]
    if found and pattern.is_of_itself:
        # What is said is a match as what follows is, and is looked for with it.
        told_by = pattern.object if found[0].premise == CLASS else pattern.predicate
        found.append(replace(found[0], term=told_by or ""))
    return [(one.term, *one.follows) for one in found]


def _may_match(pattern: StaticPattern, one: Consequence) -> bool:
    """Whether a pattern may match what follows, wherever that has a place instead of a term."""
    asked = zip((pattern.subject, pattern.predicate, pattern.object), one.follows, strict=True)
    return all(term is None or term == found or found in PLACES for term, found in asked)


def _matches(pattern: StaticPattern, triple: _Triple) -> bool:
    asked = zip((pattern.subject, pattern.predicate, pattern.object), triple, strict=True)
    return all(term is None or term == found for term, found in asked)


def _follows(one: Consequence, s: str, p: str, o: str) -> _Triple | None:
    """The consequence that a triple has; None where it would have a literal, or a triple, as its subject."""
    if one.subject == OBJECT and (o.startswith('"') or is_triple(o)):
        return None
    terms = dict(zip(PLACES, (s, p, o), strict=True))
    return terms.get(one.subject, one.subject), one.predicate, terms.get(one.object, one.object)


def _graph(name: str) -> str:
    """A graph's term, by its name; "" is the default graph's."""
    return name if not name or name.startswith("_:") else f"<{name}>"
