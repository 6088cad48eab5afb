"""SPARQL algebra as plain values: what the compiler reads, whoever parsed the query.

Operators are those of SPARQL 1.1 Query section 18.2; terms are canonical N-Triples strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

# --- expressions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class Constant:
    """An IRI or literal in canonical N-Triples."""

    text: str


@dataclass(frozen=True)
class Parameter:
    """A constant that is not told: the number of it in the query, and the kind of its term (``protocol.terms``)."""

    number: int
    kind: int


@dataclass(frozen=True)
class Call:
    """An operator or function: ``=``, ``<``, ``&&``, ``!``, ``+``, ``IN``, ``BOUND``, ``REGEX``, ``IF``, …

    ``name`` is the SPARQL keyword in upper case, the operator's sign, or an IRI in angle brackets (a cast).
    """

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Exists:
    """EXISTS, while a query is being translated: then ``MarkJoin`` takes its place."""

    pattern: Pattern


Expression = Variable | Constant | Parameter | Call | Exists

# --- graph patterns --------------------------------------------------------------------------


@dataclass(frozen=True)
class TriplePattern:
    """Variables (blank nodes among them, as variables of their own) or terms.

    ``time`` is bound to the latest timestamp of the triple, where it is in a window (``timestamps``).
    """

    subject: Variable | Constant | Parameter
    predicate: Variable | Constant
    object: Variable | Constant | Parameter
    time: Variable | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(part for part in (self.subject, self.predicate, self.object) if isinstance(part, Variable))


@dataclass(frozen=True)
class BGP:
    triples: tuple[TriplePattern, ...]


PathEnd = Variable | Constant | Parameter


@dataclass(frozen=True)
class Closure:
    """``subject path? object``, ``path*`` or ``path+`` (section 18.4): a set of pairs, each of them once.

    ``step`` is the path once, a pattern from the variable ``source`` to the variable ``target``. ``zero``: also of
    length zero; ``many``: of any length. ``nodes`` has as ``source`` all nodes of the active graph, where a path of
    length zero has a variable at either end; None elsewhere.
    """

    subject: PathEnd
    object: PathEnd
    step: Pattern
    source: Variable
    target: Variable
    zero: bool
    many: bool
    nodes: Pattern | None = None

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(dict.fromkeys(part for part in (self.subject, self.object) if isinstance(part, Variable)))


@dataclass(frozen=True)
class Join:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class LeftJoin:
    """OPTIONAL. ``asked``: variables of the condition that tell of EXISTS, and the patterns that are to exist."""

    left: Pattern
    right: Pattern
    condition: Expression | None
    asked: tuple[tuple[Variable, Pattern], ...] = ()


@dataclass(frozen=True)
class Union:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Minus:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Filter:
    pattern: Pattern
    condition: Expression


@dataclass(frozen=True)
class MarkJoin:
    """The solutions of a pattern, and in ``variable`` whether EXISTS of another pattern is true of each (18.6)."""

    pattern: Pattern
    variable: Variable
    exists: Pattern


@dataclass(frozen=True)
class Draw:
    """The solutions of a pattern, and in ``variable`` of each what its random terms are drawn from.

    ``identity`` is the query's, a parameter once it is known.
    """

    pattern: Pattern
    variable: Variable
    identity: Parameter | None = None


@dataclass(frozen=True)
class Extend:
    pattern: Pattern
    variable: Variable
    expression: Expression


@dataclass(frozen=True)
class Graph:
    """``GRAPH name {…}``; with ``windows_only`` it is ``WINDOW ?w {…}``, ranging over declared windows."""

    name: Variable | Constant
    pattern: Pattern
    windows_only: bool = False


@dataclass(frozen=True)
class Values:
    """Rows of terms, None where UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class Aggregate:
    """``COUNT``, ``SUM``, ``AVG``, ``MIN``, ``MAX``, ``SAMPLE`` or ``GROUP_CONCAT``; ``argument`` None is ``*``."""

    function: str
    argument: Expression | None
    result: Variable
    distinct: bool = False
    separator: str = " "


@dataclass(frozen=True)
class Group:
    """Grouping and aggregation (section 18.5.1). ``keys`` None: the one implicit group, also of nothing."""

    pattern: Pattern
    keys: tuple[Variable, ...] | None
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class OrderCondition:
    expression: Expression
    descending: bool


@dataclass(frozen=True)
class OrderBy:
    pattern: Pattern
    conditions: tuple[OrderCondition, ...]


@dataclass(frozen=True)
class Project:
    pattern: Pattern
    variables: tuple[Variable, ...]


@dataclass(frozen=True)
class Distinct:
    """DISTINCT, and REDUCED, which permits what DISTINCT does.

    ``latest``: hidden variables that tell no solutions apart; of those that become one, the greatest (``timestamps``).
    """

    pattern: Pattern
    latest: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Aggregation:
    """C-SPARQL's AGGREGATE: each solution of a pattern, with the aggregate over those that have the same keys."""

    pattern: Pattern
    keys: tuple[Variable, ...]
    aggregate: Aggregate


@dataclass(frozen=True)
class Slice:
    pattern: Pattern
    offset: int
    limit: int | None


@dataclass(frozen=True)
class Static:
    """A pattern that reads the store alone: its solutions are the same at every instant, for all queries of the shape.

    Made by the pass ``split_static``; they are computed once per version of the store.
    """

    pattern: Pattern


@dataclass(frozen=True)
class PathJoin:
    """Join(pattern, path), where the paths begin at what the pattern binds ``start`` to, one of the path's ends.

    Made by the pass ``order_joins``. The path may be one in another graph; the pattern surely binds ``start``.
    """

    pattern: Pattern
    path: Closure | Graph
    start: Variable


Pattern = (
    BGP
    | Closure
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | MarkJoin
    | Draw
    | Extend
    | Graph
    | Values
    | Group
    | OrderBy
    | Project
    | Distinct
    | Aggregation
    | Slice
    | Static
    | PathJoin
)


@dataclass(frozen=True)
class Query:
    """A query form over a pattern. ``template`` belongs to CONSTRUCT; its blank nodes start with ``_:``.

    ``base`` is the base IRI that the query declares.
    """

    pattern: Pattern
    variables: tuple[Variable, ...]
    template: tuple[tuple[Variable | Constant, Variable | Constant, Variable | Constant], ...] | None = None
    base: str | None = None


def expression_variables(expression: Expression) -> frozenset[Variable]:
    """The variables an expression reads."""
    if isinstance(expression, Variable):
        return frozenset({expression})
    if isinstance(expression, Call):
        return frozenset().union(*(expression_variables(argument) for argument in expression.arguments))
    return frozenset()


def expression_parameters(expression: Expression) -> frozenset[Parameter]:
    """The parameters an expression reads."""
    if isinstance(expression, Parameter):
        return frozenset({expression})
    if isinstance(expression, Call):
        return frozenset().union(*(expression_parameters(argument) for argument in expression.arguments))
    return frozenset()


def nodes(value: object) -> Iterator[object]:
    """A pattern or expression and all that it is made of, outermost first."""
    left = [value]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, tuple):
            left += reversed(node)
        else:
            # A class is hashable, whatever mypy makes of its instances' __hash__.
            left += [getattr(node, name) for name in _parts_from_the_last(type(node))]  # type: ignore[arg-type]


@cache
def _parts_from_the_last(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in reversed(fields(kind))) if is_dataclass(kind) else ()


def mentioned_variables(pattern: Pattern | Expression) -> frozenset[Variable]:
    """All variables that are written in a pattern, in scope after it or not."""
    return frozenset(node for node in nodes(pattern) if isinstance(node, Variable))


def in_scope(pattern: Pattern) -> frozenset[Variable]:
    """The variables in scope after a pattern (18.2.1): what SELECT * selects, blank nodes aside."""
    match pattern:
        case BGP(triples):
            found = frozenset(variable for triple in triples for variable in triple.variables)
            return frozenset(variable for variable in found if not variable.name.startswith("_:"))
        case Closure():
            return frozenset(variable for variable in pattern.variables if not variable.name.startswith("_:"))
        case Join(left, right) | LeftJoin(left, right, _) | Union(left, right):
            return in_scope(left) | in_scope(right)
        case Minus(left, _):
            return in_scope(left)
        case Filter(inner, _) | MarkJoin(inner, _, _) | Draw(inner, _, _) | OrderBy(inner, _):
            return in_scope(inner)
        case Distinct(inner) | Slice(inner, _, _) | Static(inner):
            return in_scope(inner)
        case PathJoin(inner, path, _):
            return in_scope(inner) | in_scope(path)
        case Extend(inner, variable, _):
            return in_scope(inner) | {variable}
        case Aggregation(inner, _, aggregate):
            return in_scope(inner) | {aggregate.result}
        case Graph(name, inner, _):
            return in_scope(inner) | ({name} if isinstance(name, Variable) else frozenset())
        case Values(variables, _) | Project(_, variables):
            return frozenset(variable for variable in variables if not variable.name.startswith("_:"))
        case Group(_, keys, aggregates):
            return frozenset(keys or ()) | {aggregate.result for aggregate in aggregates}


def needs_a_triple(pattern: Pattern) -> bool:
    """Whether a pattern surely has no solution in an empty graph."""
    match pattern:
        case BGP(triples):
            return bool(triples)
        case Join(left, right):
            return needs_a_triple(left) or needs_a_triple(right)
        case Union(left, right):
            return needs_a_triple(left) and needs_a_triple(right)
        case LeftJoin(left, _, _) | Minus(left, _):
            return needs_a_triple(left)
        case Filter(inner, _) | Extend(inner, _, _) | OrderBy(inner, _) | Project(inner, _) | Distinct(inner):
            return needs_a_triple(inner)
        case Slice(inner, _, _) | Static(inner) | PathJoin(inner, _, _) | Aggregation(inner, _, _):
            return needs_a_triple(inner)
        case Group(inner, keys, _):
            return keys is not None and needs_a_triple(inner)
    return False
