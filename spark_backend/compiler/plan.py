"""A compiled continuous query: everything a task needs to evaluate it, as plain JSON.

Compiling happens once, where the query is registered; tasks need no grammar.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

from protocol.errors import ProtocolError
from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from protocol.language import algebra as a
from protocol.language.model import R2S, ContinuousQuery, FactDefinition, Form
from protocol.windows.spec import FactsWindow
from spark_backend.compiler.algebra.marks import with_marks
from spark_backend.compiler.algebra.matches import with_matches
from spark_backend.compiler.algebra.new_matches import of_new_matches
from spark_backend.compiler.algebra.timestamps import with_timestamps
from spark_backend.compiler.deep_stack import with_deep_stack
from spark_backend.compiler.entailment import (
    beyond_rewriting,
    refuse_schemas_that_data_extend,
    refuse_what_is_not_entailed,
)
from spark_backend.compiler.facts import compile_facts
from spark_backend.compiler.parameters import Lifting
from spark_backend.compiler.passes import PASSES, Pass
from spark_backend.compiler.passes.knowledge import Knowledge
from spark_backend.compiler.passes.split_monotone import slides
from spark_backend.compiler.refusals import refuse_what_is_not_compiled, with_place
from spark_backend.compiler.services import ServiceCall, SplitService, split_services
from spark_backend.compiler.shape_statement import IntervalStatement, shape_statement
from spark_backend.compiler.sql.closed_content import ClosedContent
from spark_backend.compiler.sql.dataset import QueryDataset
from spark_backend.compiler.sql.expressions.expressions import PreludeFunction
from spark_backend.compiler.sql.interval_part import IntervalPart
from spark_backend.compiler.sql.sources import Source
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.compiler.sql.tree.nodes import Pieces
from spark_backend.compiler.sql.tree.placeholders import pieces_from_json, pieces_to_json
from spark_backend.compiler.statistics import Statistics

TemplatePart: TypeAlias = "str | TemplateTriple"
"""A term, a variable as ``?name``, a blank node as ``_:label``, or a triple term."""
TemplateTriple: TypeAlias = tuple[TemplatePart, TemplatePart, TemplatePart]


@dataclass(frozen=True)
class PlannedService:
    """A service that is asked before the statement is evaluated, and the plan of the terms it is given, if any are.

    ``bindings`` may read what the services before it gave.
    """

    call: ServiceCall
    bindings: Plan | None

    def to_json(self) -> dict[str, Any]:
        return {"call": asdict(self.call), "bindings": None if self.bindings is None else self.bindings.to_json()}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> PlannedService:
        bindings = document["bindings"]
        call = ServiceCall.from_json(document["call"])
        return cls(call, None if bindings is None else Plan.from_json(bindings))


@dataclass(frozen=True)
class Plan:
    """One SQL statement over tables of instants, of windows' contents and of static triples, and its constants.

    Queries of the same ``shape`` have the same statement, and differ in the terms of their ``parameters``: any
    number of them is evaluated at once. The statement is a written tree with placeholders, which
    ``evaluation.statement`` fills in; ``mark`` is a digest of what it depends on. Its columns are ``instant``,
    ``member`` (which of the queries) and one term (canonical N-Triples or NULL) for each of ``variables``, its rows in
    the order of the answer. The columns of ``sums`` (by their place among the variables, with whether it is an
    average) come in parts, and the rows, unless ``ordered``, in no order: see ``answers.sums``. ``template``
    (CONSTRUCT) has variables as ``?name``. ``statics`` are all static patterns of the query; the statement reads only
    those that had matches when it was compiled. ``identity`` is a digest of the query's text. ``timed``: the windows'
    tables need the triples' times, column ``t``. ``static_joins``: SELECTs over static tables alone, which are tables
    of their own, made anew when those change. ``sources``: what triple patterns and static joins are matched in, and
    which of them narrow which; ``in_order``: every FROM of the statement is one table, or sources, whose order is told
    there. ``matches``: so many columns behind those of the variables tell apart, for ISTREAM and DSTREAM, what
    solutions are matches of. ``new_matches``: an answer has the new matches of the query's event pattern
    alone, so that it is what ISTREAM gives. ``passes``: the names of those that changed the query (``passes``).
    ``intervals``: the statement by which it may be evaluated where it reads nothing of windows but what is matched once
    for all instants. ``facts``: by the key of each definition that it reads, the SQL of its facts (``compiler.facts``).
    ``services``: what it asks of other endpoints, in this order. ``closed``: the graphs of which all that follows
    is made.
    Not in the JSON: ``algebra``, the query after the passes, its constants parameters; and ``present``, those of
    ``statics`` that had matches.
    """

    form: Form
    operator: R2S
    identity: str
    variables: tuple[str, ...]
    sql: Pieces
    mark: str
    parameters: tuple[str, ...]
    functions: tuple[PreludeFunction, ...]
    statics: tuple[StaticPattern, ...]
    base: str | None
    template: tuple[TemplateTriple, ...] | None = None
    sums: tuple[tuple[int, bool], ...] = ()
    ordered: bool = True
    timed: bool = False
    static_joins: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    in_order: bool = False
    matches: int = 0
    new_matches: bool = False
    passes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    intervals: IntervalStatement | None = None
    services: tuple[PlannedService, ...] = ()
    closed: tuple[ClosedContent, ...] = ()
    algebra: a.Query | None = field(default=None, compare=False)
    present: frozenset[StaticPattern] = field(default=frozenset(), compare=False)

    @property
    def shape(self) -> tuple[object, ...]:
        """What the plans of queries that can be evaluated together have in common."""
        return self.mark, self.sql, self.static_joins, self.sources, self.variables, self.sums, self.ordered

    def to_json(self) -> str:
        return json.dumps(
            {
                "form": self.form.value,
                "operator": self.operator.value,
                "identity": self.identity,
                "variables": self.variables,
                "sql": pieces_to_json(self.sql),
                "mark": self.mark,
                "parameters": self.parameters,
                "functions": [[f.name, f.expression, f.arguments] for f in self.functions],
                "statics": [pattern.to_json() for pattern in self.statics],
                "base": self.base,
                "template": self.template,
                "sums": self.sums,
                "ordered": self.ordered,
                "timed": self.timed,
                "static_joins": self.static_joins,
                "sources": [source.to_json() for source in self.sources],
                "in_order": self.in_order,
                "matches": self.matches,
                "new_matches": self.new_matches,
                "passes": self.passes,
                "facts": self.facts,
                "intervals": None
                if self.intervals is None
                else {
                    "sql": pieces_to_json(self.intervals.sql),
                    "parts": [part.to_json() for part in self.intervals.parts],
                },
                "services": [service.to_json() for service in self.services],
                "closed": [content.to_json() for content in self.closed],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        document = json.loads(text)
        template, intervals = document["template"], document["intervals"]
        return cls(
            form=Form(document["form"]),
            operator=R2S(document["operator"]),
            identity=document["identity"],
            variables=tuple(document["variables"]),
            sql=pieces_from_json(document["sql"]),
            mark=document["mark"],
            parameters=tuple(document["parameters"]),
            functions=tuple(PreludeFunction(*function) for function in document["functions"]),
            statics=tuple(map(StaticPattern.from_json, document["statics"])),
            base=document["base"],
            template=None if template is None else tuple(map(_template_triple, template)),
            sums=tuple((place, average) for place, average in document["sums"]),
            ordered=document["ordered"],
            timed=document["timed"],
            static_joins=tuple(document["static_joins"]),
            sources=tuple(map(Source.from_json, document["sources"])),
            in_order=document["in_order"],
            matches=document["matches"],
            new_matches=document["new_matches"],
            passes=tuple(document["passes"]),
            facts=tuple((definition, sql) for definition, sql in document["facts"]),
            intervals=None
            if intervals is None
            else IntervalStatement(
                pieces_from_json(intervals["sql"]), tuple(map(IntervalPart.from_json, intervals["parts"]))
            ),
            services=tuple(map(PlannedService.from_json, document["services"])),
            closed=tuple(map(ClosedContent.from_json, document["closed"])),
        )


def _template_triple(written: Sequence[Any]) -> TemplateTriple:
    """A triple of a template as it is in JSON, where triple terms are lists."""
    s, p, o = (part if isinstance(part, str) else _template_triple(part) for part in written)
    return s, p, o


def compile_query(
    query: ContinuousQuery,
    *,
    base: str | None = None,
    present: Callable[[StaticPattern], bool] = lambda _: True,
    statistics: Callable[[], Statistics | None] = lambda: None,
    passes: Sequence[Pass] = PASSES,
    functions: PythonFunctions = NO_FUNCTIONS,
) -> Plan:
    """The plan of a continuous query, given which static patterns have matches in the store: that is asked once of
    each, as the store may change meanwhile.

    ``statistics`` of the query's streams are asked for where the shape is not known yet. ``functions`` are the
    application's own.
    Raises QuerySyntaxError and UnsupportedFeature, naming the construct and its place in the text that was sent.
    """
    present = cache(present)
    try:
        return with_deep_stack(lambda: _compile(query, base, present, statistics, passes, functions))
    except ProtocolError as error:
        raise with_place(error, query.text) from error


def _compile(
    query: ContinuousQuery,
    base: str | None,
    present: Callable[[StaticPattern], bool],
    statistics: Callable[[], Statistics | None],
    passes: Sequence[Pass],
    functions: PythonFunctions,
) -> Plan:
    query, split = split_services(query)
    services = _planned(
        split,
        partial(_compile, base=base, present=present, statistics=statistics, passes=passes, functions=functions),
    )
    refuse_what_is_not_compiled(query.expression.pattern, functions)
    refuse_what_is_not_entailed(query)
    refuse_schemas_that_data_extend(beyond_rewriting(query, ()), present)
    asked, matches, followers = query.expression, 0, None
    if (by_new := of_new_matches(query)) is not None:
        asked, followers = by_new
    elif query.operator is not R2S.RSTREAM:
        asked, matches = with_matches(asked)
    asked = replace(asked, pattern=with_timestamps(with_marks(asked.pattern)))
    base = asked.base or base
    template = None
    if asked.template is not None:
        template = tuple((_write(s), _write(p), _write(o)) for s, p, o in asked.template)
    if query.form is Form.ASK and query.operator is R2S.RSTREAM:  # whether there is a solution, whichever
        asked = a.Query(a.Distinct(a.Project(asked.pattern, ())), ())
    identity = hashlib.sha256(query.text.encode()).hexdigest()[:16]
    lifting = Lifting(QueryDataset(query, present), identity)
    lifted = lifting.query(asked)
    mark = _mark(lifted, query, base, passes, by_new=followers is not None)

    def knowledge() -> Knowledge:
        return Knowledge(QueryDataset(query, present, followers=followers), base, statistics())

    statement = shape_statement(lifted, mark, present, knowledge, passes)
    facts = [compile_facts(definition, query) for definition in dict.fromkeys(_read(query))]
    statics = [*(pattern for pattern, _ in statement.statics), *lifting.dataset.statics]
    beyond = beyond_rewriting(query, statics)
    refuse_schemas_that_data_extend(beyond, present)
    statics = [*beyond, *statics]
    statics += [pattern for one in services if one.bindings is not None for pattern in one.bindings.statics]
    statics = list(dict.fromkeys(statics))
    return Plan(
        form=query.form,
        operator=query.operator,
        identity=identity,
        variables=tuple(variable.name for variable in asked.variables[: len(asked.variables) - matches]),
        sql=statement.sql,
        mark=mark,
        parameters=tuple(lifting.terms),
        functions=tuple(dict.fromkeys((*statement.functions, *(f for known in facts for f in known.functions)))),
        statics=tuple(statics),
        base=base,
        template=template,
        sums=statement.sums,
        ordered=statement.ordered,
        timed=statement.timed,
        static_joins=statement.static_joins,
        sources=statement.sources,
        in_order=statement.in_order,
        matches=matches,
        new_matches=followers is not None,
        passes=statement.passes,
        facts=tuple((known.definition, known.sql) for known in facts),
        intervals=statement.intervals,
        services=services,
        closed=statement.closed,
        algebra=statement.algebra,
        present=frozenset(filter(present, statics)),
    )


def _planned(split: Sequence[SplitService], compiled: Callable[[ContinuousQuery], Plan]) -> tuple[PlannedService, ...]:
    services: list[PlannedService] = []
    for one in split:
        bindings = None
        if one.bindings is not None:
            before = tuple(PlannedService(other.call, None) for other in services)
            bindings = replace(compiled(one.bindings), services=before)
        services.append(PlannedService(one.call, bindings))
    return tuple(services)


def _read(query: ContinuousQuery) -> Iterator[FactDefinition]:
    """The definitions whose facts are in windows of the query."""
    by_key = {definition.key: definition for definition in query.definitions}
    for member in query.windows:
        if isinstance(member.window, FactsWindow):
            yield by_key[member.window.definition]


def _mark(lifted: a.Query, query: ContinuousQuery, base: str | None, passes: Sequence[Pass], *, by_new: bool) -> str:
    """A digest of all that the statement depends on, but for which static patterns have matches."""
    shape = [  # each node with how many parts it has, which is the tree
        type(node).__name__ if is_dataclass(node) else len(node) if isinstance(node, tuple) else repr(node)
        for node in a.nodes(lifted)
    ]
    windows = [(one.graph, one.also, one.declared, one.instead, one.occurrences) for one in query.windows]
    names = [one.__name__ for one in passes]
    dataset = query.from_graphs, query.from_named, query.entailment
    text = repr((shape, windows, by_new, slides(query), *dataset, base, names))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _write(part: a.TemplateNode) -> TemplatePart:
    if isinstance(part, a.Constant):
        return part.text
    if isinstance(part, a.TripleTerm):
        return _write(part.subject), _write(part.predicate), _write(part.object)
    return part.name if part.name.startswith("_:") else f"?{part.name}"
