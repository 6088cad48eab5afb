"""Expressions in SQL (SPARQL 1.1 Query section 17): native where hot, by the prelude otherwise.

SQL's three-valued logic is SPARQL's with NULL for an error (17.2), so ``&&``, ``||`` and ``!`` are
AND, OR and NOT. What has no native form here is one call of a prelude function named after the
expression, which the one-shot engine evaluates: a continuous and a one-shot query agree to the letter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from protocol.functions.aggregates import PAIR
from protocol.functions.geosparql import RELATIONS
from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.algebra.kinds import is_text
from spark_backend.compiler.algebra.marks import is_mark
from spark_backend.compiler.algebra.operands import chained, conjuncts
from spark_backend.compiler.algebra.sparql_text import expression_text
from spark_backend.compiler.sql.expressions.accessors import ACCESSORS, pair_of, triple_of
from spark_backend.compiler.sql.expressions.arithmetic import arithmetic
from spark_backend.compiler.sql.expressions.comparison import (
    equality,
    number_equality,
    ordering,
    string_equality,
)
from spark_backend.compiler.sql.expressions.draws import draw, is_drawn
from spark_backend.compiler.sql.expressions.geometry import relation
from spark_backend.compiler.sql.expressions.margins import comparison
from spark_backend.compiler.sql.expressions.searches import SEARCHES, search
from spark_backend.compiler.sql.relation import Names, Relation
from spark_backend.compiler.sql.tree import expressions as sql
from spark_backend.compiler.sql.tree.expressions import (
    Call,
    Case,
    Cast,
    In,
    IsBound,
    IsNull,
    Parentheses,
    Text,
    call,
    choice,
    equal,
    every,
    extreme,
    infix,
    is_choice,
    some,
)
from spark_backend.compiler.sql.tree.nodes import Expression
from spark_backend.compiler.sql.values import (
    FALSE,
    NO_NUMBER,
    TRUE,
    UNBOUND,
    Value,
    constant,
    kind_of,
    of_term,
    of_truth,
)

_NOW = a.Variable("NOW()")
"""Stands for NOW() in what is handed to the prelude: the evaluation instant (docs/language.md, "Time in queries").

No variable of a query has a name with what is in this one.
"""

_BOOLEAN_FUNCTIONS = a.COMPARISONS | {"REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "LANGMATCHES"}
_BOOLEAN_FUNCTIONS |= {
    "IN",
    "NOT IN",
    "ISNUMERIC",
    "SAMETERM",
    "BOUND",
    "ISIRI",
    "ISURI",
    "ISBLANK",
    "ISLITERAL",
    "ISTRIPLE",
    "HASLANG",
    "HASLANGDIR",
}
_AS_WRITTEN = frozenset({"STR", "LANG", "DATATYPE"})
_OF_FORM = _AS_WRITTEN | {"SAMETERM"}
"""What tells terms of one value apart, which the prelude does not."""
_EXACT = frozenset({TermKind.INTEGER, TermKind.DECIMAL})
"""Kinds of numbers that compare alike with any other."""
_BOUNDS = frozenset({a.START_TIME, a.END_TIME})
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
_SHORT = 500
_READABLE = 6000
"""Native SQL for one operator longer than this is given up for a call of the prelude."""


@dataclass(frozen=True)
class PreludeFunction:
    """A function of the prelude: a SPARQL expression over ``?a0``, ``?a1``, … evaluated by the one-shot engine."""

    name: str
    expression: str
    arguments: int


@dataclass
class Prelude:
    """The prelude functions one plan calls, by name."""

    base: str | None
    functions: dict[str, PreludeFunction] = field(default_factory=dict)

    def function(self, expression: a.Expression, variables: tuple[a.Variable, ...]) -> str:
        """The name of the function of these variables that the expression is."""
        names = {variable: f"a{index}" for index, variable in enumerate(variables)}
        text = expression_text(expression, names)
        digest = hashlib.sha256(f"{self.base}\n{len(variables)}\n{text}".encode()).hexdigest()
        name = f"sparql_{digest[:20]}"
        self.functions[name] = PreludeFunction(name, text, len(variables))
        return name


_Asked = tuple[a.Expression, bool]
"""What a prelude call evaluates, and whether it does so in every row."""


@dataclass
class ExpressionCompiler:
    """Compiles expressions over one relation.

    ``bindings`` gives the Value of each variable in scope. ``known`` are the results of prelude calls that
    columns hold already, if there are any (see ``compute``); ``calls`` records all other calls, in line and as what a
    column has that is computed for every row.
    """

    bindings: Mapping[a.Variable, Value]
    prelude: Prelude
    instant: Expression
    known: Mapping[_Asked, Value] = field(default_factory=dict)
    parameters: Mapping[a.Parameter, Value] = field(default_factory=dict)
    calls: dict[_Asked, tuple[Expression, Expression]] = field(default_factory=dict)

    def value(self, expression: a.Expression) -> Value:
        """The expression's value; NULL where it is unbound or an error."""
        return self._short(expression) or self._slow(expression)

    def _short(self, expression: a.Expression) -> Value | None:
        """The value in SQL, where there is one that is not too long."""
        value = self._native(expression)
        return None if value is None or (value.constant is None and value.term.length > _READABLE) else value

    def truth(self, expression: a.Expression) -> Expression:
        """The effective boolean value (17.2.2) as a SQL BOOLEAN, NULL for an error."""
        if isinstance(expression, a.Call) and expression.name == "!":
            return sql.negated(self.truth(expression.arguments[0]))
        if isinstance(expression, a.Call) and expression.name in ("&&", "||"):
            truths = [self.truth(operand) for operand in chained(expression, expression.name)]
            return Parentheses(every(truths) if expression.name == "&&" else some(truths))
        if isinstance(expression, a.Call) and expression.name == "IF" and len(expression.arguments) == 3:
            # Not by the term that IF gives: DuckDB 2.0 fails to plan what is asked of a choice among constants.
            condition, yes, no = map(self.truth, expression.arguments)
            return choice((sql.TRUE, yes), (sql.FALSE, no), subject=condition)
        if isinstance(expression, a.Call) and expression.name == "COALESCE" and expression.arguments:
            whens = []
            for argument in expression.arguments:
                value = self.value(argument)
                # Each argument is written twice, and what is long already must not double at every level of a nest.
                chosen = is_choice(value.term) and value.term.length <= _SHORT
                truth = self.truth(argument) if chosen else self._truth_of(argument, value)
                whens.append((IsBound(value.term), truth))
            return choice(*whens)
        return self._truth_of(expression, self.value(expression))

    def holds(self, expression: a.Expression) -> Expression:
        """What is TRUE where the effective boolean value is, FALSE or NULL elsewhere: tables can be joined on it."""
        match expression:
            case a.Call("&&"):
                return Parentheses(every([self.holds(operand) for operand in conjuncts(expression)]))
            case a.Call("=", (left, right)) if is_text(left) or is_text(right):
                one, other = (Parentheses(self.value(side).term) for side in (left, right))
                return Parentheses(equal(one, other))
        return self.truth(expression)

    def _truth_of(self, expression: a.Expression, value: Value) -> Expression:
        """The effective boolean value of an expression's value."""
        if value.truth is not None:
            return Parentheses(value.truth)
        if isinstance(expression, a.Call) and expression.name in _BOOLEAN_FUNCTIONS:
            return Parentheses(equal(value.term, Text(TRUE)))
        numeric = every([infix(value.kind, "<=", kind_of(TermKind.BOOLEAN)), IsBound(value.number)])
        double_negation = a.Call("!", (a.Call("!", (expression,)),))
        return choice(
            (IsNull(value.term), sql.NULL),
            (numeric, infix(value.number, "<>", sql.number(0))),
            (equal(value.kind, kind_of(TermKind.STRING)), infix(value.term, "<>", Text('""'))),
            (infix(value.kind, ">=", kind_of(TermKind.LANGUAGE_STRING)), sql.NULL),
            otherwise=self._slow_truth(double_negation),
        )

    def _native(self, expression: a.Expression) -> Value | None:
        """The value by SQL alone, or by SQL with the prelude for what that leaves over; None without any."""
        match expression:
            case a.Variable():
                return self.bindings.get(expression) or UNBOUND
            case a.Constant(text):
                return constant(text)
            case a.Parameter():
                return self.parameters[expression]
            case a.Call("NOW", ()):
                return Value(self._now, _DATE_TIME, Cast(Parentheses(self.instant), "DOUBLE"))
            case a.Call("TIMESTAMP", times):
                return self._latest(times)
            case a.Call(name, times) if name in a.INTERVAL:
                return self._of_interval(name, times)
            case a.Call("<" | "=" as sign, (a.Call(one) as left, a.Call(other) as right)) if {one, other} <= _BOUNDS:
                return of_truth(Parentheses(infix(self.value(left).number, sign, self.value(right).number)))
            case a.Call() if is_drawn(expression):
                return draw(expression, self.value)
            case a.Call("BOUND", (variable,)):
                return of_truth(Parentheses(IsBound(self.value(variable).term)))
            case a.Call("SAMETERM", (left, right)):
                return of_truth(Parentheses(equal(self.value(left).term, self.value(right).term)))
            case a.Call("!" | "&&" | "||"):
                return of_truth(self.truth(expression))
            case a.Call("IN" | "NOT IN" as name, (subject, *members)) if members:
                return of_truth(self._membership(name, subject, members))
            case a.Call(name, (left, right)) if name in a.COMPARISONS:
                return of_truth(self._comparison(name, left, right))
            case a.Call("IF", (condition, yes, no)):
                return self._choice(condition, yes, no)
            case a.Call("COALESCE", arguments):
                return self._coalesce(arguments)
            case a.Call("ISNUMERIC", (argument,)):
                value = self.value(argument)
                numeric = infix(value.kind, "<=", kind_of(TermKind.DOUBLE))
                return of_truth(
                    choice(
                        (every([numeric, IsBound(value.number)]), sql.TRUE),
                        (numeric, self._slow_truth(expression)),
                        (IsBound(value.term), sql.FALSE),
                    )
                )
            case a.Call(name, (text, part)) if name in SEARCHES and _is_at_hand(text) and _is_at_hand(part):
                return of_truth(search(name, self.value(text), self.value(part), self._slow_truth(expression)))
            case a.Call(name, (argument,)) if name in ACCESSORS:
                return ACCESSORS[name](self.value(argument))
            case a.Call("TRIPLE", parts):
                return triple_of(*map(self.value, parts))
            case a.Call(name, parts) if name[1:-1] == PAIR:
                return pair_of(*map(self.value, parts))
            case a.Call(name, (left, right)) if name[1:-1] in RELATIONS:
                left_term, right_term = self.value(left).term, self.value(right).term
                return of_truth(relation(name[1:-1], left_term, right_term, self._slow_truth(expression)))
            case a.Call(name, arguments) if name in _ARITHMETIC and arguments:
                return arithmetic(expression, self.value, lambda unless: self._slow(expression, unless))
        return None

    def _comparison(self, name: str, left: a.Expression, right: a.Expression) -> Expression:
        asked = a.Call("=" if name == "!=" else name, (left, right))
        slow = partial(self._slow_truth, asked)
        truth = comparison(asked, self.value, slow)
        if truth is None:
            values = self.value(left), self.value(right)
            truth = ordering(name, *values, slow) if name in a.ORDERINGS else equality(*values, slow)
        return sql.negated(truth) if name == "!=" else truth

    def _latest(self, times: Sequence[a.Expression]) -> Value:
        """The greatest of hidden variables (``timestamps``), those that are unbound left out, as an xsd:dateTime."""
        numbers: list[Expression] = []
        for time in times:
            match time:
                case a.Call("TIME_IF", (condition, hidden)):
                    numbers.append(choice((self.truth(condition), self.value(hidden).number)))
                case _:
                    numbers.append(self.value(time).number)
        return _instant(extreme("greatest", numbers)) if numbers else UNBOUND

    def _of_interval(self, name: str, times: Sequence[a.Expression]) -> Value:
        """What is asked of the interval of a match, given the times of its occurrences; those that are unbound are of
        what did not match.
        """
        numbers = [self.value(time).number for time in times]
        start, end = (extreme(of, numbers) for of in ("least", "greatest"))
        if name == a.DURATION:
            term = call("duration_term", Cast(Parentheses(infix(end, "-", start)), "BIGINT"))
            return Value(term, choice((IsBound(end), kind_of(TermKind.OTHER_LITERAL))), NO_NUMBER)
        return _instant(start if name == a.START_TIME else end)

    @property
    def _now(self) -> Expression:
        return call("instant_term", self.instant)

    def _membership(self, name: str, subject: a.Expression, members: list[a.Expression]) -> Expression:
        """IN is a disjunction of ``=`` (17.4.1.9), NOT IN its negation."""
        value = self.value(subject)
        told = {one: self.value(one) for one in members if isinstance(one, a.Constant | a.Parameter)}
        iris = {one: to for one, to in told.items() if to.constant_kind == TermKind.IRI}
        strings = {one: to for one, to in told.items() if to.constant_kind == TermKind.STRING}
        numbers = {one: to for one, to in told.items() if to.is_number and to.constant_kind in _EXACT}
        rest = [one for one in members if one not in {*iris, *strings, *numbers}]
        same = [self.truth(a.Call("=", (subject, member))) for member in rest]
        if iris:
            same.append(Parentheses(In(value.term, tuple(one.term for one in iris.values()))))
        for equality_of, some_of in ((string_equality, strings), (number_equality, numbers)):
            if some_of:
                these = a.Call("IN", (subject, *some_of))
                same.append(equality_of(value, list(some_of.values()), partial(self._slow_truth, these)))
        disjunction = Parentheses(some(same))
        return sql.negated(disjunction) if name == "NOT IN" else disjunction

    def _choice(self, condition: a.Expression, yes: a.Expression, no: a.Expression) -> Value:
        truth, first, second = self.truth(condition), self.value(yes), self.value(no)

        def either(one: Expression, other: Expression) -> Expression:
            return choice((sql.TRUE, one), (sql.FALSE, other), subject=truth)

        return Value(
            either(first.term, second.term), either(first.kind, second.kind), either(first.number, second.number)
        )

    def _coalesce(self, arguments: tuple[a.Expression, ...]) -> Value:
        values = [self.value(argument) for argument in arguments]
        if not values:
            return UNBOUND
        bound = [IsBound(value.term) for value in values]
        kinds = choice(*zip(bound, (value.kind for value in values), strict=True))
        numbers = choice(*zip(bound, (value.number for value in values), strict=True))
        return Value(call("COALESCE", *(value.term for value in values)), kinds, numbers)

    def _call(self, expression: a.Expression) -> Call:
        """A call of the prelude; what it must see as it was written is computed before, and NOW() is given."""
        taken: dict[a.Variable, Expression] = {}
        expression = self._abstract(expression, taken)
        variables = tuple(sorted(a.expression_variables(expression), key=lambda variable: variable.name))
        arguments = [taken.get(variable) or (self.bindings.get(variable) or UNBOUND).term for variable in variables]
        if not variables:  # a constant: DuckDB wants at least one argument to vary over
            arguments.append(Text(""))
        return Call(self.prelude.function(expression, variables), tuple(arguments))

    def _abstract(self, expression: a.Expression, taken: dict[a.Variable, Expression]) -> a.Expression:
        match expression:
            case a.Call("NOW", ()):
                taken[_NOW] = self._now
                return _NOW
            case a.Call() if is_drawn(expression) or expression.name in {"TIMESTAMP", *a.INTERVAL}:
                drawn = a.Variable(f"__draw {len(taken)}")
                taken[drawn] = self.value(expression).term
                return drawn
            case a.Call() if (name := _read(expression)) is not None:
                taken[a.Variable(f"__{name}")] = self.value(expression).term
                return a.Variable(f"__{name}")
            case a.Call(name, arguments) if (
                name in _OF_FORM
                and any(map(_is_selected, arguments))
                and (value := self._short(expression)) is not None
            ):
                selected = a.Variable(f"__selected {len(taken)}")
                taken[selected] = value.term
                return selected
            case a.Parameter(number):
                taken[a.Variable(f"__parameter {number}")] = self.parameters[expression].term
                return a.Variable(f"__parameter {number}")
            case a.Call(name, arguments):
                return a.Call(name, tuple(self._abstract(argument, taken) for argument in arguments))
        return expression

    def _slow(self, expression: a.Expression, unless: Expression | None = None) -> Value:
        """The value by the prelude, for an ELSE where it is not needed ``unless`` all before is not so."""
        key = expression, unless is None
        if key in self.known:
            return self.known[key]
        asked = self._call(expression)
        # In a column of its own it has no CASE around it.
        column = asked if unless is None else Parentheses(Case(((unless, sql.NULL),), asked))
        self.calls[key] = asked, column
        return of_term(asked)

    def _slow_truth(self, expression: a.Expression) -> Expression:
        """The truth of a boolean expression by the prelude, in line: only where nothing native decides."""
        return choice((Text(TRUE), sql.TRUE), (Text(FALSE), sql.FALSE), subject=self._call(expression))


_DATE_TIME = kind_of(TermKind.DATE_TIME_ZONED)


def _instant(number: Expression) -> Value:
    """An xsd:dateTime of so many milliseconds; unbound where that is NULL."""
    within = Parentheses(number)
    return Value(call("instant_term", Cast(within, "BIGINT")), choice((IsBound(number), _DATE_TIME)), within)


def _read(expression: a.Expression) -> str | None:
    """A name for what is read as it is written in a variable's term, or in a part of it."""
    match expression:
        case a.Variable(name):
            return name
        # Of what another of these gives, all is in its value: a chain of them is not taken apart call by call.
        case a.Call(name, (argument,)) if name in a.PARTS_OF_TRIPLES or (
            name in _AS_WRITTEN and not _is_as_written(argument)
        ):
            within = _read(argument)
            return None if within is None else f"{name} {within}"
    return None


def _is_at_hand(expression: a.Expression) -> bool:
    """Whether it costs little, however often it is written."""
    return isinstance(expression, a.Constant | a.Parameter) or _read(expression) is not None


def _is_selected(expression: a.Expression) -> bool:
    """Whether it may be the term of a variable, or a part of one."""
    match expression:
        case a.Variable():
            return True
        case a.Call("IF", (_, *chosen)) | a.Call("COALESCE" | "TRIPLE", (*chosen,)):
            return any(map(_is_selected, chosen))
        case a.Call(name, (argument,)) if name in a.PARTS_OF_TRIPLES:
            return _is_selected(argument)
    return False


def _is_as_written(expression: a.Expression) -> bool:
    return isinstance(expression, a.Call) and expression.name in _AS_WRITTEN


def compute(
    relation: Relation,
    names: Names,
    prelude: Prelude,
    write: Callable[[ExpressionCompiler], Sequence[Expression]],
    parameters: Iterable[a.Parameter] = (),
    read: Collection[a.Variable] | None = None,
) -> tuple[Relation, Sequence[Expression]]:
    """An open relation and expressions over it in SQL, as ``write`` makes them given a compiler.

    They read all variables, or those that are told: then it is open as far as these go.
    The relation has a column for each of the ``parameters``, and one for the number of each (``parameter_columns``).

    A prelude call that is used more than once becomes a column of the relation, its facets, where they
    are, columns of another SELECT over that, so that none is made twice.
    """
    relation = names.open(relation, read)
    compiler = ExpressionCompiler(
        bindings(relation, names), prelude, relation.columns["instant"], parameters=_values(relation, parameters)
    )
    found = write(compiler)
    if not compiler.calls:
        return relation, found
    facets_of = {key: of_term(asked) for key, (asked, _) in compiler.calls.items()}
    wanted = [part for value in facets_of.values() for part in (value.term, value.kind, value.number)]
    times = sql.occurrences(found, wanted)
    repeated = {key: column for key, (asked, column) in compiler.calls.items() if times[asked] > 1}
    if not repeated:
        return relation, found
    hidden = {key: names.fresh("x") for key in repeated}
    calls = {hidden[key]: column for key, column in repeated.items()}
    relation = replace(relation, columns={**relation.columns, **calls}).within(names.fresh("q"))
    facets: dict[str, Expression] = {}
    for key, name in hidden.items():
        value, again = facets_of[key], of_term(relation.columns[name])
        facets |= {f"{name}_k": again.kind} if times[value.kind] > 1 else {}
        facets |= {f"{name}_n": again.number} if times[value.number] > 1 else {}
    if facets:
        relation = replace(relation, columns={**relation.columns, **facets}).within(names.fresh("q"))
    known = {}
    for key, name in hidden.items():
        value = of_term(relation.columns[name])
        kind, number = (relation.columns.get(f"{name}_k", value.kind), relation.columns.get(f"{name}_n", value.number))
        known[key] = Value(value.term, kind, number)
    kept = {name: column for name, column in relation.columns.items() if name not in (*hidden.values(), *facets)}
    relation = replace(relation, columns=kept)
    compiler = ExpressionCompiler(
        bindings(relation, names), prelude, relation.columns["instant"], known, _values(relation, parameters)
    )
    return relation, write(compiler)


def parameter_columns(parameter: a.Parameter) -> tuple[str, str]:
    """The columns of a parameter's term and of its number."""
    return f"c{parameter.number}", f"c{parameter.number}_n"


def _values(relation: Relation, parameters: Iterable[a.Parameter]) -> dict[a.Parameter, Value]:
    found = {}
    for parameter in parameters:
        term, number = (relation.columns[column] for column in parameter_columns(parameter))
        found[parameter] = Value(term, sql.number(parameter.kind), number, parameter_kind=parameter.kind)
    return found


def bindings(relation: Relation, names: Names) -> dict[a.Variable, Value]:
    """The Value of each variable of a relation, but for those that are in parts: no expression reads them."""
    return {
        variable: value_of(variable, [relation.columns[name] for name in names.columns(variable)])
        for variable in relation.variables
        if variable not in relation.parts
    }


def value_of(variable: a.Variable, columns: Sequence[Expression]) -> Value:
    """The Value of a variable, given its columns in SQL."""
    if is_mark(variable):
        return of_truth(Parentheses(equal(columns[0], Text(TRUE))))
    return of_term(columns[0]) if len(columns) == 1 else Value(columns[0], columns[1], columns[2])
