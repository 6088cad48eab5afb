"""The algebra as an indented tree for a person: an operator a line, in the words of SPARQL 1.1 Query section 18.2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields

from protocol.language import algebra as a
from protocol.language.sparql_text import call_text
from protocol.sparql.tokens import TokenKind, tokenize
from protocol.terms import XSD, is_triple, triple_parts, triple_text

_STEP = "  "
_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z|\Z")
_PLAIN = re.compile(rf'"([+-]?[0-9]+|[+-]?[0-9]*\.[0-9]+|true|false)"\^\^<{XSD}(integer|decimal|boolean)>\Z')
_DATATYPE = re.compile(r"\A(.*\")\^\^<([^>]*)>\Z", re.DOTALL)
_LONGEST, _LONGEST_LINE = 200, 1000
_ROWS = 5
"""So many rows of VALUES are shown."""

Estimate = Callable[[a.TriplePattern], str]
"""What is to be said beside a triple pattern: how many rows it may have; "" for nothing."""


def prefixes(text: str) -> dict[str, str]:
    """The namespaces that a query's text declares, by IRI; only those that are written absolute."""
    tokens = tokenize(text)
    return {
        iri.text[1:-1]: name.text
        for word, name, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if word.word == "PREFIX" and name.kind is TokenKind.PREFIXED_NAME and iri.kind is TokenKind.IRI
    }


def algebra_text(
    query: a.Query,
    parameters: Sequence[str] = (),
    namespaces: Mapping[str, str] | None = None,
    estimate: Estimate = lambda _: "",
) -> list[str]:
    """The lines of a query's pattern. ``parameters`` are the terms (canonical N-Triples) of the query's parameters."""
    words = _Words(parameters, namespaces or {}, estimate)
    return list(words.pattern(query.pattern, 0))


def term_text(term: str, namespaces: Mapping[str, str]) -> str:
    """A term in SPARQL, as short as it can be written."""
    if is_triple(term):
        return triple_text(*(term_text(part, namespaces) for part in triple_parts(term)))
    if term.startswith("<"):
        return _iri(term, namespaces)
    plain = _PLAIN.match(term)
    if plain is not None:
        return plain[1]
    typed = _DATATYPE.match(term)
    if typed is not None:
        term = f"{typed[1]}^^{_iri(f'<{typed[2]}>', namespaces)}"
    return term if len(term) <= _LONGEST else f"{term[: _LONGEST // 2]} […] {term[-_LONGEST // 2 :]}"


def _iri(iri: str, namespaces: Mapping[str, str]) -> str:
    for namespace in sorted(namespaces, key=len, reverse=True):
        if iri[1:-1].startswith(namespace) and _LOCAL_NAME.match(local := iri[1 + len(namespace) : -1]):
            return namespaces[namespace] + local
    return f"xsd:{iri[1 + len(XSD) : -1]}" if iri[1:].startswith(XSD) else iri


@dataclass
class _Words:
    """How the parts of one query are written."""

    parameters: Sequence[str]
    namespaces: Mapping[str, str]
    estimate: Estimate
    hidden: dict[str, str] = field(default_factory=dict)

    def pattern(self, pattern: a.Pattern, depth: int) -> Iterator[str]:
        """The lines of a pattern, those of what it is made of below it."""
        title, children = self._operator(pattern)
        yield f"{_STEP * depth}{title[:_LONGEST_LINE]}{' […]' if len(title) > _LONGEST_LINE else ''}"
        if isinstance(pattern, a.BGP):
            for triple in pattern.triples:
                said = self.estimate(triple)
                yield f"{_STEP * (depth + 1)}{self.triple(triple)}{f'   # {said}' if said else ''}"
        for label, child in children:
            if label:
                yield f"{_STEP * (depth + 1)}{label}:"
            yield from self.pattern(child, depth + 1 + bool(label))

    def _operator(self, pattern: a.Pattern) -> tuple[str, list[tuple[str, a.Pattern]]]:
        """The line of an operator, and its operands, with a label where their place does not tell what they are."""
        match pattern:
            case a.BGP(triples):
                return ("BGP" if triples else "the empty solution"), []
            case a.Closure():
                length = {(True, True): "*", (False, True): "+", (True, False): "?"}[pattern.zero, pattern.many]
                ends = f"{self.expression(pattern.subject)} (step){length} {self.expression(pattern.object)}"
                step = f"step from {self.expression(pattern.source)} to {self.expression(pattern.target)}"
                return f"Path {ends}", [(step, pattern.step)]
            case a.LeftJoin(left, right, condition):
                asked = [(f"{self.expression(variable)}: exists", exists) for variable, exists in pattern.asked]
                on = "" if condition is None else f" on {self.outermost(condition)}"
                return f"LeftJoin{on}", [("", left), ("", right), *asked]
            case a.Filter(inner, condition):
                return f"Filter {self.outermost(condition)}", [("", inner)]
            case a.MarkJoin(inner, variable, exists):
                return f"Extend {self.expression(variable)} = EXISTS", [("", inner), ("exists", exists)]
            case a.Draw(inner, variable):
                return f"Extend {self.expression(variable)} = what random terms are drawn from", [("", inner)]
            case a.Extend(inner, variable, expression):
                return f"Extend {self.expression(variable)} = {self.outermost(expression)}", [("", inner)]
            case a.Graph(name, inner, windows_only):
                kind = "Window" if windows_only else "Facts" if pattern.facts else "Graph"
                return f"{kind} {self.expression(name)}", [("", inner)]
            case a.ServiceSolutions(number, variables):
                return f"Service {number} of {self._listed(variables)}", []
            case a.Values(variables, rows):
                return self._values(variables, rows), []
            case a.Group(inner, keys, aggregates):
                by = "" if keys is None else f" by {self._listed(keys)}"
                said = "; ".join(f"{self.expression(one.result)} = {self.aggregate(one)}" for one in aggregates)
                return f"Group{by}{f': {said}' if said else ''}", [("", inner)]
            case a.Aggregation(inner, keys, aggregate):
                said = f"{self.expression(aggregate.result)} = {self.aggregate(aggregate)}"
                return f"Aggregate over {self._listed(keys)}: {said}", [("", inner)]
            case a.OrderBy(inner, conditions):
                by = " ".join(map(self._order, conditions))
                return f"OrderBy {by}", [("", inner)]
            case a.Project(inner, variables):
                return f"Project {self._listed(variables)}", [("", inner)]
            case a.Distinct(inner):
                return "Distinct", [("", inner)]
            case a.Slice(inner, offset, limit):
                cut = [f"LIMIT {limit}"] * (limit is not None) + [f"OFFSET {offset}"] * bool(offset)
                return f"Slice {' '.join(cut)}".rstrip(), [("", inner)]
            case a.Static(inner):
                return "Static: computed once, until the store changes", [("", inner)]
            case a.PathJoin(inner, path, start):
                return f"Join, paths followed from {self.expression(start)}", [("", inner), ("", path)]
        return type(pattern).__name__, [("", operand) for operand in _operands(pattern)]

    def triple(self, triple: a.TriplePattern) -> str:
        """A triple pattern, and the variable of its time if that is asked for."""
        parts = (triple.subject, triple.predicate, triple.object)
        time = "" if triple.time is None else f" at {self.expression(triple.time)}"
        return f"{' '.join(map(self.expression, parts))} .{time}"

    def aggregate(self, aggregate: a.Aggregate) -> str:
        argument = "*" if aggregate.argument is None else self.outermost(aggregate.argument)
        separator = f"; SEPARATOR={_quote(aggregate.separator)}" if aggregate.function == "GROUP_CONCAT" else ""
        return f"{aggregate.function}({'DISTINCT ' * aggregate.distinct}{argument}{separator})"

    def outermost(self, expression: a.Expression) -> str:
        """An expression without the parentheses around all of it."""
        text = self.expression(expression)
        infix = isinstance(expression, a.Call) and text.startswith("(")
        return text[1:-1] if infix else text

    def expression(self, expression: a.Expression) -> str:
        match expression:
            case a.Variable(name):
                if not name.startswith("_:"):
                    return f"?{name}"
                # Blank nodes and what the compiler adds are named anew at every parse.
                kind = next((word for word in ("exists", "drawn") if name.startswith(f"_:{word}")), "")
                return self.hidden.setdefault(name, f"_:{kind}{len(self.hidden)}")
            case a.Constant(text):
                return term_text(text, self.namespaces)
            case a.Parameter(number):
                told = number < len(self.parameters)
                return term_text(self.parameters[number], self.namespaces) if told else f"$ {number}"
            case a.Exists():
                return "EXISTS {…}"
            case a.Call("!", (negated,)):
                return f"!{self.expression(negated)}"
            case a.Call(name, arguments):
                called = expression
                if name.startswith("<") and name.endswith(">"):
                    called = a.Call(_iri(name, self.namespaces), arguments)
                return call_text(called, [self.expression(argument) for argument in arguments])

    def _order(self, condition: a.OrderCondition) -> str:
        return f"{'DESC' if condition.descending else 'ASC'}({self.outermost(condition.expression)})"

    def _listed(self, variables: Sequence[a.Variable]) -> str:
        return " ".join(map(self.expression, variables)) or "nothing"

    def _values(self, variables: Sequence[a.Variable], rows: Sequence[Sequence[str | None]]) -> str:
        written = [
            f"({' '.join('UNDEF' if term is None else term_text(term, self.namespaces) for term in row)})"
            for row in rows[:_ROWS]
        ]
        more = [f"and {len(rows) - _ROWS} more rows"] if len(rows) > _ROWS else []
        return f"Values ({' '.join(map(self.expression, variables))}) {{ {' '.join([*written, *more])} }}"


def _operands(pattern: a.Pattern) -> list[a.Pattern]:
    """The patterns that an operator is over; a chain of joins or unions is one operator of many."""
    values = [getattr(pattern, part.name) for part in fields(pattern)]
    found = [value for value in values if isinstance(value, a.Pattern)]
    while isinstance(pattern, a.Join | a.Union) and isinstance(found[0], type(pattern)):
        found[:1] = [found[0].left, found[0].right]
    return found


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
