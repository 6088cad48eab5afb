"""A compiled continuous query: everything a task needs to evaluate it, as plain JSON.

Compiling happens once, where the query is registered; tasks need neither rdflib nor the grammar.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

import duckdb

from protocol.errors import UnsupportedFeature
from protocol.language.model import R2S, ContinuousQuery, Form
from spark_backend.compiler import algebra as a
from spark_backend.compiler.dataset import QueryDataset, StaticPattern
from spark_backend.compiler.expressions import Prelude, PreludeFunction
from spark_backend.compiler.faceted import faceted_variables
from spark_backend.compiler.parameters import Lifting
from spark_backend.compiler.parsed_once import translated
from spark_backend.compiler.parsing import with_deep_stack
from spark_backend.compiler.patterns import PatternCompiler, Scope
from spark_backend.compiler.relation import MEMBER, RANK, Names
from spark_backend.compiler.unfinished import PARTS, unfinished_sums

_DIRECTION = re.compile(r"( (ASC|DESC))?( NULLS (FIRST|LAST))?\Z")
_BLANK_NODE = re.compile(r"(?<=Variable\(name=')_:[^']*")


@dataclass(frozen=True)
class Plan:
    """One SQL statement over tables of instants, of windows' contents and of static triples, and its constants.

    Queries of the same ``shape`` have the same statement, and differ in the terms of their ``parameters``: any
    number of them is evaluated at once. The statement is one with placeholders that end in ``mark``
    (``evaluation.statement`` fills them in). Its columns are ``instant``, ``member`` (which of the queries) and one
    term (canonical N-Triples or NULL) for each of ``variables``, its rows in the order of the answer. The
    columns of ``sums`` (by their place among the variables, with whether it is an average) come in parts, and the
    rows, unless ``ordered``, in no order: see ``evaluation.rows``. ``template`` (CONSTRUCT) has variables as
    ``?name``. ``statics`` are all static patterns of the query; the statement reads only those that had matches
    when it was compiled. ``identity`` is a digest of the query's text.
    """

    form: Form
    operator: R2S
    identity: str
    variables: tuple[str, ...]
    sql: str
    mark: str
    parameters: tuple[str, ...]
    functions: tuple[PreludeFunction, ...]
    statics: tuple[StaticPattern, ...]
    base: str | None
    template: tuple[tuple[str, str, str], ...] | None = None
    sums: tuple[tuple[int, bool], ...] = ()
    ordered: bool = True

    @property
    def shape(self) -> tuple[object, ...]:
        """What the plans of queries that can be evaluated together have in common."""
        return self.sql, self.variables, self.sums, self.ordered

    def to_json(self) -> str:
        return json.dumps(
            {
                "form": self.form.value,
                "operator": self.operator.value,
                "identity": self.identity,
                "variables": self.variables,
                "sql": self.sql,
                "mark": self.mark,
                "parameters": self.parameters,
                "functions": [[f.name, f.expression, f.arguments] for f in self.functions],
                "statics": [pattern.to_json() for pattern in self.statics],
                "base": self.base,
                "template": self.template,
                "sums": self.sums,
                "ordered": self.ordered,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        document = json.loads(text)
        template = document["template"]
        return cls(
            form=Form(document["form"]),
            operator=R2S(document["operator"]),
            identity=document["identity"],
            variables=tuple(document["variables"]),
            sql=document["sql"],
            mark=document["mark"],
            parameters=tuple(document["parameters"]),
            functions=tuple(PreludeFunction(*function) for function in document["functions"]),
            statics=tuple(map(StaticPattern.from_json, document["statics"])),
            base=document["base"],
            template=None if template is None else tuple((s, p, o) for s, p, o in template),
            sums=tuple((place, average) for place, average in document["sums"]),
            ordered=document["ordered"],
        )


def compile_query(
    query: ContinuousQuery, *, base: str | None = None, present: Callable[[StaticPattern], bool] = lambda _: True
) -> Plan:
    """The plan of a continuous query, given which static patterns have matches in the store.

    Raises QuerySyntaxError and UnsupportedFeature, naming the construct.
    """
    return with_deep_stack(lambda: _compiled(query, base, present))


def _compiled(query: ContinuousQuery, base: str | None, present: Callable[[StaticPattern], bool]) -> Plan:
    asked = translated(query.standard, query.form, base)
    base = asked.base or base
    template = None
    if asked.template is not None:
        template = tuple((_written(s), _written(p), _written(o)) for s, p, o in asked.template)
    if query.form is Form.ASK and query.operator is R2S.RSTREAM:  # whether there is a solution, whichever
        asked = a.Query(a.Distinct(a.Project(asked.pattern, ())), ())
    identity = hashlib.sha256(query.text.encode()).hexdigest()[:16]
    lifting = Lifting(QueryDataset(query, present), identity)
    lifted = lifting.query(asked)
    mark = _mark(lifted, query, base)
    statement = _known.get(mark)
    if statement is None or any(present(pattern) != there for pattern, there in statement.statics):
        statement = _statement(lifted, QueryDataset(query, present, mark), base)
        _known[mark] = statement
        if len(_known) > _KEPT:
            _known.popitem(last=False)
    return Plan(
        form=query.form,
        operator=query.operator,
        identity=identity,
        variables=tuple(variable.name for variable in asked.variables),
        sql=statement.sql,
        mark=mark,
        parameters=tuple(lifting.terms),
        functions=statement.functions,
        statics=tuple(pattern for pattern, _ in statement.statics),
        base=base,
        template=template,
        sums=statement.sums,
        ordered=statement.ordered,
    )


def _mark(lifted: a.Query, query: ContinuousQuery, base: str | None) -> str:
    """A digest of all that the statement depends on, but for which static patterns have matches."""
    blank_nodes: dict[str, str] = {}  # named anew at every parse
    shape = _BLANK_NODE.sub(lambda found: blank_nodes.setdefault(found[0], f"_:{len(blank_nodes)}"), repr(lifted))
    windows = [(window.graph, window.declared) for window in query.windows]
    text = repr((shape, windows, query.from_graphs, query.from_named, base))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Statement:
    """What queries of one shape have in common. ``statics``: static patterns, and whether they had matches."""

    sql: str
    functions: tuple[PreludeFunction, ...]
    sums: tuple[tuple[int, bool], ...]
    ordered: bool
    statics: tuple[tuple[StaticPattern, bool], ...]


_known: OrderedDict[str, _Statement] = OrderedDict()
"""By the mark of the shape. Compiling is done by one thread at a time."""
_KEPT = 512


def _statement(query: a.Query, dataset: QueryDataset, base: str | None) -> _Statement:
    names = Names(faceted_variables(query))
    prelude = Prelude(base)
    sums = unfinished_sums(query)
    compiler = PatternCompiler(dataset, names, prelude, sums)
    relation = compiler.of_members(compiler.compile(query.pattern, Scope()))
    columns = [names.column(variable) for variable in query.variables]
    parts = {names.column(variable): average for variable, average in sums.answered}
    ordered = bool(relation.order) or relation.ranked or not parts or sums.told_apart
    if relation.ranked:
        relation = names.opened(relation)
    order = [relation.columns[RANK]] if relation.ranked else list(relation.order)
    listed = {name: relation.columns[name] for name in ("instant", MEMBER, *columns)}
    if parts:
        # Over the SELECT: DuckDB would write a part's expression once more for each mention of it.
        inner = replace(
            relation, columns={**listed, **{f"k{place}": key for place, key in enumerate(map(_sort_key, order))}}
        )
        order = [f"q.k{place} {_direction(key)}" for place, key in enumerate(order)]
        selected = [f"q.{name}" if name not in parts else "NULL" for name in listed]
        selected += [f"q.{name}.{part}" for name in parts for part in PARTS]
        sql = f"SELECT {', '.join(selected)} FROM ({inner.sql}) q"
        listed = {name: f"q.{name}" for name in listed}
    else:
        sql = replace(relation, columns=listed).sql
    if ordered:
        order = order or [
            f"{listed[column] if parts else column} NULLS FIRST" for column in columns if column not in parts
        ]
        sql += f" ORDER BY {', '.join([listed['instant'], listed[MEMBER], *order])}"
    _refuse_depth(sql)
    places = tuple((columns.index(column), average) for column, average in parts.items())
    statics = tuple((pattern, dataset.present(pattern)) for pattern in dataset.statics)
    return _Statement(sql, tuple(prelude.functions.values()), places, ordered, statics)


def _sort_key(order: str) -> str:
    return _DIRECTION.sub("", order)


def _direction(order: str) -> str:
    found = _DIRECTION.search(order)
    return "" if found is None else found[0].strip()


def _refuse_depth(sql: str) -> None:
    """DuckDB's parser has a limit of its own (max_expression_depth): better met here than at an evaluation."""
    try:
        duckdb.extract_statements(sql)
    except duckdb.ParserException as error:
        if "depth" not in str(error):
            raise
        raise UnsupportedFeature("the query's expressions nest too deeply to be compiled") from error


def _written(part: a.Variable | a.Term) -> str:
    if isinstance(part, a.Term):
        return part.text
    return part.name if part.name.startswith("_:") else f"?{part.name}"
