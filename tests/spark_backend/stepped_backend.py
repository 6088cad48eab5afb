"""The backend without Spark: the same clock, evaluator and engine, taken one batch at a time by the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from protocol.entailment.regimes import Regime
from protocol.errors import Unavailable
from protocol.evaluation_limits import NO_LIMITS, EvaluationLimits
from protocol.evaluations import Evaluation, Notice
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.grammar.parser import parse
from protocol.language.model import ContinuousQuery
from protocol.sparql.dataset import NONE_REQUESTED, RequestedGraphs
from protocol.streams import StreamSettings, TimeKind
from protocol.time import LAST_INSTANT, Instant
from spark_backend.answers.answer import Answer
from spark_backend.budget import Budget, Lane
from spark_backend.engine import SparkBackend
from spark_backend.evaluation.evaluator import Evaluator
from spark_backend.evaluation.step import Due, MeasuredStatement, StepEvaluator, evaluate
from spark_backend.layout import Layout
from spark_backend.queries.running_queries import RunningQuery
from spark_backend.queries.services import OtherEndpoints
from spark_backend.site import BY_SIZE, SiteChoice
from spark_backend.spark.pipeline import Receive, SharedSession
from spark_backend.spark.source import EvaluationClock
from spark_backend.spark.task import has_translation
from spark_backend.spark_sql.deferred import SparkSql, complete
from spark_backend.statics.graphs import Quad
from tests.spark_backend.static_graphs import QuadsInMemory

_BUDGET = Budget()
BASE = "http://endpoint.example"


class SteppedPipeline:
    """Plans and evaluates a batch when it is told to; its offset survives in the data directory."""

    def __init__(
        self,
        layout: Layout,
        master: str,
        receive: Receive,
        sites: SiteChoice = BY_SIZE,
        budget: Budget = _BUDGET,
        spark_sql: SparkSql | None = None,
        evaluators: Mapping[Lane, StepEvaluator] | None = None,
        functions: PythonFunctions = NO_FUNCTIONS,
    ) -> None:
        self._layout = layout
        self.receive = receive
        self.offset: dict[str, Instant] = {}
        self.batches: list[list[tuple[str, str, list[Instant]]]] = []
        self.state, self.detail = "running", "steps"
        self._clock = EvaluationClock(layout.root)
        self._evaluator = Evaluator(
            layout.root, sites=sites, has_translation=has_translation, budget=budget, functions=functions.to_json()
        )
        self._evaluators = evaluators or {Lane.COMMON: self._evaluator, Lane.OWN: self._evaluator}
        self._spark_sql = spark_sql or _NoSparkSql()

    def start(self) -> None:
        """Nothing runs by itself."""

    def stop(self) -> None:
        """Nothing runs by itself."""

    def answers(self, key: str, prepared: str, instants: Sequence[Instant], budget: Budget) -> Iterator[Answer]:
        answers = self._evaluated([(key, prepared, instants)], Lane.OWN)
        return iter([answer for _, answer in complete(answers, self._spark_sql)])

    def measured(self, key: str, prepared: str, instant: Instant, budget: Budget) -> MeasuredStatement:
        self._evaluator.refresh()
        return self._evaluator.operators((key, prepared, [instant]))

    def tried(self, due: Sequence[Due]) -> list[tuple[str, Answer]]:
        return self._evaluated(due, Lane.COMMON)

    def cancel(self, key: str) -> None:
        """Nothing runs by itself."""

    def session(self) -> SharedSession:
        raise Unavailable("no Spark runs here")

    def step(self) -> bool:
        """One micro-batch; False when nothing is due."""
        end = self._clock.advance(self.offset)
        if end == self.offset:
            return False
        due = self._clock.due(self.offset, end)
        self.batches.append(due)
        self.receive(self._evaluated(due, Lane.COMMON))
        self.offset = end
        return True

    def _evaluated(self, due: Sequence[Due], lane: Lane) -> list[tuple[str, Answer]]:
        """As Spark hands them over: the answers of a query in order of their instants, whatever they were made with."""
        evaluator = self._evaluators[lane]
        evaluator.refresh()
        return sorted(evaluate(evaluator, due, lane), key=lambda row: (row[0], row[1].instant))


class _NoSparkSql:
    def answers(self, prepared: str, instants: Sequence[Instant], rows: int) -> list[Answer]:
        raise AssertionError("nothing is to be left to Spark SQL here")


class Graphs(QuadsInMemory):
    """Static graphs in memory: quads of canonical terms, the graph "" being the default one."""

    def __init__(self, quads: Sequence[Quad] = ()) -> None:
        self._quads = list(quads)
        self.version = 0

    def set(self, quads: Sequence[Quad]) -> None:
        self._quads = list(quads)
        self.version += 1

    def named_graphs(self) -> list[str]:
        return sorted({g[1:-1] for g, *_ in self._quads if g})

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[Quad]:
        wanted, names = (subject, predicate, object), [""] if graphs is None else [f"<{name}>" for name in graphs]
        return (
            q
            for q in self._quads
            if q[0] in names and all(w in (None, part) for w, part in zip(wanted, q[1:], strict=True))
        )


class SteppedBackend:
    """A SparkBackend whose pipeline is stepped, with the notices it has told."""

    def __init__(
        self,
        directory: Path,
        graphs: Graphs | None = None,
        clock: int = 0,
        *,
        base: str = BASE,
        sites: SiteChoice = BY_SIZE,
        spark_sql: SparkSql | None = None,
        evaluators: Callable[[Layout], Mapping[Lane, StepEvaluator]] | None = None,
        endpoints: OtherEndpoints | None = None,
        functions: PythonFunctions = NO_FUNCTIONS,
    ) -> None:
        self.now = clock
        self.set_by = 0
        self.graphs = graphs or Graphs()
        self.pipeline: SteppedPipeline

        def make(layout: Layout, master: str, receive: Receive, sites: SiteChoice, budget: Budget) -> SteppedPipeline:
            made = None if evaluators is None else evaluators(layout)
            self.pipeline = SteppedPipeline(layout, master, receive, sites, budget, spark_sql, made, functions)
            return self.pipeline

        self.backend = SparkBackend(
            directory, self.graphs, base_iri=base, clock=lambda: self.now + self.set_by, steady=lambda: self.now,
            sites=sites, make_pipeline=make, endpoints=endpoints, functions=functions,
        )  # fmt: skip
        # What asks services is evaluated in the turn itself, and the test does not wait for a thread.
        self.backend._lanes.apart = lambda work: work()
        self.notices: list[Notice] = []
        self.backend.listen(self.notices.extend)

    def event_stream(self, name: str, iri: str, lateness: int = 0, partitions: int = 1) -> None:
        settings = StreamSettings(iri, TimeKind.EVENT, allowed_lateness=lateness, partitions=partitions)
        self.backend.create_stream(name, settings)

    def post(self, name: str, turtle: str, at: Instant) -> None:
        self.backend.append(name, turtle.encode(), "text/turtle", at)

    def register(
        self,
        name: str,
        text: str,
        *,
        since: Instant | None = None,
        landmark: Instant | None = None,
        standing: bool = True,
        limits: EvaluationLimits = NO_LIMITS,
        requested: RequestedGraphs = NONE_REQUESTED,
        entailment: Regime = Regime.NONE,
        base: str = f"{BASE}/sparql",
    ) -> None:
        query = parse(text, base=base, requested=requested)
        assert isinstance(query, ContinuousQuery)
        query = replace(query, entailment=entailment)
        self.backend.register(name, query, standing=standing, since=since, landmark=landmark, limits=limits)

    def run(self) -> None:
        """Take batches, and turns in lanes of their own, until nothing is due."""
        while self.pipeline.step() or self.turn():
            pass

    def turn(self) -> bool:
        """One turn in a lane of its own, or the trial of what is new; False when nothing is due there."""
        return self.backend._lanes._trials.turn() or self.backend._lanes.turn()

    def running(self, name: str) -> RunningQuery:
        """The query as the engine has it."""
        return self.backend._running.named(name)

    def replayed(self, name: str, after: Instant | None = None, upto: Instant = LAST_INSTANT) -> dict[Instant, bytes]:
        """The query's answers in (after, upto] once more; none of them has failed."""
        found = list(self.backend.replay(name, after, upto))
        answers = {one.instant: one.data for one in found if isinstance(one, Evaluation)}
        assert list(answers) == [one.instant for one in found], "an evaluation failed"
        return answers

    def answers(self, name: str) -> dict[Instant, bytes]:
        """The documents told so far, by instant."""
        return {n.instant: n.data for n in self.notices if isinstance(n, Evaluation) and n.query == name}

    def close(self) -> None:
        self.backend.stop()
