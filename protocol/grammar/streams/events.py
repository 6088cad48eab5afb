"""Event patterns: what happened before what (docs/language.md, "Event patterns"; EP-SPARQL, ETALIS, CQELS).

They are read into the algebra that there is, over a window of occurrences: each triple pattern has a hidden variable
for the time of the occurrence that it matches. The interval of a match is from the least to the greatest of these, so
that SEQ is a join with a condition on times, and OPTIONALSEQ a left join with that condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, TypeGuard

from protocol.errors import QuerySemanticError, UnsupportedFeature
from protocol.grammar.cursor import Cursor
from protocol.grammar.expressions import Expressions
from protocol.grammar.terms import Terms
from protocol.grammar.triple_terms import Unfolding, unfolded
from protocol.grammar.triples import Triples, WrittenTriple
from protocol.language.algebra import (
    BGP,
    END_TIME,
    INTERVAL,
    START_TIME,
    Call,
    Closure,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    ServiceSolutions,
    TriplePattern,
    Union,
    Values,
    Variable,
    balanced,
    in_scope,
    nodes,
    times_of_match,
)
from protocol.sparql.tokens import Token

_OR, _AND, _SEQ, _EQUALS = range(1, 5)
OPERATORS = {"OR": _OR, "AND": _AND, "SEQ": _SEQ, "OPTIONALSEQ": _SEQ, "EQUALS": _EQUALS, "EQUALSOPTIONAL": _EQUALS}
"""The operators between groups, and how closely they bind."""
_OF_OTHER_GROUPS = ("OPTIONAL", "UNION", "MINUS", "GRAPH", "VALUES", "SERVICE", "SELECT", "WINDOW", "STREAM", "CURRENT")
"""What other groups have, and those of event patterns have not."""


class Match(NamedTuple):
    """A part of an event pattern: its solutions, and the variables of its occurrences' times."""

    pattern: Pattern
    times: tuple[Variable, ...]


@dataclass
class _Parts:
    """What one group has been found to be made of."""

    triples: list[TriplePattern] = field(default_factory=list)
    unfoldings: list[Unfolding] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)
    bindings: list[tuple[Token, Variable, Expression]] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)
    operator: Token | None = None
    """The first operator that stands in the group without braces around its pattern."""


class EventPatterns:
    """Reads event patterns. ``patterns`` gives what matches triples, ``condition`` reads what follows FILTER."""

    def __init__(
        self,
        cursor: Cursor,
        terms: Terms,
        expressions: Expressions,
        triples: Triples,
        patterns: Callable[[list[WrittenTriple]], tuple[list[Pattern], list[Unfolding]]],
        condition: Callable[[], Expression],
    ) -> None:
        self._cursor = cursor
        self._terms = terms
        self._expressions = expressions
        self._triples = triples
        self._patterns = patterns
        self._condition = condition
        self._operators = _operators(cursor.tokens) if cursor.continuous else {}
        self._beside_facts = False

    @property
    def is_first(self) -> bool:
        """Whether the group that begins here is the first one of an event pattern: an operator follows it."""
        return self._behind is not None

    @property
    def is_here(self) -> bool:
        """Whether an operator follows the group that begins here, or stands in it."""
        return self._cursor.token.start in self._operators

    def pattern(self) -> Pattern:
        """EventPattern, whose groups are matched in the active graph, a window of occurrences."""
        found = self._match(_OR)
        if union := self._cursor.take("UNION"):
            raise self._cursor.error("UNION stands between whole patterns: write OR, or braces around each side", union)
        return found.pattern

    def _match(self, least: int) -> Match:
        """Groups with operators between that bind at least as closely as this level, from the left."""
        left = self._group()
        while (level := OPERATORS.get(self._cursor.token.word, 0)) >= least:
            operator = self._cursor.advance()
            self._cursor.count_operation(operator)
            if not self._cursor.at_punctuation("{"):
                raise self._cursor.unexpected(f"a group {{ … }} after {operator.word}")
            left = _combined(operator, left, self._match(level + 1))
        return left

    def _group(self) -> Match:
        """Group: its parts are joined, then come BIND and FILTER, to which its interval is known."""
        outer = self._terms.pattern
        with self._cursor.nested("{", "}") as bracket:
            self._terms.begin_pattern()
            parts = self._parts()
        self._terms.pattern = outer
        matches = parts.matches
        if parts.triples:
            times = tuple(triple.time for triple in parts.triples if triple.time is not None)
            matches = [Match(unfolded(BGP(tuple(parts.triples)), parts.unfoldings), times), *matches]
        if not matches:
            raise self._cursor.error("an event pattern has a triple pattern in each of its groups", bracket)
        if parts.operator is not None and len(matches) > 1:
            raise self._cursor.error(
                f"{parts.operator.word} stands beside other patterns of its group: write braces around "
                f"{{ … }} {parts.operator.word} {{ … }}",
                parts.operator,
            )
        pattern = reduce(Join, [match.pattern for match in matches])
        times = tuple(time for match in matches for time in match.times)
        for token, variable, expression in parts.bindings:
            if variable in in_scope(pattern):
                raise self._cursor.error(
                    f"{token.text} is bound by a pattern of its group, too: BIND needs a new variable", token
                )
            pattern = Extend(pattern, variable, with_interval(expression, times))
        if parts.conditions:
            pattern = Filter(pattern, with_interval(balanced("&&", parts.conditions), times))
        return Match(pattern, times)

    def _parts(self) -> _Parts:
        cursor, parts, ended = self._cursor, _Parts(), True
        while not cursor.at_punctuation("}"):
            cursor.count_operation()
            if self._triples.at_triples:
                if not ended:
                    raise cursor.unexpected(". after a triple, or }")
                self._occurring(parts)
                ended = cursor.previous.text == "."
                continue
            if cursor.take("FILTER"):
                parts.conditions.append(self._without_exists(self._condition()))
            elif cursor.at("BIND"):
                token, variable, expression = self._expressions.bind()
                parts.bindings.append((token, variable, self._without_exists(expression)))
            elif cursor.at_punctuation("{"):
                parts.operator = parts.operator or self._behind
                parts.matches.append(self._match(_OR))
            elif cursor.at(*_OF_OTHER_GROUPS):
                raise self._of_another_group()
            else:
                raise cursor.unexpected("a triple pattern, FILTER, BIND, an event pattern in braces, or }")
            cursor.take_punctuation(".")
            ended = True
        return parts

    def _of_another_group(self) -> Exception:
        """The error for a word of another group. Without an operator only the window is missing that makes it one."""
        said = f"{self._cursor.token.word} stands behind an event pattern, not in it"
        if not self._operators:
            said += ", and STREAM without a window is one: write the window that is meant, as in STREAM <…> [RANGE 10s]"
        return self._cursor.error(said)

    def _occurring(self, parts: _Parts) -> None:
        """Triple patterns, each with a variable for the time of its occurrence, become parts of a group."""
        start = self._cursor.token
        patterns, unfoldings = self._patterns(self._triples.block())
        parts.unfoldings += unfoldings
        for pattern in patterns:
            if not isinstance(pattern, BGP):
                raise self._cursor.error(
                    "an event pattern has no property paths: nothing says when they occur. Write triple patterns",
                    start,
                    UnsupportedFeature,
                )
            for triple in pattern.triples:
                self._cursor.count_operation()
                parts.triples.append(replace(triple, time=self._terms.fresh("time e")))

    def _without_exists(self, expression: Expression) -> Expression:
        for node in nodes(expression):
            if isinstance(node, Exists):
                raise self._cursor.error(
                    "EXISTS is not evaluated inside of an event pattern: write the FILTER behind it",
                    node.place,
                    UnsupportedFeature,
                )
        return expression

    @property
    def _behind(self) -> Token | None:
        """The operator that follows the group that begins here."""
        return self._operators.get(self._cursor.token.start, (None, False))[0]

    def resolved(self, pattern: Pattern) -> Pattern:
        """The pattern of a whole query, calls outside of event patterns told whose interval they ask.

        Raises QuerySemanticError for one that has no event pattern around it, or several.
        """
        if any(isinstance(node, Call) and node.name in INTERVAL and not node.arguments for node in nodes(pattern)):
            self._beside_facts = any(isinstance(node, Graph) and node.facts for node in nodes(pattern))
            pattern, _ = self._resolved(pattern)
            for node in nodes(pattern):
                if self._is_unresolved(node):
                    raise self._no_interval(node, 0)
        return pattern

    def _resolved(
        self, pattern: Pattern, outer: Sequence[tuple[Variable, ...]] = ()
    ) -> tuple[Pattern, list[tuple[Variable, ...]]]:
        """The pattern, and the times of each event pattern whose matches its solutions are made of. ``outer``: of those
        that the solution is made of which EXISTS is asked of; they are meant where there are none inside.
        """
        match pattern:
            case BGP() | Values() | Closure() | ServiceSolutions():
                return pattern, []
            case Graph() if times := times_of_match(pattern.pattern):
                return pattern, [times]
            case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
                (one, first), (other, second) = self._resolved(left, outer), self._resolved(right, outer)
                found = first if isinstance(pattern, Minus) else [*first, *second]
                if isinstance(pattern, Union) and len(first) == len(second) == 1:
                    found = [(*first[0], *second[0])]
                pattern = replace(pattern, left=one, right=other)
                if isinstance(pattern, LeftJoin) and pattern.condition is not None:  # it stands in OPTIONAL's group
                    pattern = replace(pattern, condition=self._of(pattern.condition, second or first or outer))
                return pattern, found
        # Nothing in a sub-select is of the solution that EXISTS is asked of.
        inner, found = self._resolved(pattern.pattern, () if isinstance(pattern, Project) else outer)
        pattern, seen = replace(pattern, pattern=inner), found or outer
        match pattern:
            case Filter(_, condition):
                pattern = replace(pattern, condition=self._of(condition, seen))
            case Extend(_, _, expression):
                pattern = replace(pattern, expression=self._of(expression, seen))
            case OrderBy(_, conditions):
                keys = tuple(replace(key, expression=self._of(key.expression, seen)) for key in conditions)
                pattern = replace(pattern, conditions=keys)
            case Group(_, _, aggregates):
                told = tuple(
                    one if one.argument is None else replace(one, argument=self._of(one.argument, seen))
                    for one in aggregates
                )
                return replace(pattern, aggregates=told), []
            case Project():  # of a sub-select nothing else is seen
                return pattern, []
        return pattern, found

    def _of(self, expression: Expression, found: Sequence[tuple[Variable, ...]]) -> Expression:
        """The expression with the interval of the one event pattern there is; EXISTS has those in it before."""
        expression = self._with_exists_resolved(expression, found)
        if len(found) == 1:
            return with_interval(expression, found[0])
        for node in nodes(expression):
            if self._is_unresolved(node):
                raise self._no_interval(node, len(found))
        return expression

    def _with_exists_resolved(self, expression: Expression, outer: Sequence[tuple[Variable, ...]]) -> Expression:
        match expression:
            case Exists(pattern):
                # When the facts began that are matched there is nearer.
                of_facts = any(isinstance(node, Graph) and node.facts for node in nodes(pattern))
                return replace(expression, pattern=self._resolved(pattern, () if of_facts else outer)[0])
            case Call(_, arguments):
                told = tuple(self._with_exists_resolved(one, outer) for one in arguments)
                return replace(expression, arguments=told)
        return expression

    def _is_unresolved(self, node: object) -> TypeGuard[Call]:
        """Whether it asks the interval of a match, and no event pattern is around it. Facts have a beginning, too."""
        told = self._beside_facts and isinstance(node, Call) and node.name == START_TIME
        return isinstance(node, Call) and node.name in INTERVAL and not node.arguments and not told

    def _no_interval(self, call: Call, found: int) -> Exception:
        said = "there is none" if not found else f"there are {found}: ask it in one of them"
        return self._cursor.error(
            f"{call.name}() is that of the event pattern around it, and {said}", call.place, QuerySemanticError
        )


def with_interval(expression: Expression, times: tuple[Variable, ...]) -> Expression:
    """The expression, in which GETDURATION() and its kin are those of a match with these times."""
    if not isinstance(expression, Call):
        return expression
    if expression.name in INTERVAL and not expression.arguments:
        return replace(expression, arguments=times)
    return replace(expression, arguments=tuple(with_interval(one, times) for one in expression.arguments))


def _combined(operator: Token, left: Match, right: Match) -> Match:
    times = (*left.times, *right.times)
    match operator.word:
        case "OR":
            return Match(Union(left.pattern, right.pattern), times)
        case "AND":
            return Match(Join(left.pattern, right.pattern), times)
        case "SEQ" | "OPTIONALSEQ":
            condition: Expression = _compared(END_TIME, "<", START_TIME, left, right, operator)
        case _:
            condition = Call(
                "&&", tuple(_compared(one, "=", one, left, right, operator) for one in (START_TIME, END_TIME))
            )
    if operator.word.startswith("OPTIONAL") or operator.word.endswith("OPTIONAL"):
        return Match(LeftJoin(left.pattern, right.pattern, condition), times)
    return Match(Filter(Join(left.pattern, right.pattern), condition), times)


def _compared(one: str, sign: str, other: str, left: Match, right: Match, operator: Token) -> Call:
    return Call(sign, (Call(one, left.times), Call(other, right.times)), place=operator.start)


def _operators(tokens: Sequence[Token]) -> dict[int, tuple[Token | None, bool]]:
    """Of groups, by the offsets of their brackets: the operator that follows, and whether one stands in the group."""
    found: dict[int, tuple[Token | None, bool]] = {}
    opened: list[int] = []
    holding: set[int] = set()
    for token, following in pairwise(tokens):
        if token.text == "{":
            opened.append(token.start)
        elif token.text == "}" and opened:
            start = opened.pop()
            behind = following if following.word in OPERATORS else None
            if behind is not None or start in holding:
                found[start] = behind, start in holding
                holding.update(opened[-1:])
    return found
