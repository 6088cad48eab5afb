"""Expressions in SQL (SPARQL 1.1 Query section 17): native where hot, by the prelude otherwise.

SQL's three-valued logic is SPARQL's with NULL for an error (17.2), so ``&&``, ``||`` and ``!`` are
AND, OR and NOT. What has no native form here is one call of a prelude function named after the
expression, which the one-shot engine evaluates: a continuous and a one-shot query agree to the letter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from protocol.language import algebra as a
from protocol.terms import TermKind
from spark_backend.compiler.algebra.marks import is_mark
from spark_backend.compiler.algebra.sparql_text import expression_text
from spark_backend.compiler.sql.expressions.accessors import ACCESSORS
from spark_backend.compiler.sql.expressions.arithmetic import arithmetic
from spark_backend.compiler.sql.expressions.comparison import ORDERINGS, equality, ordering, string_equality
from spark_backend.compiler.sql.expressions.draws import draw, is_drawn
from spark_backend.compiler.sql.relation import Names, Relation
from spark_backend.compiler.sql.values import FALSE, TRUE, UNBOUND, Value, constant, of_term, of_truth

NOW_VARIABLE = a.Variable("__now__")
"""Stands for NOW() in what is handed to the prelude: the evaluation instant (docs/language.md, "Time in queries")."""

_BOOLEAN_FUNCTIONS = ORDERINGS | {"REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "LANGMATCHES"}
_BOOLEAN_FUNCTIONS |= {
    "=",
    "!=",
    "IN",
    "NOT IN",
    "ISNUMERIC",
    "SAMETERM",
    "BOUND",
    "ISIRI",
    "ISURI",
    "ISBLANK",
    "ISLITERAL",
}
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

    ``bindings`` gives the Value of each variable in scope. ``columns`` names the columns, if there are
    any, that already hold the result of a prelude call (see ``compute``); ``calls`` records all calls.
    """

    bindings: Mapping[a.Variable, Value]
    prelude: Prelude
    instant: str
    columns: Mapping[_Asked, str] = field(default_factory=dict)
    parameters: Mapping[a.Parameter, Value] = field(default_factory=dict)
    calls: dict[_Asked, str] = field(default_factory=dict)

    def value(self, expression: a.Expression) -> Value:
        """The expression's value; NULL where it is unbound or an error."""
        value = self._native(expression)
        if value is None or (value.constant is None and len(value.term) > _READABLE):
            return self._slow(expression)
        return value

    def truth(self, expression: a.Expression) -> str:
        """The effective boolean value (17.2.2) as a SQL BOOLEAN, NULL for an error."""
        if isinstance(expression, a.Call) and expression.name in ("&&", "||", "!"):
            truths = [self.truth(operand) for operand in _operands(expression, expression.name)]
            if expression.name == "!":
                return f"(NOT {truths[0]})"
            return f"({(' AND ' if expression.name == '&&' else ' OR ').join(truths)})"
        if isinstance(expression, a.Call) and expression.name == "IF" and len(expression.arguments) == 3:
            # Not by the term that IF gives: DuckDB 2.0 fails to plan what is asked of a choice among constants.
            condition, yes, no = map(self.truth, expression.arguments)
            return f"(CASE {condition} WHEN TRUE THEN {yes} WHEN FALSE THEN {no} END)"
        if isinstance(expression, a.Call) and expression.name == "COALESCE" and expression.arguments:
            whens = []
            for argument in expression.arguments:
                value = self.value(argument)
                # Each argument is written twice, and what is long already must not double at every level of a nest.
                choice = value.term.startswith("(CASE") and len(value.term) <= _SHORT
                truth = self.truth(argument) if choice else self._truth_of(argument, value)
                whens.append(f"WHEN {value.term} IS NOT NULL THEN {truth}")
            return f"(CASE {' '.join(whens)} END)"
        return self._truth_of(expression, self.value(expression))

    def _truth_of(self, expression: a.Expression, value: Value) -> str:
        """The effective boolean value of an expression's value."""
        if value.truth is not None:
            return f"({value.truth})"
        if isinstance(expression, a.Call) and expression.name in _BOOLEAN_FUNCTIONS:
            return f"({value.term} = '{TRUE}')"
        numeric = f"{value.kind} <= {TermKind.BOOLEAN:d} AND {value.number} IS NOT NULL"
        double_negation = a.Call("!", (a.Call("!", (expression,)),))
        return (
            f"(CASE WHEN {value.term} IS NULL THEN NULL WHEN {numeric} THEN {value.number} <> 0 "
            f"WHEN {value.kind} = {TermKind.STRING:d} THEN {value.term} <> '\"\"' "
            f"WHEN {value.kind} >= {TermKind.LANGUAGE_STRING:d} THEN NULL "
            f"ELSE {self._slow_truth(double_negation)} END)"
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
                return Value(self._now, f"{TermKind.DATE_TIME_ZONED:d}", f"({self.instant})::DOUBLE")
            case a.Call("TIMESTAMP", times):
                return self._latest(times)
            case a.Call(name, times) if name in a.INTERVAL:
                return self._of_interval(name, times)
            case a.Call("<" | "=" as sign, (a.Call(one) as left, a.Call(other) as right)) if {one, other} <= _BOUNDS:
                return of_truth(f"({self.value(left).number} {sign} {self.value(right).number})")
            case a.Call() if is_drawn(expression):
                return draw(expression, self.value)
            case a.Call("BOUND", (variable,)):
                return of_truth(f"({self.value(variable).term} IS NOT NULL)")
            case a.Call("SAMETERM", (left, right)):
                return of_truth(f"({self.value(left).term} = {self.value(right).term})")
            case a.Call("!" | "&&" | "||"):
                return of_truth(self.truth(expression))
            case a.Call("IN" | "NOT IN" as name, (subject, *members)) if members:
                return of_truth(self._membership(name, subject, members))
            case a.Call("=" | "!=" as name, (left, right)):
                equal = a.Call("=", (left, right))
                truth = equality(self.value(left), self.value(right), lambda: self._slow_truth(equal))
                return of_truth(truth if name == "=" else f"(NOT {truth})")
            case a.Call(name, (left, right)) if name in ORDERINGS:
                return of_truth(
                    ordering(name, self.value(left), self.value(right), lambda: self._slow_truth(expression))
                )
            case a.Call("IF", (condition, yes, no)):
                return self._choice(condition, yes, no)
            case a.Call("COALESCE", arguments):
                return self._coalesce(arguments)
            case a.Call("ISNUMERIC", (argument,)):
                value = self.value(argument)
                numeric = f"{value.kind} <= {TermKind.DOUBLE:d}"
                return of_truth(
                    f"(CASE WHEN {numeric} AND {value.number} IS NOT NULL THEN TRUE WHEN {numeric} "
                    f"THEN {self._slow_truth(expression)} WHEN {value.term} IS NOT NULL THEN FALSE END)"
                )
            case a.Call(name, (argument,)) if name in ACCESSORS:
                return ACCESSORS[name](self.value(argument))
            case a.Call(name, arguments) if name in _ARITHMETIC and arguments:
                return arithmetic(expression, self.value, lambda unless: self._slow(expression, unless))
        return None

    def _latest(self, times: Sequence[a.Expression]) -> Value:
        """The greatest of hidden variables (``timestamps``), those that are unbound left out, as an xsd:dateTime."""
        numbers = []
        for time in times:
            match time:
                case a.Call("TIME_IF", (condition, hidden)):
                    numbers.append(f"(CASE WHEN {self.truth(condition)} THEN {self.value(hidden).number} END)")
                case _:
                    numbers.append(self.value(time).number)
        if not numbers:
            return UNBOUND
        latest = _extreme("greatest", numbers)
        kind = f"(CASE WHEN {latest} IS NOT NULL THEN {TermKind.DATE_TIME_ZONED:d} END)"
        return Value(f"instant_term(({latest})::BIGINT)", kind, f"({latest})")

    def _of_interval(self, name: str, times: Sequence[a.Expression]) -> Value:
        """What is asked of the interval of a match, given the times of its occurrences; those that are unbound are of
        what did not match.
        """
        numbers = [self.value(time).number for time in times]
        start, end = (_extreme(of, numbers) for of in ("least", "greatest"))
        if name == a.DURATION:
            term = f"duration_term(({end} - {start})::BIGINT)"
            kind = f"(CASE WHEN {end} IS NOT NULL THEN {TermKind.OTHER_LITERAL:d} END)"
            return Value(term, kind, "NULL::DOUBLE")
        bound = start if name == a.START_TIME else end
        kind = f"(CASE WHEN {bound} IS NOT NULL THEN {TermKind.DATE_TIME_ZONED:d} END)"
        return Value(f"instant_term(({bound})::BIGINT)", kind, f"({bound})")

    @property
    def _now(self) -> str:
        return f"instant_term({self.instant})"

    def _membership(self, name: str, subject: a.Expression, members: list[a.Expression]) -> str:
        """IN is a disjunction of ``=`` (17.4.1.9), NOT IN its negation."""
        value = self.value(subject)
        constants = [constant(member.text) for member in members if isinstance(member, a.Constant)]
        iris = [one for one in constants if one.constant_kind == TermKind.IRI]
        strings = [one for one in constants if one.constant_kind == TermKind.STRING]
        together = {one.constant for one in (*iris, *strings)}
        rest = [member for member in members if not (isinstance(member, a.Constant) and member.text in together)]
        equal = [self.truth(a.Call("=", (subject, member))) for member in rest]
        if iris:
            equal.append(f"({value.term} IN ({', '.join(one.term for one in iris)}))")
        if strings:
            terms = tuple(a.Constant(one.constant or "") for one in strings)
            equal.append(string_equality(value, strings, lambda: self._slow_truth(a.Call("IN", (subject, *terms)))))
        disjunction = f"({' OR '.join(equal)})"
        return f"(NOT {disjunction})" if name == "NOT IN" else disjunction

    def _choice(self, condition: a.Expression, yes: a.Expression, no: a.Expression) -> Value:
        truth, first, second = self.truth(condition), self.value(yes), self.value(no)

        def either(one: str, other: str) -> str:
            return f"(CASE {truth} WHEN TRUE THEN {one} WHEN FALSE THEN {other} END)"

        return Value(
            either(first.term, second.term), either(first.kind, second.kind), either(first.number, second.number)
        )

    def _coalesce(self, arguments: tuple[a.Expression, ...]) -> Value:
        values = [self.value(argument) for argument in arguments]
        if not values:
            return UNBOUND
        kinds = " ".join(f"WHEN {value.term} IS NOT NULL THEN {value.kind}" for value in values)
        numbers = " ".join(f"WHEN {value.term} IS NOT NULL THEN {value.number}" for value in values)
        terms = ", ".join(value.term for value in values)
        return Value(f"COALESCE({terms})", f"(CASE {kinds} END)", f"(CASE {numbers} END)")

    def _call(self, expression: a.Expression) -> str:
        """A call of the prelude; what it must see as it was written is computed before, and NOW() is given."""
        taken: dict[a.Variable, str] = {}
        expression = self._abstract(expression, taken)
        variables = tuple(sorted(a.expression_variables(expression), key=lambda variable: variable.name))
        arguments = [taken.get(variable) or (self.bindings.get(variable) or UNBOUND).term for variable in variables]
        if not variables:  # a constant: DuckDB wants at least one argument to vary over
            arguments.append("''")
        return f"{self.prelude.function(expression, variables)}({', '.join(arguments)})"

    def _abstract(self, expression: a.Expression, taken: dict[a.Variable, str]) -> a.Expression:
        match expression:
            case a.Call("NOW", ()):
                taken[NOW_VARIABLE] = self._now
                return NOW_VARIABLE
            case a.Call() if is_drawn(expression) or expression.name in {"TIMESTAMP", *a.INTERVAL}:
                drawn = a.Variable(f"__draw {len(taken)}")
                taken[drawn] = self.value(expression).term
                return drawn
            case a.Call("STR" | "LANG" | "DATATYPE" as name, (a.Variable() as variable,)):
                taken[a.Variable(f"__{name} {variable.name}")] = self.value(expression).term
                return a.Variable(f"__{name} {variable.name}")
            case a.Parameter(number):
                taken[a.Variable(f"__parameter {number}")] = self.parameters[expression].term
                return a.Variable(f"__parameter {number}")
            case a.Call(name, arguments):
                return a.Call(name, tuple(self._abstract(argument, taken) for argument in arguments))
        return expression

    def _slow(self, expression: a.Expression, unless: str | None = None) -> Value:
        call = self._call(expression)
        if unless is not None:
            call = f"(CASE WHEN {unless} THEN NULL ELSE {call} END)"
        key = expression, unless is None
        if key in self.columns:
            name = self.columns[key]
            return Value(name, f"{name}_k", f"{name}_n")
        self.calls[key] = call
        return of_term(call)

    def _slow_truth(self, expression: a.Expression) -> str:
        """The truth of a boolean expression by the prelude, in line: only where nothing native decides."""
        return f"(CASE {self._call(expression)} WHEN '{TRUE}' THEN TRUE WHEN '{FALSE}' THEN FALSE END)"


def _extreme(function: str, numbers: Sequence[str]) -> str:
    """The least or the greatest of some numbers in SQL, those that are NULL left out."""
    return numbers[0] if len(numbers) == 1 else f"{function}({', '.join(numbers)})"


def selects_a_term(expression: a.Expression) -> bool:
    """Whether it gives one of the terms it is given, rather than a new one."""
    match expression:
        case a.Call("IF", (_, yes, no)):
            return selects_a_term(yes) and selects_a_term(no)
        case a.Call("COALESCE", arguments):
            return all(map(selects_a_term, arguments))
    return not isinstance(expression, a.Call)


def _operands(expression: a.Expression, name: str) -> list[a.Expression]:
    """What a chain of one associative operator joins: a long one is not a deep one. ``!`` has one operand."""
    found: list[a.Expression] = []
    left = [expression]
    while left:
        part = left.pop()
        if isinstance(part, a.Call) and part.name == name and (name != "!" or part is expression):
            left += reversed(part.arguments)
        else:
            found.append(part)
    return found


def compute(
    relation: Relation,
    names: Names,
    prelude: Prelude,
    texts: Callable[[ExpressionCompiler], Sequence[str]],
    parameters: Iterable[a.Parameter] = (),
) -> tuple[Relation, Sequence[str]]:
    """An open relation and expressions over it in SQL, as ``texts`` writes them given a compiler.

    The relation has a column for each of the ``parameters``, and one for the number of each (``parameter_columns``).

    A prelude call that is used more than once becomes a column of the relation, its facets, where they
    are read, columns of another SELECT over that, so that none is made twice.
    """
    relation = names.open(relation)
    compiler = ExpressionCompiler(
        bindings(relation, names), prelude, relation.columns["instant"], parameters=_values(relation, parameters)
    )
    written = texts(compiler)
    everything = " ".join(written)
    repeated = {key: call for key, call in compiler.calls.items() if everything.count(call) > 1}
    if not repeated:
        return relation, written
    hidden = {key: names.fresh("x") for key in repeated}
    calls = {hidden[key]: call for key, call in repeated.items()}
    relation = replace(relation, columns={**relation.columns, **calls}).within(names.fresh("q"))
    facets = {}
    for key, name in hidden.items():
        for function, suffix in (("facet_k", "_k"), ("facet_n", "_n")):
            if f"{function}({repeated[key]})" in everything:
                facets[name + suffix] = f"{function}({relation.columns[name]})"
    if facets:
        relation = replace(relation, columns={**relation.columns, **facets}).within(names.fresh("q"))
    columns = {key: relation.columns[name] for key, name in hidden.items()}
    kept = {name: sql for name, sql in relation.columns.items() if name not in (*hidden.values(), *facets)}
    relation = replace(relation, columns=kept)
    compiler = ExpressionCompiler(
        bindings(relation, names), prelude, relation.columns["instant"], columns, _values(relation, parameters)
    )
    return relation, texts(compiler)


def parameter_columns(parameter: a.Parameter) -> tuple[str, str]:
    """The columns of a parameter's term and of its number."""
    return f"c{parameter.number}", f"c{parameter.number}_n"


def _values(relation: Relation, parameters: Iterable[a.Parameter]) -> dict[a.Parameter, Value]:
    found = {}
    for parameter in parameters:
        term, number = (relation.columns[column] for column in parameter_columns(parameter))
        found[parameter] = Value(term, f"{parameter.kind}", number, parameter_kind=parameter.kind)
    return found


def bindings(relation: Relation, names: Names) -> dict[a.Variable, Value]:
    """The Value of each variable of a relation, but for those that are in parts: no expression reads them."""
    return {
        variable: value_of(variable, [relation.columns[name] for name in names.columns(variable)])
        for variable in relation.variables
        if variable not in relation.parts
    }


def value_of(variable: a.Variable, columns: Sequence[str]) -> Value:
    """The Value of a variable, given its columns in SQL."""
    if is_mark(variable):
        return of_truth(f"({columns[0]} = '{TRUE}')")
    return of_term(columns[0]) if len(columns) == 1 else Value(columns[0], columns[1], columns[2])
