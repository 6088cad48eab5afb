"""Expressions, calls and aggregates (productions [110] to [128] of SPARQL 1.1 Query section 19.8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from protocol.errors import ExcludedByGrammar, UnsupportedFeature
from protocol.functions.aggregates import AGGREGATES, PAIR, AggregateFunction
from protocol.grammar.cursor import Cursor
from protocol.grammar.terms import Terms, number
from protocol.grammar.timestamps import TimestampCalls
from protocol.grammar.triple_terms import TripleTerms
from protocol.language.algebra import (
    COMPARISONS,
    DRAWING,
    INTERVAL,
    Aggregate,
    Call,
    Exists,
    Expression,
    Pattern,
    Variable,
    balanced,
    nodes,
)
from protocol.sparql.tokens import Token, TokenKind

_OR, _AND, _RELATIONAL, _ADDITIVE, _MULTIPLICATIVE = range(1, 6)
_LEVELS = {"||": _OR, "&&": _AND, "+": _ADDITIVE, "-": _ADDITIVE, "*": _MULTIPLICATIVE, "/": _MULTIPLICATIVE}
_LEVELS |= dict.fromkeys(COMPARISONS | {"IN", "NOT IN"}, _RELATIONAL)

_ANY = 2**16
_FUNCTIONS = {
    name: (least, most)
    for (least, most), names in {
        (0, 0): "RAND NOW UUID STRUUID",
        (0, 1): "BNODE",
        (1, 1): "STR LANG DATATYPE IRI URI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE ENCODE_FOR_URI YEAR MONTH DAY HOURS "
        "MINUTES SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC "
        "SUBJECT PREDICATE OBJECT ISTRIPLE LANGDIR HASLANG HASLANGDIR",
        (2, 2): "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT SAMETERM",
        (2, 3): "SUBSTR REGEX",
        (3, 3): "IF TRIPLE STRLANGDIR",
        (3, 4): "REPLACE",
        (0, _ANY): "CONCAT COALESCE",
    }.items()
    for name in names.split()
}
_AGGREGATES = frozenset({"COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"})


@dataclass
class Aggregates:
    """The aggregates of one SELECT: each becomes a variable that nobody can name, of the group."""

    fresh: Callable[[], Variable]
    inside: bool = False
    _known: dict[tuple[object, ...], Aggregate] = field(init=False, default_factory=dict)

    @property
    def found(self) -> tuple[Aggregate, ...]:
        """The aggregates in the order of the text."""
        return tuple(self._known.values())

    def add(self, function: str, argument: Expression | None, distinct: bool, separator: str) -> Variable:
        """The variable with its value; the same aggregate twice is one, unless it draws."""
        draws = any(isinstance(node, Call) and node.name in DRAWING for node in nodes(argument))
        written = function, argument, distinct, separator, len(self._known) if draws else None
        if written not in self._known:
            self._known[written] = Aggregate(function, argument, self.fresh(), distinct, separator)
        return self._known[written].result


class Expressions:
    """Reads expressions. ``group`` reads the group of an EXISTS."""

    def __init__(self, cursor: Cursor, terms: Terms, group: Callable[[], Pattern]) -> None:
        self._cursor = cursor
        self._terms = terms
        self._group = group
        self._timestamps = TimestampCalls(cursor, terms)
        self._triple_terms = TripleTerms(cursor, terms)
        self._aggregates: Aggregates | None = None

    @property
    def at_aggregate(self) -> bool:
        """Whether an aggregate of the standard is next."""
        return self._cursor.at(*_AGGREGATES) and self._cursor.following.text == "("

    # Where expressions stand

    def expression(self, aggregates: Aggregates | None = None) -> Expression:
        """[110] Expression. Without ``aggregates`` it may have none."""
        outer, self._aggregates = self._aggregates, aggregates
        try:
            return self._binary(_OR)
        finally:
            self._aggregates = outer

    def bracketted(self, aggregates: Aggregates | None = None) -> Expression:
        """[120] BrackettedExpression."""
        with self._cursor.nested("(", ")"):
            return self.expression(aggregates)

    def constraint(self, aggregates: Aggregates | None = None) -> Expression | None:
        """[69] Constraint: an expression in brackets or a call; None where neither begins."""
        if self._cursor.at_punctuation("("):
            return self.bracketted(aggregates)
        outer, self._aggregates = self._aggregates, aggregates
        try:
            if self._terms.at_iri and self._cursor.following.text != "(":
                return None
            return self._call()
        finally:
            self._aggregates = outer

    def bind(self) -> tuple[Token, Variable, Expression]:
        """[60] Bind: the new variable, where it stands, and what it is bound to."""
        cursor = self._cursor
        cursor.advance()
        with cursor.nested("(", ")"):
            expression = self.expression()
            cursor.expect("AS", after="the expression in BIND( )")
            token = cursor.token
            return token, self._terms.variable("a new variable after AS"), expression

    # Operators

    def _binary(self, least: int, first: Expression | None = None) -> Expression:
        """Operators that bind at least as closely as this level, from the left: [111] to [117]."""
        left = self._unary() if first is None else first
        most = _MULTIPLICATIVE
        while True:
            token = self._cursor.token
            signed = token.kind is TokenKind.NUMBER and token.text[0] in "+-"
            sign = token.text[0] if signed else self._operator(token)
            level = _LEVELS.get(sign, 0)
            if not least <= level <= most:
                return left
            most = level - 1 if level == _RELATIONAL else level  # comparisons do not follow each other
            if level in (_OR, _AND):
                left = self._chain(level, left)
                continue
            self._cursor.count_operation(token)
            self._cursor.advance()
            if sign == "NOT IN":
                self._cursor.advance()
            if sign in ("IN", "NOT IN"):
                left = Call(sign, (left, *self._arguments()), place=token.start)
            elif signed:  # ?x -1 is a difference (production [116])
                right = self._binary(_MULTIPLICATIVE, number(token.text[1:], token.start + 1))
                left = Call(sign, (left, right), place=token.start)
            else:
                left = Call(sign, (left, self._binary(level + 1)), place=token.start)

    def _chain(self, level: int, first: Expression) -> Expression:
        """``first`` and what is joined to it by signs of a level that associates: [111] or [112]."""
        sign = self._cursor.token.text
        operands, places = [first], list[int]()
        while self._cursor.token.text == sign:
            token = self._cursor.advance()
            self._cursor.count_operation(token)
            places.append(token.start)
            operands.append(self._binary(level + 1))
        return balanced(sign, operands, places)

    def _operator(self, token: Token) -> str:
        if token.kind is TokenKind.PUNCTUATION:
            return token.text
        if token.word == "NOT" and self._cursor.following.word == "IN":
            return "NOT IN"
        return token.word

    def _unary(self) -> Expression:
        """[118] UnaryExpression, with SPARQL 1.2's ``!`` before another ``!``."""
        signs: list[Token] = []
        while sign := self._cursor.take_punctuation("!", "-", "+"):
            self._cursor.count_operation(sign)
            signs.append(sign)
            if sign.text != "!":
                break
        expression = self._primary()
        for sign in reversed(signs):
            expression = Call(sign.text, (expression,), place=sign.start)
        return expression

    def _primary(self) -> Expression:
        """[119] PrimaryExpression."""
        if self._cursor.at_punctuation("("):
            with self._cursor.nested("(", ")"):
                return self._binary(_OR)
        if self._terms.at_variable:
            return self._terms.variable()
        if self._terms.at_literal():
            return self._terms.literal()
        if self._triple_terms.at_term:
            return self._triple_terms.of_expression()
        called = self._call()
        if called is None:
            raise self._cursor.unexpected("an expression")
        return called

    # Calls

    def _call(self) -> Expression | None:
        """[121] BuiltInCall, [70] FunctionCall, or an IRI; None where none begins."""
        cursor, token = self._cursor, self._cursor.token
        if self._timestamps.is_next:
            return self._timestamps.call()
        if self._terms.at_iri:
            iri = self._terms.iri()
            if not cursor.at_punctuation("("):
                return iri
            if (aggregate := AGGREGATES.get(iri.text[1:-1])) is not None:
                return self._aggregate_with_iri(aggregate, token)
            arguments = self._arguments(distinct=True)
            return Call(iri.text, tuple(arguments), place=token.start)
        word = token.word
        if word == "EXISTS" or (word == "NOT" and cursor.following.word == "EXISTS"):
            cursor.take("NOT")
            cursor.advance()
            exists = Exists(self._group(), place=token.start)
            return exists if word == "EXISTS" else Call("!", (exists,), place=token.start)
        if word in _AGGREGATES:
            return self._aggregate()
        if word == "BOUND":
            cursor.advance()
            with cursor.nested("(", ")"):
                return Call(word, (self._terms.variable("a variable in BOUND( )"),), place=token.start)
        if word in INTERVAL and cursor.continuous:
            cursor.advance()
            with cursor.nested("(", ")"):
                return Call(word, (), place=token.start)
        if word not in _FUNCTIONS:
            if word == "ADJUST" and cursor.following.text == "(":
                raise cursor.error("ADJUST() is not part of SPARQL", token, UnsupportedFeature)
            return None
        cursor.advance()
        arguments = self._arguments()
        least, most = _FUNCTIONS[word]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise cursor.error(f"{word} takes {wanted} argument{'s' * (wanted != '1')}, not {len(arguments)}", token)
        return Call(word, tuple(arguments), place=token.start)

    def _arguments(self, *, distinct: bool = False) -> list[Expression]:
        """[71] ArgList and [72] ExpressionList."""
        found: list[Expression] = []
        with self._cursor.nested("(", ")"):
            if distinct and (token := self._cursor.take("DISTINCT")):
                raise self._cursor.error(
                    "DISTINCT goes with aggregates, and this is none that is known", token, UnsupportedFeature
                )
            while not self._cursor.at_punctuation(")"):
                if found:
                    self._cursor.expect_punctuation(",", ", or ) after an argument")
                found.append(self._binary(_OR))
        return found

    def _aggregate(self) -> Expression:
        """[127] Aggregate."""
        cursor = self._cursor
        function = cursor.advance()
        aggregates = self._aggregates_of_query(function)
        argument: Expression | None = None
        separator = " "
        with cursor.nested("(", ")"):
            distinct = cursor.take("DISTINCT") is not None
            if function.word == "COUNT" and cursor.take_punctuation("*"):
                pass
            else:
                aggregates.inside = True
                argument = self._binary(_OR)
                aggregates.inside = False
            if function.word == "GROUP_CONCAT" and cursor.take_punctuation(";"):
                cursor.expect("SEPARATOR", after="; in GROUP_CONCAT")
                cursor.expect_punctuation("=", "= after SEPARATOR")
                if cursor.token.kind is not TokenKind.STRING:
                    raise cursor.unexpected("a string after SEPARATOR =")
                separator = self._terms.string(cursor.advance())
        return aggregates.add(function.word, argument, distinct, separator)

    def _aggregate_with_iri(self, aggregate: AggregateFunction, function: Token) -> Expression:
        """A call of an aggregate of ``protocol.functions.aggregates``, whose name has been read: [70] with [127]."""
        cursor = self._cursor
        aggregates = self._aggregates_of_query(function)
        aggregates.inside = True
        with cursor.nested("(", ")"):
            distinct = cursor.take("DISTINCT") is not None
            arguments = [self._binary(_OR)]
            while cursor.take_punctuation(","):
                arguments.append(self._binary(_OR))
        aggregates.inside = False
        if len(arguments) != aggregate.arguments:
            wanted = "an argument" if aggregate.arguments == 1 else "two arguments"
            raise cursor.error(f"the aggregate {function.text} takes {wanted}, not {len(arguments)}", function)
        argument = arguments[0] if len(arguments) == 1 else Call(f"<{PAIR}>", tuple(arguments), place=function.start)
        return aggregates.add(f"<{aggregate.called(distinct)}>", argument, False, " ")

    def _aggregates_of_query(self, function: Token) -> Aggregates:
        """Where an aggregate goes that is called at a place where there may be one."""
        aggregates = self._aggregates
        if aggregates is None:
            raise self._cursor.error(
                f"{function.word or function.text} is an aggregate: it goes in SELECT, HAVING or ORDER BY", function
            )
        if aggregates.inside:
            raise self._cursor.error(
                f"{function.word or function.text} stands inside of another aggregate", function, ExcludedByGrammar
            )
        return aggregates
