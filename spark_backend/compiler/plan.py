"""A compiled continuous query: everything a task needs to evaluate it, as plain JSON.

Compiling happens once, where the query is registered; tasks need neither rdflib nor the grammar.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import duckdb

from protocol.errors import UnsupportedFeature
from protocol.language.model import R2S, ContinuousQuery, Form
from spark_backend.compiler import algebra as a
from spark_backend.compiler.dataset import QueryDataset, StaticPattern
from spark_backend.compiler.expressions import Prelude, PreludeFunction
from spark_backend.compiler.faceted import faceted_variables
from spark_backend.compiler.parsing import with_deep_stack
from spark_backend.compiler.patterns import PatternCompiler, Scope
from spark_backend.compiler.relation import RANK, Names
from spark_backend.compiler.translate import translate
from spark_backend.compiler.unfinished import unfinished_sums


@dataclass(frozen=True)
class Plan:
    """One SQL statement over tables of instants, of windows' contents and of static triples.

    The statement names the instants' and windows' tables by placeholders (``instants``, ``windows``),
    which the evaluation replaces by the tables it has made. Its columns are ``instant`` and one term
    (canonical N-Triples or NULL) for each of ``variables``, its rows in the order of the answer. The
    columns of ``sums`` (with whether it is an average) come in parts, and the rows, unless ``ordered``,
    in no order: see ``evaluation.rows``. ``template`` (CONSTRUCT) has variables as ``?name``. ``statics``
    are all static patterns of the query; the statement reads only those that had matches when it was
    compiled.
    """

    form: Form
    operator: R2S
    variables: tuple[str, ...]
    sql: str
    instants: str
    windows: tuple[str, ...]
    functions: tuple[PreludeFunction, ...]
    statics: tuple[StaticPattern, ...]
    base: str | None
    template: tuple[tuple[str, str, str], ...] | None = None
    sums: tuple[tuple[str, bool], ...] = ()
    ordered: bool = True

    def to_json(self) -> str:
        return json.dumps(
            {
                "form": self.form.value,
                "operator": self.operator.value,
                "variables": self.variables,
                "sql": self.sql,
                "instants": self.instants,
                "windows": self.windows,
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
            variables=tuple(document["variables"]),
            sql=document["sql"],
            instants=document["instants"],
            windows=tuple(document["windows"]),
            functions=tuple(PreludeFunction(*function) for function in document["functions"]),
            statics=tuple(map(StaticPattern.from_json, document["statics"])),
            base=document["base"],
            template=None if template is None else tuple((s, p, o) for s, p, o in template),
            sums=tuple((name, average) for name, average in document["sums"]),
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
    translated = translate(query.standard, query.form, base)
    if query.form is Form.ASK and query.operator is R2S.RSTREAM:  # whether there is a solution, whichever
        translated = a.Query(a.Distinct(a.Project(translated.pattern, ())), ())
    pattern = translated.pattern
    dataset = QueryDataset(query, present)
    names = Names(faceted_variables(translated))
    prelude = Prelude(base)
    sums = unfinished_sums(translated)
    relation = PatternCompiler(dataset, names, prelude, sums).compile(pattern, Scope())
    columns = [names.column(variable) for variable in translated.variables]
    ordered = bool(relation.order) or relation.ranked or not sums.answered
    order = relation.order or [f"{column} NULLS FIRST" for column in columns]
    if relation.ranked:
        relation = names.opened(relation)
        order = [relation.columns[RANK]]
    listed = {name: relation.columns[name] for name in ("instant", *columns)}
    sql = replace(relation, columns=listed).sql + (
        f" ORDER BY {', '.join([relation.columns['instant'], *order])}" if ordered else ""
    )
    _refuse_depth(sql)
    template = None
    if translated.template is not None:
        template = tuple((_written(s), _written(p), _written(o)) for s, p, o in translated.template)
    return Plan(
        form=query.form,
        operator=query.operator,
        variables=tuple(variable.name for variable in translated.variables),
        sql=sql,
        instants=dataset.instants,
        windows=tuple(dataset.window_table(index) for index in range(len(query.windows))),
        functions=tuple(prelude.functions.values()),
        statics=tuple(dataset.statics),
        base=base,
        template=template,
        sums=tuple((variable.name, average) for variable, average in sums.answered),
        ordered=ordered,
    )


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
