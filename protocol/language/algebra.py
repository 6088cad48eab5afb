"""SPARQL algebra as plain values: what the compiler reads, whoever parsed the query.

Operators are those of SPARQL 1.1 Query section 18.2; terms are canonical N-Triples strings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache

TIMESTAMP = "TIMESTAMP"
"""The function: of a variable or of three parts as it is written, and then of hidden variables."""

START_TIME, END_TIME, DURATION = "GETSTARTTIME", "GETENDTIME", "GETDURATION"
INTERVAL = frozenset({START_TIME, END_TIME, DURATION})
"""Functions of the interval of an event pattern's match: as they are written, and then of the hidden variables that are
bound to its occurrences' times. Without arguments START_TIME is that of facts.
"""

EQUALITIES = frozenset({"=", "!="})
ORDERINGS = frozenset({"<", ">", "<=", ">="})
COMPARISONS = EQUALITIES | ORDERINGS

DRAWING = frozenset({"RAND", "UUID", "STRUUID", "BNODE"})
"""Functions that draw: each call has a term of its own for each solution."""
PARTS_OF_TRIPLES = ("SUBJECT", "PREDICATE", "OBJECT")
"""Functions of triple terms: their parts, in order."""

UNFOLDED = "_:triple"
"""How the names of variables begin that stand for triple terms of triple patterns, in which others are bound."""

VARYING = DRAWING | {"NOW"}
"""Functions that are not of their arguments alone."""

# --- expressions -----------------------------------------------------------------------------


def _place() -> int | None:
    """Where in the text it begins (an offset), if it is written there; no part of what it is."""
    place: int | None = field(default=None, compare=False, repr=False)
    return place


@dataclass(frozen=True)
class Variable:
    name: str
    place: int | None = _place()


@dataclass(frozen=True)
class Constant:
    """An IRI or literal in canonical N-Triples."""

    text: str
    place: int | None = _place()


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
    place: int | None = _place()


@dataclass(frozen=True)
class Exists:
    """EXISTS, as it is read: ``MarkJoin`` takes its place."""

    pattern: Pattern
    place: int | None = _place()


Expression = Variable | Constant | Parameter | Call | Exists


@dataclass(frozen=True)
class TripleTerm:
    """A triple term of a template that is no constant: a variable is in it, or a blank node, or what no term has."""

    subject: Variable | Constant | TripleTerm
    predicate: Variable | Constant
    object: Variable | Constant | TripleTerm


# --- graph patterns --------------------------------------------------------------------------


@dataclass(frozen=True)
class TriplePattern:
    """Variables (blank nodes among them, as variables of their own) or terms.

    ``time`` is bound to the latest timestamp of the triple, where it is in a window (``timestamps``); in an event
    pattern, where a triple is as often as it occurs, to the time of the occurrence.
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
    length zero has a variable at either end; None elsewhere. ``written`` is the path in SPARQL, if it was written.
    """

    subject: PathEnd
    object: PathEnd
    step: Pattern
    source: Variable
    target: Variable
    zero: bool
    many: bool
    nodes: Pattern | None = None
    written: str = field(default="", compare=False, repr=False)

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
    """``GRAPH name {…}``; with ``windows_only`` it is ``WINDOW ?w {…}``, ranging over declared windows, and with
    ``facts`` it is ``CURRENT``, over the graph of the facts that hold.
    """

    name: Variable | Constant
    pattern: Pattern
    windows_only: bool = False
    facts: bool = field(default=False, kw_only=True)
    place: int | None = _place()


@dataclass(frozen=True)
class Service:
    """``SERVICE name {…}``; ``silent``: nothing is told of its failure."""

    name: Variable | Constant
    pattern: Pattern
    silent: bool = False
    place: int | None = _place()


@dataclass(frozen=True)
class ServiceSolutions:
    """What the service of this number gave at the instant (``compiler.services``).

    ``certain``: those of the variables that each of its solutions binds.
    """

    number: int
    variables: tuple[Variable, ...]
    certain: tuple[Variable, ...] = ()


@dataclass(frozen=True)
class Values:
    """Rows of terms, None where UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True)
class Aggregate:
    """``COUNT``, ``SUM``, ``AVG``, ``MIN``, ``MAX``, ``SAMPLE`` or ``GROUP_CONCAT``; ``argument`` None is ``*``.

    Or, in angle brackets, the IRI that one of ``protocol.functions.aggregates`` is called by, of DISTINCT terms or not.
    """

    function: str
    argument: Expression | None
    result: Variable
    distinct: bool = False
    separator: str = " "

    @property
    def counts_solutions(self) -> bool:
        """Whether it is COUNT(DISTINCT *), which is of all that a solution binds."""
        return self.argument is None and self.distinct


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
class Monotone:
    """A basic graph pattern over one window, perhaps filtered and projected, whose solutions are found once for all
    instants: each holds from one instant to another.

    ``narrowing`` are conditions with parameters of which something outside leaves nothing but what they are true of;
    ``lifted`` are variables that stand in place of parameters. Made by the pass ``split_monotone``.
    """

    pattern: Pattern
    narrowing: tuple[Expression, ...] = ()
    lifted: tuple[Variable, ...] = ()


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
    | Service
    | ServiceSolutions
    | Values
    | Group
    | OrderBy
    | Project
    | Distinct
    | Aggregation
    | Slice
    | Static
    | Monotone
    | PathJoin
)


TemplateNode = Variable | Constant | TripleTerm
Template = tuple[tuple[TemplateNode, TemplateNode, TemplateNode], ...]


@dataclass(frozen=True)
class Query:
    """A query form over a pattern. ``template`` belongs to CONSTRUCT; its blank nodes start with ``_:``.

    ``base`` is what IRI() resolves by: the base IRI that the query declares, or that it was read with.
    """

    pattern: Pattern
    variables: tuple[Variable, ...]
    template: Template | None = None
    base: str | None = None


def is_unfolded(expression: Expression) -> bool:
    """Whether it is a part of a triple term that a triple pattern has (``UNFOLDED``): bound to it is what the pattern
    binds, also where it is bound outside of EXISTS, and nothing is no match.
    """
    match expression:
        case Call(name, (Variable(term),)):
            return name in PARTS_OF_TRIPLES and term.startswith(UNFOLDED)
    return False


def balanced(sign: str, operands: Sequence[Expression], places: Sequence[int] = ()) -> Expression:
    """All operands, with ``&&`` or ``||`` between: a tree whose depth is the logarithm of their number.

    It is walked recursively, and which of the signs is applied first changes nothing (section 17.3).
    """
    if len(operands) == 1:
        return operands[0]
    middle = len(operands) // 2
    left = balanced(sign, operands[:middle], places[: middle - 1])
    right = balanced(sign, operands[middle:], places[middle:])
    return Call(sign, (left, right), place=places[middle - 1] if places else None)


def expression_variables(expression: Expression) -> frozenset[Variable]:
    """The variables an expression reads, but for those inside of EXISTS."""
    found: set[Variable] = set()
    left = [expression]
    while left:
        node = left.pop()
        if isinstance(node, Variable):
            found.add(node)
        elif isinstance(node, Call):
            left += node.arguments
    return frozenset(found)


def expression_parameters(expression: Expression) -> frozenset[Parameter]:
    """The parameters an expression reads."""
    if isinstance(expression, Parameter):
        return frozenset({expression})
    if isinstance(expression, Call):
        return frozenset().union(*(expression_parameters(argument) for argument in expression.arguments))
    return frozenset()


def nodes(value: object, whole: tuple[type, ...] = ()) -> Iterator[object]:
    """A pattern or expression and all that it is made of, outermost first; of the kinds ``whole`` not their parts."""
    left = [value]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, tuple):
            left += reversed(node)
        elif not isinstance(node, whole):
            # A class is hashable, whatever mypy makes of its instances' __hash__.
            left += [getattr(node, name) for name in _parts_from_the_last(type(node))]  # type: ignore[arg-type]


@cache
def _parts_from_the_last(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in reversed(fields(kind)) if field.compare) if is_dataclass(kind) else ()


def times_of_match(pattern: Pattern) -> tuple[Variable, ...]:
    """The variables of the times of an event pattern's occurrences; none of another pattern, also if one is in it."""
    parts = list(nodes(pattern))
    if any(isinstance(part, Graph) for part in parts):
        return ()
    return tuple(part.time for part in parts if isinstance(part, TriplePattern) and part.time is not None)


def mentioned_variables(pattern: Pattern | Expression) -> frozenset[Variable]:
    """All variables that are written in a pattern, in scope after it or not."""
    return frozenset(node for node in nodes(pattern) if isinstance(node, Variable))


def in_scope(pattern: Pattern) -> frozenset[Variable]:
    """The variables in scope after a pattern (18.2.1): what SELECT * selects, blank nodes aside."""
    return frozenset(variable for variable in solution_variables(pattern) if not variable.name.startswith("_:"))


def solution_variables(pattern: Pattern) -> frozenset[Variable]:
    """The variables that a pattern may bind, those among them that nobody can name."""
    found: set[Variable] = set()
    left = [pattern]
    while left:  # patterns may be a chain of thousands
        match left.pop():
            case BGP(triples):
                found.update(variable for triple in triples for variable in triple.variables)
            case Closure() as path:
                found.update(path.variables)
            case Join(one, other) | LeftJoin(one, other) | Union(one, other) | PathJoin(one, other):
                left += (one, other)
            case Extend(inner, variable):
                found.add(variable)
                left.append(inner)
            case Aggregation(inner, _, aggregate):
                found.add(aggregate.result)
                left.append(inner)
            case Graph(name, inner):
                if isinstance(name, Variable):
                    found.add(name)
                left.append(inner)
            case Values(variables) | Project(_, variables) | ServiceSolutions(_, variables):
                found.update(variables)
            case Group(_, keys, aggregates):
                found.update(keys or (), (aggregate.result for aggregate in aggregates))
            case Minus(inner) | Filter(inner) | MarkJoin(inner) | Draw(inner) | OrderBy(inner):
                left.append(inner)
            case Distinct(inner) | Slice(inner) | Static(inner) | Monotone(inner) | Service(_, inner):
                left.append(inner)
    return frozenset(found)


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
        case Slice(inner, _, _) | Static(inner) | Monotone(inner) | PathJoin(inner, _, _) | Aggregation(inner, _, _):
            return needs_a_triple(inner)
        case Group(inner, keys, _):
            return keys is not None and needs_a_triple(inner)
    return False
