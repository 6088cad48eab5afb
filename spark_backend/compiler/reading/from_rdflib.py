"""rdflib's algebra, node by node, as the compiler's: graph patterns, terms and expressions (18.2).

What the compiler cannot evaluate is refused here, naming the construct, before anything is registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyoxigraph
import rdflib
from rdflib.paths import Path
from rdflib.plugins.sparql.parserutils import CompValue

from protocol.functions import FUNCTIONS
from protocol.language import algebra as a
from protocol.language.model import AGGREGATE_FUNCTION, TIMESTAMP_FUNCTION, WINDOW_VARIABLE_PREFIX, Form
from protocol.terms import XSD
from spark_backend.compiler.algebra.marks import mark, optional
from spark_backend.compiler.algebra.timestamps import TIMESTAMP
from spark_backend.compiler.reading.property_paths import matched_by, path_of
from spark_backend.compiler.refusals import NotCompilable, call, keyword

_CASTS: tuple[str, ...] = ("boolean", "integer", "decimal", "float", "double", "string", "dateTime")
_CASTS += ("date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
_CASTS += ("gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay")
_ARGUMENTS = {f"{XSD}{name}": 1 for name in _CASTS} | {iri: known.arguments for iri, known in FUNCTIONS.items()}
"""How many a function takes, by its IRI: the casts that Oxigraph knows, and ours."""
_AGGREGATES = {"Count", "Sum", "Avg", "Min", "Max", "Sample", "GroupConcat"}


def value_under(node: CompValue, key: str) -> Any:
    """The value under ``key`` or None: ``CompValue.get`` gives back the key itself when it is missing."""
    return dict.get(node, key)


# --- graph patterns --------------------------------------------------------------------------


def pattern_of(node: CompValue) -> a.Pattern:
    """The graph pattern of a node of rdflib's algebra. Raises UnsupportedFeature for what is not evaluated."""
    translate_node = _PATTERNS.get(node.name)
    if translate_node is None:
        raise NotCompilable(f"{node.name} is not evaluated over windows", keyword(*Form))
    return translate_node(node)


def _bgp(node: CompValue) -> a.Pattern:
    links: list[a.TriplePattern] = []
    others: list[a.Pattern] = []
    for subject, predicate, object_ in node.triples:
        if not isinstance(predicate, Path):
            links.append(a.TriplePattern(part_of(subject), part_of(predicate), part_of(object_)))
            continue
        for pattern in matched_by(path_of(predicate), part_of(subject), part_of(object_)):
            if isinstance(pattern, a.BGP):
                links += pattern.triples
            else:
                others.append(pattern)
    parts = [a.BGP(tuple(links)), *others] if links or not others else others
    return reduce(a.Join, parts)


def _left_join(node: CompValue) -> a.Pattern:
    unconditional = isinstance(node.expr, CompValue) and node.expr.name == "TrueFilter"
    left, right = pattern_of(node.p1), pattern_of(node.p2)
    if unconditional:
        return a.LeftJoin(left, right, None)
    return optional(left, right, _expression(node.expr))


def _extend(node: CompValue) -> a.Pattern:
    inner = pattern_of(node.p)
    if (
        isinstance(node.expr, CompValue)
        and node.expr.name == "Function"
        and node.expr.iri.startswith(AGGREGATE_FUNCTION)
    ):
        return _aggregated(inner, node.expr.iri.removeprefix(AGGREGATE_FUNCTION), node)
    variable, expression = variable_of(node.var), _expression(node.expr)
    if variable in _group_keys(inner):  # rdflib projects a key as SAMPLE of itself; the key is there already
        return inner
    return _extended(inner, variable, expression)


def _aggregated(inner: a.Pattern, function: str, node: CompValue) -> a.Pattern:
    """C-SPARQL's AGGREGATE, as ``protocol.grammar.aggregate_clauses`` writes it."""
    variables = tuple(map(variable_of, _flat([node.expr.expr])))
    argument, keys = (None, variables) if function.endswith("-ALL") else (variables[0], variables[1:])
    return a.Aggregation(inner, keys, a.Aggregate(function.removesuffix("-ALL"), argument, variable_of(node.var)))


def _extended(pattern: a.Pattern, variable: a.Variable, expression: a.Expression) -> a.Pattern:
    pattern, (expression,) = mark(pattern, [expression])
    return a.Extend(pattern, variable, expression)


def _filter(node: CompValue) -> a.Pattern:
    pattern, (condition,) = mark(pattern_of(node.p), [_expression(node.expr)])
    return a.Filter(pattern, condition)


def _group_keys(pattern: a.Pattern) -> tuple[a.Variable, ...]:
    while isinstance(pattern, a.Extend | a.Filter | a.MarkJoin | a.Draw):
        pattern = pattern.pattern
    return pattern.keys or () if isinstance(pattern, a.Group) else ()


def _graph(node: CompValue) -> a.Pattern:
    name = part_of(node.term)
    if isinstance(name, a.Variable) and name.name.startswith(WINDOW_VARIABLE_PREFIX):
        variable = a.Variable(name.name.removeprefix(WINDOW_VARIABLE_PREFIX))
        return a.Graph(variable, pattern_of(node.p), windows_only=True)
    return a.Graph(name, pattern_of(node.p))


def _multiset(node: CompValue) -> a.Pattern:
    return pattern_of(node.p) if isinstance(node.p, CompValue) else a.Values((), ())  # VALUES without a row


def _values(node: CompValue) -> a.Pattern:
    rows: Sequence[dict[Any, Any]] = node.res
    names = list(dict.fromkeys(variable for row in rows for variable in row))
    return a.Values(
        tuple(variable_of(name) for name in names),
        tuple(tuple(_undef_or_term(row.get(name)) for name in names) for row in rows),
    )


def _undef_or_term(value: Any) -> str | None:
    # rdflib writes UNDEF as a bare string; the literal "UNDEF" is an Identifier.
    return _text(value) if isinstance(value, rdflib.term.Identifier) else None


def _aggregate_join(node: CompValue) -> a.Pattern:
    group = node.p
    keys: list[a.Variable] | None = None
    inner = pattern_of(group.p)
    if group.expr is not None:
        keys = []
        for number, expression in enumerate(group.expr):
            if isinstance(expression, rdflib.Variable):
                keys.append(variable_of(expression))
            else:  # GROUP BY STR(?x) without AS: a key nobody can name
                key = a.Variable(f"__key_{number}")
                inner = _extended(inner, key, _expression(expression))
                keys.append(key)
    aggregates = tuple(map(_aggregate, node.A))
    with_arguments = [one for one in aggregates if one.argument is not None]
    inner, arguments = mark(inner, [one.argument for one in with_arguments if one.argument is not None])
    told = dict(zip(with_arguments, arguments, strict=True))
    aggregates = tuple(replace(one, argument=told[one]) if one in told else one for one in aggregates)
    # rdflib writes a key that is used above the group as a SAMPLE of it: the key itself will do.
    samples = [one for one in aggregates if one.function == "SAMPLE" and one.argument in (keys or ())]
    pattern: a.Pattern = a.Group(
        inner, None if keys is None else tuple(keys), tuple(one for one in aggregates if one not in samples)
    )
    for sample in samples:
        assert sample.argument is not None
        pattern = a.Extend(pattern, sample.result, sample.argument)
    return pattern


def _aggregate(node: CompValue) -> a.Aggregate:
    function = node.name.removeprefix("Aggregate_")
    if function not in _AGGREGATES:
        raise NotCompilable(f"the aggregate {function} is not evaluated over windows", keyword(function.upper()))
    argument = None if isinstance(node.vars, str) and node.vars == "*" else _expression(node.vars)
    separator = value_under(node, "separator")
    return a.Aggregate(
        function="GROUP_CONCAT" if function == "GroupConcat" else function.upper(),
        argument=argument,
        result=variable_of(node.res),
        distinct=bool(value_under(node, "distinct")),
        separator=" " if separator is None else str(separator),
    )


def _order_by(node: CompValue) -> a.Pattern:
    pattern, keys = mark(pattern_of(node.p), [_expression(condition.expr) for condition in node.expr])
    descending = [condition.order == "DESC" for condition in node.expr]
    return a.OrderBy(pattern, tuple(map(a.OrderCondition, keys, descending)))


def _slice(node: CompValue) -> a.Pattern:
    return a.Slice(pattern_of(node.p), node.start, value_under(node, "length"))


_PATTERNS = {
    "BGP": _bgp,
    "Join": lambda node: a.Join(pattern_of(node.p1), pattern_of(node.p2)),
    "LeftJoin": _left_join,
    "Union": lambda node: a.Union(pattern_of(node.p1), pattern_of(node.p2)),
    "Minus": lambda node: a.Minus(pattern_of(node.p1), pattern_of(node.p2)),
    "Filter": _filter,
    "Extend": _extend,
    "Graph": _graph,
    "values": _values,
    "ToMultiSet": _multiset,
    "AggregateJoin": _aggregate_join,
    "OrderBy": _order_by,
    "Project": lambda node: a.Project(pattern_of(node.p), tuple(map(variable_of, node.PV))),
    "Distinct": lambda node: a.Distinct(pattern_of(node.p)),
    "Reduced": lambda node: a.Distinct(pattern_of(node.p)),
    "Slice": _slice,
}


# --- terms -----------------------------------------------------------------------------------


def variable_of(value: Any) -> a.Variable:
    """The variable of rdflib's, or of its name."""
    return a.Variable(str(value))


def part_of(value: Any) -> a.Variable | a.Constant:
    """The part of a triple pattern, or of a template's."""
    if isinstance(value, rdflib.BNode):  # in a pattern, a variable nobody can see
        return a.Variable(f"_:{value}")
    if isinstance(value, rdflib.Variable):
        return variable_of(value)
    return a.Constant(_text(value))


def _text(value: Any) -> str:
    """Canonical N-Triples of an rdflib IRI or literal, its lexical form untouched."""
    if isinstance(value, rdflib.URIRef):
        return f"<{value}>"
    if isinstance(value, rdflib.Literal):
        if value.language:
            return str(pyoxigraph.Literal(str(value), language=value.language))
        if value.datatype:
            return str(pyoxigraph.Literal(str(value), datatype=pyoxigraph.NamedNode(str(value.datatype))))
        return str(pyoxigraph.Literal(str(value)))
    raise NotCompilable(f"{value!r} cannot be used as a term here", keyword(*Form))


# --- expressions -----------------------------------------------------------------------------


def _expression(node: Any) -> a.Expression:
    if isinstance(node, rdflib.Variable):
        return variable_of(node)
    if isinstance(node, rdflib.term.Identifier):
        return a.Constant(_text(node))
    if not isinstance(node, CompValue):
        raise NotCompilable(f"{node!r} is not an expression that is evaluated over windows", keyword(*Form))
    name = node.name
    if name == "RelationalExpression":
        return _relational(node)
    if name in ("ConditionalAndExpression", "ConditionalOrExpression"):
        sign = "&&" if name == "ConditionalAndExpression" else "||"
        return _chain([sign] * len(node.other), _expression(node.expr), node.other)
    if name in ("AdditiveExpression", "MultiplicativeExpression"):
        return _chain([str(op) for op in node.op], _expression(node.expr), node.other)
    if name in ("UnaryNot", "UnaryMinus", "UnaryPlus"):
        sign = {"UnaryNot": "!", "UnaryMinus": "-", "UnaryPlus": "+"}[name]
        return a.Call(sign, (_expression(node.expr),))
    if name == "Function":
        return _function_call(node)
    if name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
        exists = a.Exists(pattern_of(node.graph.algebra))
        return exists if name == "Builtin_EXISTS" else a.Call("!", (exists,))
    if name.startswith("Builtin_"):
        function = name.removeprefix("Builtin_").upper()
        # rdflib writes an empty list of arguments as rdf:nil, one of rdf:nil as a list.
        arguments = _flat(v for key, v in node.items() if key != "_vars" and (key != "arg" or v != rdflib.RDF.nil))
        return a.Call(function, tuple(map(_expression, arguments)))
    raise NotCompilable(f"{name} is not evaluated over windows", keyword(name.removeprefix("Builtin_").upper()))


def _function_call(node: CompValue) -> a.Expression:
    iri, arguments = str(node.iri), _flat([value_under(node, "expr")])
    if iri == TIMESTAMP_FUNCTION:
        return a.Call(TIMESTAMP, tuple(map(_expression, arguments)))
    wanted = _ARGUMENTS.get(iri)
    if wanted is None:
        near = [known for known in _ARGUMENTS if known.lower() == iri.lower()]
        known = f"do you mean <{near[0]}>?" if near else "known are casts to XML Schema's datatypes and XPath's math:"
        raise NotCompilable(f"the function <{iri}> is not known: {known}", call(iri))
    if len(arguments) != wanted:
        detail = f"the function <{iri}> takes {wanted} argument{'s' * (wanted != 1)}, not {len(arguments)}"
        raise NotCompilable(detail, call(iri, len(arguments)))
    return a.Call(f"<{iri}>", tuple(map(_expression, arguments)))


def _relational(node: CompValue) -> a.Expression:
    left = _expression(node.expr)
    if node.op in ("IN", "NOT IN"):
        others = [] if node.other == rdflib.RDF.nil else node.other
        return a.Call(node.op, (left, *map(_expression, _flat(others))))
    return a.Call(str(node.op), (left, _expression(node.other)))


def _chain(signs: Sequence[str], first: a.Expression, rest: Iterable[Any]) -> a.Expression:
    result = first
    for sign, operand in zip(signs, rest, strict=True):
        result = a.Call(sign, (result, _expression(operand)))
    return result


def _flat(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if value is None:
            continue
        if isinstance(value, CompValue) or not isinstance(value, list):
            if not isinstance(value, CompValue) and hasattr(value, "asList"):
                flat.extend(_flat(value.asList()))
            else:
                flat.append(value)
        else:
            flat.extend(_flat(value))
    return flat
