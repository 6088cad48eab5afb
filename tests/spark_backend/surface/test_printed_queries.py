"""The queries that the papers print, read from the project's shared material: they are accepted as they are printed,
and give what the query beside them, in the plain words of docs/language.md, gives over random streams with repeated and
late elements; and over small streams what was worked by hand (`printed/`). What their authors slipped at is refused.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from protocol.errors import ProtocolError, QuerySyntaxError
from protocol.grammar.one_shot import as_standard
from protocol.grammar.parser import parse
from protocol.language.algebra import BGP, Constant, Graph, TriplePattern, Variable, nodes
from protocol.language.model import ContinuousQuery
from protocol.windows.spec import TimeWindow
from spark_backend.statics.graphs import Quad
from tests.spark_backend.stepped_backend import BASE, Graphs, SteppedBackend
from tests.spark_backend.surface.printed import answers as worked
from tests.spark_backend.surface.printed import c_sparql, events, facts, one_shot, rooms, sliding
from tests.spark_backend.surface.printed.case import Case

QUERIES = Path(__file__).parents[4] / "shared/seed-queries.md"
NAMESPACES = ("b", "c", "lv", "my", "pub", "t", "uc", "wtur", "x")
PREFIXES = "".join(f"PREFIX {name}: <http://example.org/{name}#> " for name in NAMESPACES)
PREFIXES += "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX : <http://example.org/> "

AT_THE_END = ("\\Z", "}")
AFTER_STREAM = (r"\nHAVING", "}\nHAVING")
BARE_NAMES = (r"(?<=\s)(isIn|enter|left)(?=\s)", r":\1")
MENDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "001.1": (("total-sensor", "total_sensor"),),
    "001.7": ((re.escape("^^"), "&&"),),
    "001.9": ((r"\?Tot\b", "?tot"),),
    "003.1": ((r"(?m)^\(\d+\) ", ""),),
    "004.8": (("GROUPBY", "GROUP BY"),),
    "004.9": (("GROUPBY", "GROUP BY"),),
    "004.10": (BARE_NAMES,),
    "004.11": (BARE_NAMES,),
    "004.12": (BARE_NAMES,),
    "004.17": (AT_THE_END,),
    "004.18": (AT_THE_END,),
    "004.20": (AT_THE_END,),
    "004.24": (AFTER_STREAM,),
    "004.26": (BARE_NAMES,),
    "004.27": (
        BARE_NAMES,
        ("(?m)^//", "#"),
        (r"\?\sroom", "?room"),
        ("P3SEC", "PT3S"),
        ("xsd:Duration", "xsd:duration"),
    ),
    "004.29": (BARE_NAMES,),
}
"""What was lost when the text was extracted, and what the authors slipped at: a pattern and what is meant, each."""
SLIPS = {*MENDS} - {"001.9"}
OF_EVENTS = {"004.12", "004.16", "004.20", "004.21", "004.22", "004.24"}
"""Of occurrences, and the plain words beside them are about sets: they differ where triples repeat."""
OF_FACTS = {"004.27"}
"""Facts hold from occurrences on, too."""
NO_QUERIES = {"002.2", "004.25", "004.28", "004.31"}
"""A group by itself, and three statements of Esper's."""

NEVER_BOUND = {"004.16": ("person2",)}
"""What is selected, and in no pattern."""

STORED = ("hasCapacity>", "sameLevelWith>", "hasDegree>", "is_from>")
"""Properties of what is in the store, and not in streams."""

CASES = (*one_shot.CASES, *c_sparql.CASES, *sliding.CASES, *rooms.CASES, *events.CASES, *facts.CASES)

pytestmark = [
    pytest.mark.long,
    pytest.mark.shared,
    pytest.mark.skipif(not QUERIES.is_file(), reason="the printed queries are not here"),
]


@dataclass(frozen=True)
class Printed:
    """A query as it is printed, and one that gives the same, None where there is none."""

    number: str
    text: str
    by_hand: str | None

    @property
    def mended(self) -> str:
        text = self.text
        for damage, meant in MENDS.get(self.number, ()):
            text = re.sub(damage, meant, text)
        return " ".join([PREFIXES, *re.findall("PREFIX .*", self.by_hand or ""), text])


@cache
def printed() -> dict[str, Printed]:
    found = {}
    for section in QUERIES.read_text("utf-8").split("\n## ")[1:]:
        number = section.split(" ", 1)[0]
        texts = re.findall(r"```\n(.*?)\n```", section, re.DOTALL)
        if re.fullmatch(r"\d{3}\.\d+", number) and texts:
            by_hand = re.search(r"```sparql\n(.*?)\n```", section, re.DOTALL)
            found[number] = Printed(number, texts[0], by_hand and by_hand[1])
    return found


def numbers() -> list[str]:
    return sorted(set(printed()) - NO_QUERIES) if QUERIES.is_file() else []


def read(text: str) -> ContinuousQuery | None:
    """A query over streams; None for a one-shot query, which can be asked of the store."""
    query = parse(text, base=f"{BASE}/sparql")
    if isinstance(query, ContinuousQuery):
        return query
    as_standard(text, f"{BASE}/sparql")
    return None


def test_all_are_there() -> None:
    assert len(printed()) == 47
    assert set(printed()) >= {*MENDS, *OF_EVENTS, *OF_FACTS, *NO_QUERIES}
    assert {case.number for case in CASES} == set(numbers())
    assert all([*case.arrivals()] != [*case.in_order().arrivals()] for case in CASES if case.elements)


@pytest.mark.parametrize("number", numbers())
def test_it_is_accepted_and_what_it_never_binds_is_all_that_is_warned_of(number: str) -> None:
    query = read(printed()[number].mended)
    told = () if query is None else query.warnings
    assert [warning.split(",")[0] for warning in told] == [
        f"?{name} is never bound here" for name in NEVER_BOUND.get(number, ())
    ]


@pytest.mark.parametrize("number", sorted(SLIPS))
def test_what_is_damaged_is_refused_at_its_place(number: str) -> None:
    one = printed()[number]
    with pytest.raises(QuerySyntaxError) as refused:
        read(PREFIXES + one.text)
    assert refused.value.line is not None
    read(one.mended)


@pytest.mark.parametrize("number", sorted(NO_QUERIES))
def test_what_is_no_query_is_refused(number: str) -> None:
    with pytest.raises(ProtocolError, match="EPL" if number.startswith("004") else "RSTREAM goes right after"):
        read(printed()[number].text)


@pytest.mark.parametrize(
    "number", [one for one in numbers() if printed()[one].by_hand and one not in OF_EVENTS | OF_FACTS]
)
def test_it_answers_what_plain_words_answer(tmp_path: Path, number: str) -> None:
    one = printed()[number]
    by_hand = PREFIXES + (one.by_hand or "")
    if read(one.mended) is None:
        assert as_standard(one.mended) != by_hand  # asked of a store in tests/protocol/grammar/test_one_shot.py
        return
    filled = 0
    for seed in range(6):
        source = random.Random(seed)
        elements, static = content(source, one.mended)
        expected = answers(tmp_path / f"{seed}-hand", by_hand, elements, static)
        assert answers(tmp_path / f"{seed}-printed", one.mended, elements, static) == expected
        filled += len(expected)
    assert filled


Element = tuple[str, int, str]


def content(source: random.Random, text: str) -> tuple[list[Element], list[Quad]]:
    """Triples that the query's patterns match: elements of its streams, in the order of arrival, and some graphs."""
    query = read(text)
    assert query is not None
    widths = [window.window.width for window in query.windows if isinstance(window.window, TimeWindow)]
    unit = min(max(widths, default=1000) // 8, 60_000) or 1
    counts = Counter(part for _, triple in patterns(query) for part in triple.variables)
    few = {triple.subject for _, triple in patterns(query)} | {part for part, count in counts.items() if count > 1}
    streamed: list[str] = []
    static: list[Quad] = []
    for graph, triple in patterns(query):
        found = [instance(source, triple, few) for _ in range(20)]
        if isinstance(triple.predicate, Constant) and triple.predicate.text.endswith(STORED):
            name = "" if graph is None else f"<{graph}>"
            static += [(name, *one) for one in found[: source.choice((2, 20))]]
        else:
            streamed += [f"{' '.join(one)} ." for one in found]
    elements: list[Element] = []
    together = source.choice((0.2, 0.9))
    for number in range(24):
        at = (number + source.choice((0, 0, 0, -2))) * unit  # late, but not too late
        sent = source.choices(streamed, k=source.choice((1, 2, 6)))
        if source.random() < together:  # all that is of one object comes together
            sent = [one for one in streamed if one.split()[2] == sent[0].split()[2]]
        elements.append((source.choice(query.streams), max(at, 0), " ".join(sent)))
    return elements, list(dict.fromkeys(static))


def patterns(query: ContinuousQuery) -> Iterator[tuple[str | None, TriplePattern]]:
    """Triple patterns, with the IRI of the graph that they are matched in, if one is written."""
    within: dict[int, str] = {}
    for node in nodes(query.expression.pattern):
        if isinstance(node, Graph) and isinstance(node.name, Constant):
            within |= {id(inner): node.name.text[1:-1] for inner in nodes(node.pattern) if isinstance(inner, BGP)}
    for node in nodes(query.expression.pattern):
        if isinstance(node, BGP):
            yield from ((within.get(id(node)), triple) for triple in node.triples)


def instance(source: random.Random, triple: TriplePattern, few: Container[object]) -> tuple[str, str, str]:
    """A triple that matches the pattern; of ``few`` variables there are few values, so that they meet."""
    parts = []
    for part in (triple.subject, triple.predicate, triple.object):
        if isinstance(part, Variable):
            number = part.name in ("amount", "capacity", "y", "z", "price")
            integer = f'"{source.choice((1, 5, 10, 20))}"^^<http://www.w3.org/2001/XMLSchema#integer>'
            parts.append(
                integer
                if number and part is triple.object
                else f"<u:{source.choice('abcd' if part in few else 'abcdefgh')}>"
            )
        else:
            assert isinstance(part, Constant)
            parts.append(part.text)
    return parts[0], parts[1], parts[2]


def answers(
    directory: Path, text: str, elements: list[Element], static: list[Quad]
) -> dict[int, Counter[tuple[str, ...]]]:
    """The solutions of each evaluation that has any, without the names of their variables."""
    query = read(text)
    assert query is not None
    stepped = SteppedBackend(directory, Graphs(static))
    try:
        streams = {iri: f"s{number}" for number, iri in enumerate(sorted({one[0] for one in elements}))}
        streams |= {
            iri: f"s{len(streams) + number}" for number, iri in enumerate(sorted({*query.streams} - {*streams}))
        }
        unit = max(at for _, at, _ in elements) // 23 or 1
        for iri, name in streams.items():
            stepped.event_stream(name, iri, lateness=3 * unit)
        stepped.register("q", text)
        for iri, at, triples in elements:
            stepped.post(streams[iri], triples, at)
        for name in streams.values():
            stepped.backend.end_stream(name)
        stepped.run()
        told = {at: rows(data) for at, data in stepped.answers("q").items()}
        return {at: found for at, found in told.items() if found}
    finally:
        stepped.close()


def rows(data: bytes) -> Counter[tuple[str, ...]]:
    text = data.decode()
    if not text.startswith("{"):
        return Counter((line,) for line in text.splitlines() if line)
    document = json.loads(text)
    names = document["head"]["vars"]
    return Counter(
        tuple(row[name]["value"] if name in row else "" for name in names) for row in document["results"]["bindings"]
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.number))
def test_it_answers_what_was_worked_by_hand(tmp_path: Path, case: Case) -> None:
    text = printed()[case.number].mended
    for name, one in (("late", case), ("in-order", case.in_order())):
        assert worked.answers(tmp_path / name, text, read(text), one) == case.expected(), case.working
