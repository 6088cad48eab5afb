"""Standard SPARQL text to the compiler's algebra, by way of rdflib's parser and its translation (18.2).

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
from protocol.language.model import AGGREGATE_FUNCTION, TIMESTAMP_FUNCTION, WINDOW_VARIABLE_PREFIX, Form
from spark_backend.compiler import algebra as a
from spark_backend.compiler.describe import described
from spark_backend.compiler.marks import marked, numbered, optional
from spark_backend.compiler.order_of_appearance import variables_in_order
from spark_backend.compiler.parsing import parsed_query
from spark_backend.compiler.property_paths import matched_by, path_of
from spark_backend.compiler.refusals import Refused, call, keyword
from spark_backend.compiler.timestamps import TIMESTAMP

XSD = "http://www.w3.org/2001/XMLSchema#"
_CASTS: tuple[str, ...] = ("boolean", "integer", "decimal", "float", "double", "string", "dateTime")
_CASTS += ("date", "time", "duration", "dayTimeDuration", "yearMonthDuration")
_CASTS += ("gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay")
_ARGUMENTS = {f"{XSD}{name}": 1 for name in _CASTS} | {iri: known.arguments for iri, known in FUNCTIONS.items()}
"""How many a function takes, by its IRI: the casts that Oxigraph knows, and ours."""
_AGGREGATES = {"Count", "Sum", "Avg", "Min", "Max", "Sample", "GroupConcat"}


def translate(text: str, form: Form, base: str | None = None) -> a.Query:
    """The algebra of a standard SPARQL query.

    Raises QuerySyntaxError where rdflib's parser fails, UnsupportedFeature naming what is not compiled (``refusals``).
    """
    parsed, query = parsed_query(text, base)
    bases = [str(node.iri) for node in parsed[0] if node.name == "Base"]
    return replace(_translated(text, form, parsed, query), base=bases[-1] if bases else None)


def _translated(text: str, form: Form, parsed: Any, query: CompValue) -> a.Query:
    if form is Form.DESCRIBE:
        return _described(parsed[1], query.p)
    pattern = numbered(_pattern(query.p))
    if form is Form.CONSTRUCT:
        template = query.template
        if getattr(parsed[1].where, "name", "") == "FakeGroupGraphPatten":  # CONSTRUCT WHERE {…} (16.2.4)
            template = _triples_of(query.p)
        # rdflib names blank nodes anew at every parse; theirs are the same for the same text.
        blanks: dict[rdflib.BNode, rdflib.BNode] = {}
        for part in (part for triple in template or () for part in triple if isinstance(part, rdflib.BNode)):
            blanks.setdefault(part, rdflib.BNode(f"b{len(blanks)}"))
        parts = tuple(
            (_part(blanks.get(s, s)), _part(blanks.get(p, p)), _part(blanks.get(o, o))) for s, p, o in template or ()
        )
        names = sorted(a.in_scope(_projected(pattern)), key=lambda variable: variable.name)
        return a.Query(_reprojected(pattern, tuple(names)), tuple(names), parts)
    variables = tuple(dict.fromkeys(map(_variable, query.PV or ())))
    if form is Form.ASK:
        variables = tuple(sorted(a.in_scope(pattern), key=lambda variable: variable.name))
    elif parsed[1].projection is None:  # SELECT *: rdflib's set of variables is in no order, and misses some
        place = variables_in_order(text)
        scope = a.in_scope(_projected(pattern))
        variables = tuple(sorted(scope, key=lambda variable: (place.get(variable.name, len(place)), variable.name)))
    return a.Query(_reprojected(pattern, variables), variables)


def _described(parsed: Any, node: CompValue | None) -> a.Query:
    resources = tuple(dict.fromkeys(map(_part, parsed.var)))
    if node is None:
        return described(None, resources)
    pattern = numbered(_pattern(node))
    names = tuple(sorted(a.in_scope(_projected(pattern)), key=lambda variable: variable.name))
    # rdflib makes it DISTINCT, under LIMIT and OFFSET: those are of the solutions as they are.
    cut = pattern if isinstance(pattern, a.Slice) else None
    pattern = a.Project(_projected(pattern), names)
    if cut is not None:
        pattern = a.Slice(pattern, cut.offset, cut.limit)
    return described(pattern, resources or names)  # DESCRIBE *


def _projected(pattern: a.Pattern) -> a.Pattern:
    """What the outermost projection projects."""
    while isinstance(pattern, a.Slice | a.Distinct):
        pattern = pattern.pattern
    return pattern.pattern if isinstance(pattern, a.Project) else pattern


def _reprojected(pattern: a.Pattern, variables: tuple[a.Variable, ...]) -> a.Pattern:
    """The same pattern with its outermost projection replaced: rdflib's is in no particular order."""
    if isinstance(pattern, a.Project):
        return a.Project(pattern.pattern, variables)
    if isinstance(pattern, a.Distinct):
        return a.Distinct(_reprojected(pattern.pattern, variables))
    if isinstance(pattern, a.Slice):
        return a.Slice(_reprojected(pattern.pattern, variables), pattern.offset, pattern.limit)
    return a.Project(pattern, variables)


def _optional(node: CompValue, key: str) -> Any:
    """The value under ``key`` or None: ``CompValue.get`` gives back the key itself when it is missing."""
    return dict.get(node, key)


def _triples_of(node: CompValue) -> list[tuple[Any, Any, Any]]:
    triples: list[tuple[Any, Any, Any]] = []
    if node.name == "BGP":
        triples.extend(node.triples)
    for key in ("p", "p1", "p2"):
        if isinstance(_optional(node, key), CompValue):
            triples.extend(_triples_of(node[key]))
    return triples


# --- graph patterns --------------------------------------------------------------------------


def _pattern(node: CompValue) -> a.Pattern:
    translate_node = _PATTERNS.get(node.name)
    if translate_node is None:
        raise Refused(f"{node.name} is not evaluated over windows", keyword(*Form))
    return translate_node(node)


def _bgp(node: CompValue) -> a.Pattern:
    links: list[a.TriplePattern] = []
    others: list[a.Pattern] = []
    for subject, predicate, object_ in node.triples:
        if not isinstance(predicate, Path):
            links.append(a.TriplePattern(_part(subject), _part(predicate), _part(object_)))
            continue
        for pattern in matched_by(path_of(predicate), _part(subject), _part(object_)):
            if isinstance(pattern, a.BGP):
                links += pattern.triples
            else:
                others.append(pattern)
    parts = [a.BGP(tuple(links)), *others] if links or not others else others
    return reduce(a.Join, parts)


def _left_join(node: CompValue) -> a.Pattern:
    unconditional = isinstance(node.expr, CompValue) and node.expr.name == "TrueFilter"
    left, right = _pattern(node.p1), _pattern(node.p2)
    if unconditional:
        return a.LeftJoin(left, right, None)
    return optional(left, right, _expression(node.expr))


def _extend(node: CompValue) -> a.Pattern:
    inner = _pattern(node.p)
    if (
        isinstance(node.expr, CompValue)
        and node.expr.name == "Function"
        and node.expr.iri.startswith(AGGREGATE_FUNCTION)
    ):
        return _aggregated(inner, node.expr.iri.removeprefix(AGGREGATE_FUNCTION), node)
    variable, expression = _variable(node.var), _expression(node.expr)
    if variable in _group_keys(inner):  # rdflib projects a key as SAMPLE of itself; the key is there already
        return inner
    return _extended(inner, variable, expression)


def _aggregated(inner: a.Pattern, function: str, node: CompValue) -> a.Pattern:
    """C-SPARQL's AGGREGATE, as ``protocol.language.aggregate_clauses`` writes it."""
    variables = tuple(map(_variable, _flat([node.expr.expr])))
    argument, keys = (None, variables) if function.endswith("-ALL") else (variables[0], variables[1:])
    return a.Aggregated(inner, keys, a.Aggregate(function.removesuffix("-ALL"), argument, _variable(node.var)))


def _extended(pattern: a.Pattern, variable: a.Variable, expression: a.Expression) -> a.Pattern:
    pattern, (expression,) = marked(pattern, [expression])
    return a.Extend(pattern, variable, expression)


def _filter(node: CompValue) -> a.Pattern:
    pattern, (condition,) = marked(_pattern(node.p), [_expression(node.expr)])
    return a.Filter(pattern, condition)


def _group_keys(pattern: a.Pattern) -> tuple[a.Variable, ...]:
    while isinstance(pattern, a.Extend | a.Filter | a.Marked | a.Drawn):
        pattern = pattern.pattern
    return pattern.keys or () if isinstance(pattern, a.Group) else ()


def _graph(node: CompValue) -> a.Pattern:
    name = _part(node.term)
    if isinstance(name, a.Variable) and name.name.startswith(WINDOW_VARIABLE_PREFIX):
        variable = a.Variable(name.name.removeprefix(WINDOW_VARIABLE_PREFIX))
        return a.Graph(variable, _pattern(node.p), windows_only=True)
    return a.Graph(name, _pattern(node.p))


def _multiset(node: CompValue) -> a.Pattern:
    return _pattern(node.p) if isinstance(node.p, CompValue) else a.Values((), ())  # VALUES without a row


def _values(node: CompValue) -> a.Pattern:
    rows: Sequence[dict[Any, Any]] = node.res
    names = list(dict.fromkeys(variable for row in rows for variable in row))
    return a.Values(
        tuple(_variable(name) for name in names),
        tuple(tuple(_undef_or_term(row.get(name)) for name in names) for row in rows),
    )


def _undef_or_term(value: Any) -> str | None:
    # rdflib writes UNDEF as a bare string; the literal "UNDEF" is an Identifier.
    return _text(value) if isinstance(value, rdflib.term.Identifier) else None


def _aggregate_join(node: CompValue) -> a.Pattern:
    group = node.p
    keys: list[a.Variable] | None = None
    inner = _pattern(group.p)
    if group.expr is not None:
        keys = []
        for number, expression in enumerate(group.expr):
            if isinstance(expression, rdflib.Variable):
                keys.append(_variable(expression))
            else:  # GROUP BY STR(?x) without AS: a key nobody can name
                key = a.Variable(f"__key_{number}")
                inner = _extended(inner, key, _expression(expression))
                keys.append(key)
    aggregates = tuple(map(_aggregate, node.A))
    with_arguments = [one for one in aggregates if one.argument is not None]
    inner, arguments = marked(inner, [one.argument for one in with_arguments if one.argument is not None])
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
        raise Refused(f"the aggregate {function} is not evaluated over windows", keyword(function.upper()))
    argument = None if isinstance(node.vars, str) and node.vars == "*" else _expression(node.vars)
    separator = _optional(node, "separator")
    return a.Aggregate(
        function="GROUP_CONCAT" if function == "GroupConcat" else function.upper(),
        argument=argument,
        result=_variable(node.res),
        distinct=bool(_optional(node, "distinct")),
        separator=" " if separator is None else str(separator),
    )


def _order_by(node: CompValue) -> a.Pattern:
    pattern, keys = marked(_pattern(node.p), [_expression(condition.expr) for condition in node.expr])
    descending = [condition.order == "DESC" for condition in node.expr]
    return a.OrderBy(pattern, tuple(map(a.OrderCondition, keys, descending)))


def _slice(node: CompValue) -> a.Pattern:
    return a.Slice(_pattern(node.p), node.start, _optional(node, "length"))


_PATTERNS = {
    "BGP": _bgp,
    "Join": lambda node: a.Join(_pattern(node.p1), _pattern(node.p2)),
    "LeftJoin": _left_join,
    "Union": lambda node: a.Union(_pattern(node.p1), _pattern(node.p2)),
    "Minus": lambda node: a.Minus(_pattern(node.p1), _pattern(node.p2)),
    "Filter": _filter,
    "Extend": _extend,
    "Graph": _graph,
    "values": _values,
    "ToMultiSet": _multiset,
    "AggregateJoin": _aggregate_join,
    "OrderBy": _order_by,
    "Project": lambda node: a.Project(_pattern(node.p), tuple(map(_variable, node.PV))),
    "Distinct": lambda node: a.Distinct(_pattern(node.p)),
    "Reduced": lambda node: a.Distinct(_pattern(node.p)),
    "Slice": _slice,
}


# --- terms -----------------------------------------------------------------------------------


def _variable(value: Any) -> a.Variable:
    return a.Variable(str(value))


def _part(value: Any) -> a.Variable | a.Term:
    if isinstance(value, rdflib.BNode):  # in a pattern, a variable nobody can see
        return a.Variable(f"_:{value}")
    if isinstance(value, rdflib.Variable):
        return _variable(value)
    return a.Term(_text(value))


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
    raise Refused(f"{value!r} cannot be used as a term here", keyword(*Form))


# --- expressions -----------------------------------------------------------------------------


def _expression(node: Any) -> a.Expression:
    if isinstance(node, rdflib.Variable):
        return _variable(node)
    if isinstance(node, rdflib.term.Identifier):
        return a.Term(_text(node))
    if not isinstance(node, CompValue):
        raise Refused(f"{node!r} is not an expression that is evaluated over windows", keyword(*Form))
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
        exists = a.Exists(_pattern(node.graph.algebra))
        return exists if name == "Builtin_EXISTS" else a.Call("!", (exists,))
    if name.startswith("Builtin_"):
        function = name.removeprefix("Builtin_").upper()
        # rdflib writes an empty list of arguments as rdf:nil, one of rdf:nil as a list.
        arguments = _flat(v for key, v in node.items() if key != "_vars" and (key != "arg" or v != rdflib.RDF.nil))
        return a.Call(function, tuple(map(_expression, arguments)))
    raise Refused(f"{name} is not evaluated over windows", keyword(name.removeprefix("Builtin_").upper()))


def _function_call(node: CompValue) -> a.Expression:
    iri, arguments = str(node.iri), _flat([_optional(node, "expr")])
    if iri == TIMESTAMP_FUNCTION:
        return a.Call(TIMESTAMP, tuple(map(_expression, arguments)))
    wanted = _ARGUMENTS.get(iri)
    if wanted is None:
        near = [known for known in _ARGUMENTS if known.lower() == iri.lower()]
        known = f"do you mean <{near[0]}>?" if near else "known are casts to XML Schema's datatypes and XPath's math:"
        raise Refused(f"the function <{iri}> is not known: {known}", call(iri))
    if len(arguments) != wanted:
        detail = f"the function <{iri}> takes {wanted} argument{'s' * (wanted != 1)}, not {len(arguments)}"
        raise Refused(detail, call(iri, len(arguments)))
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
