"""(o) Queries over windows under RDFS, against the same queries under no regime.

Windows of 100,000 triples, tumbling and sliding by a tenth, and a schema of 500 classes and 100 properties with domains
and ranges. What is measured is processor time of an evaluation: the window's content, the statement, the answer.

There are two things to compare with. The same query over the same window has fewer answers, where something follows:
so it is only right beside queries that nothing follows for. For all others the same answers are asked for without a
regime, over a window in which the triples that the query matches were sent, those that follow among them. That is the
least a publisher would have to send, and so the strictest of such windows. The target is about this one. Of tumbling
windows it is told as well what the statement and the answer take, without what makes the window's content.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyoxigraph as ox

from protocol.entailment.closure import Closure
from protocol.entailment.regimes import Regime
from protocol.entailment.rules import NAMESPACES
from protocol.grammar.parser import parse
from protocol.language import algebra as a
from protocol.language.model import ContinuousQuery
from protocol.streams import StreamSettings, TimeKind
from protocol.terms import facets, term_text
from spark_backend.compiler.plan import compile_query
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.layout import Layout
from spark_backend.log.format.columns import REQUEST
from spark_backend.log.writer import StreamLog
from spark_backend.registry import PreparedQuery, Registry
from spark_backend.statics.tables import StaticTables
from tests.benchmarks.figures import Figure, median_of
from tests.spark_backend.compiler.one_shot import Graphs

_TARGET = 1.5
_CLASSES, _PROPERTIES, _SENSORS = 500, 100, 200
_OBSERVATIONS = 2_000
"""Of a second, with five triples each."""
_SECOND, _WIDTH = 1000, 10
_EX = "http://ex/"
_TYPE = f"{NAMESPACES['rdf']}type"
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class _Asked:
    """A query, as its SELECT and its pattern. ``grows``: under RDFS it has more answers."""

    name: str
    select: str
    pattern: str
    rest: str = ""
    grows: bool = True

    def text(self, window: str) -> str:
        windows = f"FROM NAMED WINDOW :w ON :s [{window}]"
        return f"PREFIX : <{_EX}> SELECT {self.select} {windows} WHERE {{ WINDOW :w {{ {self.pattern} }} }} {self.rest}"


@dataclass(frozen=True)
class _Cost:
    """Processor time of an evaluation in seconds, and what of it is the statement's and the answer's."""

    whole: float
    statement: float


QUERIES = (
    _Asked("a class with nothing below it", "?x", "?x a :C400", grows=False),
    _Asked(
        "values by sensor, of properties with nothing below them",
        "?s (AVG(?v) AS ?mean)", "?x :by ?s ; :value ?v", "GROUP BY ?s", grows=False,
    ),
    _Asked("a class with 20 below it", "?x", "?x a :C6"),
    _Asked(
        "such a class, and values by sensor", "?s (AVG(?v) AS ?mean)", "?x a :C6 ; :by ?s ; :value ?v", "GROUP BY ?s"
    ),
    _Asked("a property with 12 below it", "?x ?y", "?x :p2 ?y"),
    _Asked("a class that only domains and ranges tell of", "?x", "?x a :C3"),
    _Asked("any class", "?c (COUNT(*) AS ?n)", "?x a ?c", "GROUP BY ?c"),
    _Asked("any triple", "?p (COUNT(*) AS ?n)", "?x ?p ?o", "GROUP BY ?p"),
)  # fmt: skip


def schema() -> str:
    """Turtle: trees of classes (four below each) and properties (three below each), which have domains and ranges.

    Nothing is below C400, ``by`` and ``value``; instances are of the classes below C1 and C2 alone.
    """
    rdfs = NAMESPACES["rdfs"]
    lines = [f":C{n} <{rdfs}subClassOf> :C{(n - 1) // 4} ." for n in range(1, _CLASSES)]
    lines += [f":p{n} <{rdfs}subPropertyOf> :p{(n - 1) // 3} ." for n in range(1, _PROPERTIES)]
    lines += [f":p{n} <{rdfs}domain> :C{3 + n % 2} ; <{rdfs}range> :C{13 + n % 3} ." for n in range(3, _PROPERTIES, 4)]
    lines += [f":by <{rdfs}range> :C4 .", f":value <{rdfs}domain> :C0 ."]
    return "\n".join(lines)


def _said(second: int) -> Iterator[Triple]:
    """Observations of a second: their class, their sensor, their value, and two relations."""
    source = random.Random(second)
    leaves = [f"<{_EX}C{number}>" for number in range(100, _CLASSES)]
    for number in range(_OBSERVATIONS):
        subject = f"<{_EX}o{second}_{number}>"
        yield subject, f"<{_TYPE}>", source.choice(leaves)
        yield subject, f"<{_EX}by>", f"<{_EX}sensor{source.randrange(_SENSORS)}>"
        value = f'"{source.randrange(1000) / 10}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
        yield subject, f"<{_EX}value>", value
        for _ in range(2):
            thing = f"<{_EX}thing{source.randrange(100_000)}>"
            yield subject, f"<{_EX}p{source.randrange(3, _PROPERTIES)}>", thing


def _following(said: Sequence[Sequence[Triple]]) -> list[list[Triple]]:
    """What is said in each second with what follows from it; every five seconds, what follows from the schema alone."""
    alone = Closure(Regime.RDFS)
    prefix = f"@prefix : <{_EX}> .\n"
    alone.add_terms(
        (one.subject, one.predicate, one.object)
        for one in ox.parse((prefix + schema()).encode(), format=ox.RdfFormat.TURTLE)
    )
    of_schema = _texts(alone)
    found = []
    for second, triples in enumerate(said, 1):
        both = alone.copy()
        lines = "".join(f"{s} {p} {o} .\n" for s, p, o in triples).encode()
        parsed = ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)
        both.add_terms((one.subject, one.predicate, one.object) for one in parsed)
        every = _texts(both)
        found.append(sorted(every if second % 5 == 0 else every - of_schema))
    return found


def _texts(closure: Closure) -> set[Triple]:
    return {(str(s), str(p), term_text(o)) for s, p, o in closure.triples()}


def _batch(triples: Sequence[Triple], second: int) -> pa.RecordBatch:
    objects = [facets(o) for _, _, o in triples]
    columns = {
        "element": list(range(len(triples))),
        "time": [second * _SECOND - 500] * len(triples),
        "g": [None] * len(triples),
        **{name: [triple[place] for triple in triples] for place, name in enumerate("spo")},
        "k": [int(kind) for kind, _ in objects],
        "n": [number for _, number in objects],
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[field.name], field.type) for field in REQUEST], schema=REQUEST)


def measure(*, quick: bool) -> list[Figure]:
    """Raises RuntimeError where the answers are not those over what was sent."""
    windows = 2 if quick else 6
    said = [list(_said(second)) for second in range(1, windows * _WIDTH + 1)]
    following = _following(said)
    figures: list[Figure] = []
    with TemporaryDirectory(prefix="sparql-streams-bench-") as directory:
        bench = _Bench(Path(directory))
        bench.append("said", said)
        tumbling = [second * _SECOND for second in range(_WIDTH, windows * _WIDTH + 1, _WIDTH)]
        sliding = [second * _SECOND for second in range(_WIDTH, 2 * _WIDTH + 1)]
        for asked in QUERIES:
            bench.append("sent", _matched(asked, said, following))
            for window, instants in (("RANGE 10s", tumbling), ("RANGE 10s STEP 1s", sliding)):
                figures += bench.figures(asked, window, instants)
    return figures


def _matched(
    asked: _Asked, said: Sequence[Sequence[Triple]], following: Sequence[Sequence[Triple]]
) -> list[list[Triple]]:
    """What is said in each second, and of what follows what the query's pattern matches."""
    query = parse(asked.text("RANGE 10s"))
    assert isinstance(query, ContinuousQuery)
    patterns = [
        tuple(part.text if isinstance(part, a.Constant) else None for part in (one.subject, one.predicate, one.object))
        for one in a.nodes(query.expression.pattern)
        if isinstance(one, a.TriplePattern)
    ]

    def is_matched(triple: Triple) -> bool:
        return any(
            all(term in (None, ours) for term, ours in zip(pattern, triple, strict=True)) for pattern in patterns
        )

    return [
        list(dict.fromkeys((*sent, *filter(is_matched, every)))) for sent, every in zip(said, following, strict=True)
    ]


class _Bench:
    """Logs and prepared queries in a data directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._layout = Layout(root)
        self._layout.make()
        self._statics = StaticTables(self._layout.statics, Graphs({None: f"@prefix : <{_EX}> .\n{schema()}"}))
        self._logs = 0
        self._log_of: dict[str, str] = {}

    def append(self, name: str, seconds: Sequence[Sequence[Triple]]) -> None:
        """Make this the stream of a name."""
        self._logs += 1
        self._log_of[name] = f"s{self._logs}"
        settings = StreamSettings(f"{_EX}s", TimeKind.EVENT, retention=10**9)
        log = StreamLog.open(self._layout.streams / self._log_of[name], settings, lambda: 0)
        for second, triples in enumerate(seconds, 1):
            log.append(_batch(triples, second))
        log.append(_batch([(f"<{_EX}end>",) * 3], len(seconds) + 1))
        log.close()

    def figures(self, asked: _Asked, window: str, instants: Sequence[int]) -> Iterator[Figure]:
        text = asked.text(window)
        runs = {
            "rdfs": self._run(text, "said", Regime.RDFS, instants),
            "none": self._run(text, "said", Regime.NONE, instants),
            "sent": self._run(text, "sent", Regime.NONE, instants),
        }
        costs: dict[str, list[_Cost]] = {name: [] for name in runs}
        names = list(runs)
        for instant in instants:
            answers = {}
            names = names[1:] + names[:1]  # each is the first in turn
            for name in names:
                cost, answers[name] = next(runs[name])
                if instant > instants[0]:  # that one is to warm up
                    costs[name].append(cost)
            if answers["rdfs"] != answers["sent"]:
                raise RuntimeError(f"{asked.name}, {window}: other answers than over what was sent, at {instant}")
            if not answers["rdfs"] or (not asked.grows and answers["rdfs"] != answers["none"]):
                raise RuntimeError(f"{asked.name}, {window}: not what it was written for")
        of_all = {name: 1000 * median_of([one.whole for one in some]) for name, some in costs.items()}
        after = {name: 1000 * median_of([one.statement for one in some]) for name, some in costs.items()}
        slides = "STEP" in window
        label = f"{asked.name}, {'sliding' if slides else 'tumbling'}"
        beside, told = ("sent", "what follows is sent") if asked.grows else ("none", "no regime")
        details = {"seconds": {name: [asdict(one) for one in some] for name, some in costs.items()}}

        def figure(label: str, found: dict[str, float], beside: str, told: str, target: float | None) -> Figure:
            ours, theirs = found["rdfs"], found[beside]
            return Figure("o", label, ours, "ms", ours / theirs, target, False, theirs, told, details)

        yield figure(label, of_all, beside, told, _TARGET)
        if not slides:  # what slides is matched where the window's content is made
            yield figure(f"{label}: its content not counted", after, beside, told, None)
        if asked.grows:
            yield figure(f"{label}: fewer answers", of_all, "none", "no regime", None)

    def _run(
        self, text: str, stream: str, regime: Regime, instants: Sequence[int]
    ) -> Iterator[tuple[_Cost, list[bytes | str]]]:
        """The cost and the solutions of each evaluation, one after the other."""
        query = parse(text)
        assert isinstance(query, ContinuousQuery)
        query = replace(query, entailment=regime)
        plan = compile_query(query, present=lambda pattern: self._statics.file(pattern) is not None)
        files = {pattern.table: file for pattern in plan.statics if (file := self._statics.file(pattern)) is not None}
        windows = tuple(replace(window, stream=self._log_of[stream]) for window in query.windows)
        prepared = Registry(self._layout.queries).write_prepared("q", PreparedQuery(plan, windows, files))
        evaluator = Evaluator(self._root)
        for instant in instants:
            evaluator.refresh()
            began = time.process_time()
            (step,) = evaluator.plan([("q", prepared, [instant])]).steps
            evaluator.prepare(step)
            prepared_at = time.process_time()
            ((_, answer),) = evaluator.answers(step)
            ended = time.process_time()
            yield _Cost(ended - began, ended - prepared_at), sorted(answer.solutions)
