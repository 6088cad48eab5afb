"""Streams and graphs with what makes joins hard (types, hubs, chains, shared vocabulary), and queries over them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

EX = "http://ex/"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
WIDTH, STEP = 10_000, 1_000
"""Of all windows, in milliseconds."""
FIRST = 10_000
"""The first instant; the others follow, a step apart."""
Triple = tuple[str, str, str]
"""Canonical N-Triples."""


@dataclass(frozen=True)
class World:
    """``streams``: of each its graph (None: the default one) and its triples by time; ``graphs``: the store's."""

    streams: tuple[tuple[str | None, tuple[tuple[int, Triple], ...]], ...]
    graphs: Mapping[str | None, Sequence[Triple]]

    def contents(self, instant: int) -> Iterator[tuple[str | None, Triple]]:
        """The triples of the windows at an instant, with their graphs."""
        for graph, elements in self.streams:
            for time, triple in elements:
                if instant - WIDTH < time <= instant:
                    yield graph, triple


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def make_world(random: Random, *, most: int = 200_000, instants: int = 1) -> World:
    size = int(1000 * (most / 1000) ** random.random())
    few = random.choice([10, 35, 100, 1000])
    entities = max(20, size // random.choice([2, 5, 10]))
    static = list(dict.fromkeys(_static(random, entities) for _ in range(size)))
    several = random.choice([1, 1, 2, 4])
    named = random.random() < 0.5
    graphs = {f"{EX}g{part}" if part else None: static[part::several] for part in range(several)}
    streams = []
    for number in range(random.choice([1, 1, 2, 3])):
        elements = []
        for place in range(few * (WIDTH // STEP + instants) // (WIDTH // STEP)):
            triple = _streamed(random, number, place // 3, entities)
            if random.random() < 0.1:
                triple = random.choice(static)  # it is in the store, too
            elements.append((1 + random.randrange(FIRST + (instants - 1) * STEP), triple))
        streams.append((f"{EX}w{number}" if named else None, tuple(sorted(elements))))
    return World(tuple(streams), graphs)


def _skewed(random: Random, count: int) -> int:
    return int(count * random.random() ** 3)


def _static(random: Random, entities: int) -> Triple:
    place = random.randrange(entities)
    subject = iri(f"e{place}")
    match random.randrange(9):
        case 0 | 1:
            return subject, TYPE, iri(f"T{_skewed(random, 12)}")
        case 2:
            return subject, iri("in"), iri(f"room{place % max(2, int(entities**0.5))}")
        case 3:
            return subject, iri("next"), iri(f"e{(place + 1) % entities}")
        case 4:
            return subject, iri("label"), f'"label {place}"'
        case 5:
            return subject, iri("tag"), iri(f"hub{_skewed(random, 20)}")
        case 6:
            return subject, iri("knows"), iri(f"e{_skewed(random, entities)}")
        case 7:
            return subject, iri("level"), f'"{_skewed(random, 50)}"^^<{INTEGER}>'
    return iri(f"room{random.randrange(max(2, int(entities**0.5)))}"), iri("part"), iri(f"hub{_skewed(random, 20)}")


def _streamed(random: Random, number: int, observation: int, entities: int) -> Triple:
    subject = iri(f"o{number}_{observation}")
    match random.randrange(6):
        case 0:
            return subject, TYPE, iri(f"T{_skewed(random, 12)}")
        case 1 | 2:
            return subject, iri("by"), iri(f"e{random.randrange(min(entities, 50))}")
        case 3:
            return subject, iri("level"), f'"{_skewed(random, 50)}"^^<{INTEGER}>'
        case 4:
            return subject, iri("of"), iri(f"e{random.randrange(entities)}")
    return iri(f"e{random.randrange(min(entities, 50))}"), iri("tag"), iri(f"hub{_skewed(random, 20)}")


class Queries:
    """Random queries of connected patterns, each of which matches what is in the world at an instant."""

    def __init__(self, world: World, instant: int) -> None:
        self._streamed = list(dict.fromkeys(world.contents(instant)))
        quads = [*self._streamed, *((graph, triple) for graph, triples in world.graphs.items() for triple in triples)]
        self._at: dict[str, list[tuple[str | None, Triple]]] = defaultdict(list)
        for quad in quads:
            self._at[quad[1][0]].append(quad)
            self._at[quad[1][2]].append(quad)

    def make(self, random: Random) -> str:
        """The text of a query, without a dataset."""
        start = random.choice(self._streamed)
        quads, seen = [start], list(dict.fromkeys((start[1][0], start[1][2])))
        for _ in range(random.randrange(3, 12)):
            for _ in range(10):  # what is not there already
                quad = random.choice(self._at[random.choice(seen)])
                if quad not in quads:
                    quads.append(quad)
                    seen += [term for term in (quad[1][0], quad[1][2]) if term not in seen]
                    break
        names = {
            term: term if random.random() < (0.4 if term[0] == '"' else 0.15) else f"?v{place}"
            for place, term in enumerate(seen)
        }
        if all(name[0] != "?" for name in names.values()):
            names[seen[0]] = "?v0"
        patterns = []
        for place, (graph, (subject, predicate, object_)) in enumerate(quads):
            streamed = (graph, (subject, predicate, object_)) in self._streamed
            written = f"?p{place}" if random.random() < 0.04 else predicate if streamed else _path(random, predicate)
            pattern = f"{names[subject]} {written} {names[object_]} ."
            name = f"?g{place}" if random.random() < 0.04 and "?" not in written else f"<{graph}>"
            patterns.append(pattern if graph is None else f"GRAPH {name} {{ {pattern} }}")
        return _asked(random, _group(random, patterns), dict(zip(names.values(), names, strict=True)))


def _path(random: Random, predicate: str) -> str:
    """A predicate, or a path that leads as far as it does, and further."""
    if random.random() < 0.92:
        return predicate
    further = random.choice(
        [one for one in (iri("next"), iri("knows"), iri("in"), iri("tag"), TYPE) if one != predicate]
    )
    if predicate in (iri("next"), iri("knows")):
        return f"{predicate}{random.choice('+*')}"
    return random.choice(
        [f"({predicate}|{further})", f"{further}?/{predicate}", f"{predicate}/({further}|{iri('part')})?"]
    )


def _asked(random: Random, group: str, values: Mapping[str, str]) -> str:
    """A query of a group, some of whose variables have these values in a solution: all of its solutions, those that a
    constant is compared with or that VALUES leaves, or how many there are.
    """
    names = list(dict.fromkeys(re.findall(r"\?v\d+", group)))
    name = random.choice(names)
    value = values[name]
    if random.random() < 0.2:
        sign = random.choice((">", "<", ">=", "!=", "=") if value[0] == '"' else ("!=", "=", "IN", "NOT IN"))
        group += f" FILTER({name} {sign} {f'({value}, 7)' if sign.endswith('IN') else value})"
    if random.random() < 0.05:
        group += f" VALUES {name} {{ {value} {iri('e3')} }}"
    if random.random() < 0.1:
        return f"SELECT {name} (COUNT(*) AS ?n) {{ {group} }} GROUP BY {name}"
    return f"SELECT * {{ {group} }}"


def _group(random: Random, patterns: list[str]) -> str:
    """All of them joined, or what is behind the first ones in another operator; perhaps some variables compared."""
    middle = random.randrange(2, len(patterns)) if len(patterns) > 2 else 1
    first, rest = " ".join(patterns[:middle]), " ".join(patterns[middle:])
    before, behind = (list(dict.fromkeys(re.findall(r"\?v\d+", text))) for text in (first, rest))
    if len(before) > 1 and random.random() < 0.2:
        one, other = random.sample(before, 2)
        first += random.choice([f" FILTER({one} {sign} {other})" for sign in ("!=", "<", "=")])
    if behind and random.random() < 0.1:
        one, other = random.choice(before or behind), random.choice(behind)
        rest += f" FILTER({one} != {other})"
    if not rest or random.random() < 0.5:
        return f"{first} {rest}"
    half = (middle + len(patterns)) // 2
    one, other = " ".join(patterns[middle:half]), " ".join(patterns[half:])
    shared = [name for name in behind if name in before] or behind[:1] or ["*"]
    return random.choice(
        [
            f"{first} OPTIONAL {{ {rest} }}",
            f"{first} OPTIONAL {{ {one} OPTIONAL {{ {other} }} }}",
            f"{first} OPTIONAL {{ {one} }} OPTIONAL {{ {other} }}",
            f"{first} {{ {rest} }} UNION {{ {one or other} }}",
            f"{{ {one or other} }} UNION {{ {rest} }} {first}",
            f"{first} MINUS {{ {rest} }}",
            f"{first} FILTER NOT EXISTS {{ {rest} }}",
            f"{first} {{ SELECT DISTINCT * {{ {rest} }} }}",
            f"{first} {{ SELECT DISTINCT {' '.join(shared)} {{ {rest} }} }}",
            f"{first} FILTER EXISTS {{ {rest} }}",
            f"{first} FILTER(EXISTS {{ {one} }} || NOT EXISTS {{ {other} }})",
        ]
    )


PARKING = f"""
SELECT * {{
  ?p1 {TYPE} {iri("ParkingVacancy")} . ?p1 {iri("isPropertyOf")} ?f .
  ?f {iri("hasStartLatitude")} ?lat1 . ?f {iri("hasStartLongitude")} ?lon1 .
  ?o1 {TYPE} ?ob . ?o1 {iri("observedProperty")} ?p1 . ?o1 {iri("observedBy")} {iri("X")} .
  ?o2 {TYPE} ?ob . ?o2 {iri("observedBy")} {iri("Y")} .
}}"""
"""Which parking place an observation is of, and what else of its type was observed."""


def parking_world(instants: int = 1) -> World:
    """A repository of 44,213 triples, 12,645 of them types, beside windows of 35 triples: all in one default graph."""
    random = Random(7)
    static: list[Triple] = []
    for place in range(12_645):
        static.append((iri(f"p{place}"), TYPE, iri("ParkingVacancy" if place % 25 == 0 else f"K{_skewed(random, 6)}")))
    for place in range(11_000):
        static.append((iri(f"p{place}"), iri("isPropertyOf"), iri(f"f{place // 3}")))
    static += [(iri(f"f{place}"), iri("hasStartLatitude"), f'"{place}.5"') for place in range(4000)]
    static += [(iri(f"f{place}"), iri("hasStartLongitude"), f'"{place}.25"') for place in range(4000)]
    static += [(iri(f"p{place}"), iri("hasSource"), iri(f"file{place % 7}")) for place in range(12_568)]
    streams = []
    for sensor, property_ in (("X", "p25"), ("Y", "p30")):
        elements: list[tuple[int, Triple]] = []
        for place in range((WIDTH + instants * STEP) // 2500):
            observation, time = iri(f"{sensor}{place}"), 1 + place * 2500
            elements += [
                (time, (observation, TYPE, iri("Observation"))),
                (time, (observation, iri("observedBy"), iri(sensor))),
                (time, (observation, iri("observedProperty"), iri(property_))),
                (time, (observation, iri("hasValue"), f'"{place}"^^<{INTEGER}>')),
            ]
        streams.append((None, tuple(sorted(elements))))
    return World(tuple(streams), {None: static})
