"""``timestamp()`` by brute force: solutions that carry the triples they were made of
(docs/language.md, "Time in queries").

Patterns are written as SPARQL by ``text`` and evaluated by ``solutions``, operator by operator. A witness is a triple
pattern's match: the variables it tells the time of, the triple, its time (None if it is static).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

Triple = tuple[str, str, str]
Content = Mapping[Triple, int | None]
"""The triples of the default graph, each with its latest time."""


@dataclass(frozen=True)
class Witness:
    of: frozenset[str]
    triple: Triple | None
    time: int | None


@dataclass(frozen=True)
class Solution:
    bindings: tuple[tuple[str, str], ...]
    witnesses: tuple[Witness, ...]

    @property
    def terms(self) -> dict[str, str]:
        return dict(self.bindings)


EMPTY = Solution((), ())


@dataclass(frozen=True)
class Match:
    triple: Triple


@dataclass(frozen=True)
class Both:
    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Either(Both):
    """UNION."""


@dataclass(frozen=True)
class Without(Both):
    """MINUS."""


@dataclass(frozen=True)
class Perhaps(Both):
    """OPTIONAL."""

    condition: Truth | None


@dataclass(frozen=True)
class Only:
    """FILTER."""

    pattern: Pattern
    condition: Truth


@dataclass(frozen=True)
class WhereThere:
    """FILTER EXISTS, or NOT EXISTS; where ``otherwise`` is true, too."""

    pattern: Pattern
    inner: Pattern
    exists: bool
    otherwise: Truth | None = None


@dataclass(frozen=True)
class Inner:
    """A sub-select: plain, DISTINCT, or with GROUP BY of all that it projects."""

    pattern: Pattern
    variables: tuple[str, ...]
    kind: str


Pattern = Match | Both | Only | WhereThere | Inner
Asked = tuple[str, ...]
"""What timestamp() is asked of: one variable or the three parts of a triple."""


@dataclass(frozen=True)
class Condition:
    """Times compared."""

    left: Asked
    operator: str
    right: Asked


@dataclass(frozen=True)
class Terms:
    """Two variables whose terms are the same (``=``) or not (``!=``)."""

    left: str
    operator: str
    right: str


@dataclass(frozen=True)
class Together:
    """Conditions of which all are true (``&&``), or one is (``||``)."""

    left: Truth
    operator: str
    right: Truth


Truth = Condition | Terms | Together


def call(asked: Asked) -> str:
    return f"timestamp({' '.join(asked)})"


def text(pattern: Pattern) -> str:
    """The pattern in SPARQL, in braces where it may stand beside another."""
    match pattern:
        case Match(triple):
            return f"{' '.join(triple)} ."
        case Either(left, right):
            return f"{{ {text(left)} }} UNION {{ {text(right)} }}"
        case Without(left, right):
            return f"{{ {text(left)} }} MINUS {{ {text(right)} }}"
        case Perhaps(left, right, condition):
            return f"{{ {text(left)} }} OPTIONAL {{ {{ {text(right)} }} {_filter(condition)} }}"
        case Both(left, right):
            return f"{{ {text(left)} }} {{ {text(right)} }}"
        case Only(inner, condition):
            return f"{{ {text(inner)} }} {_filter(condition)}"
        case WhereThere(outer, inner, exists, otherwise):
            asked = f"{'' if exists else 'NOT '}EXISTS {{ {text(inner)} }}"
            return f"{{ {text(outer)} }} FILTER({asked}{'' if otherwise is None else f' || {_written(otherwise)}'})"
        case Inner(inner, variables, kind):
            group = f"GROUP BY {' '.join(variables)}" if kind == "GROUP BY" else ""
            distinct = "DISTINCT" if kind == "DISTINCT" else ""
            return f"{{ SELECT {distinct} {' '.join(variables)} {{ {text(inner)} }} {group} }}"


def _filter(condition: Truth | None) -> str:
    return "" if condition is None else f"FILTER({_written(condition)})"


def _written(condition: Truth) -> str:
    match condition:
        case Condition(one, operator, other):
            return f"{call(one)} {operator} {call(other)}"
        case Terms(left, operator, right):
            return f"{left} {operator} {right}"
        case Together(left, operator, right):
            return f"({_written(left)} {operator} {_written(right)})"


def solutions(pattern: Pattern, content: Content, outer: Solution = EMPTY) -> list[Solution]:
    """The solutions of a pattern; inside of EXISTS (``outer``) every match is made with the solution it is asked of."""
    match pattern:
        case Match(triple):
            return [
                merged for found in content if (merged := _matched(triple, found, content[found], outer)) is not None
            ]
        case Either(left, right):
            return solutions(left, content, outer) + solutions(right, content, outer)
        case Without(left, right):
            removed = solutions(right, content, outer)
            return [one for one in solutions(left, content, outer) if not any(_removes(two, one) for two in removed)]
        case Perhaps(left, right, condition):
            found = []
            others = solutions(right, content, outer)
            for one in solutions(left, content, outer):
                merges = [
                    both for two in others if (both := _merged(one, two)) is not None and _passes(both, condition)
                ]
                found += merges or [one]
            return found
        case Both(left, right):
            pairs = product(solutions(left, content, outer), solutions(right, content, outer))
            return [both for one, two in pairs if (both := _merged(one, two)) is not None]
        case Only(inner, condition):
            return [one for one in solutions(inner, content, outer) if _passes(one, condition)]
        case WhereThere(outside, inner, exists, otherwise):
            return [
                one
                for one in solutions(outside, content, outer)
                if bool(solutions(inner, content, one)) is exists or (otherwise is not None and _passes(one, otherwise))
            ]
        case Inner(inner, variables, kind):
            projected = [_projected(one, variables) for one in solutions(inner, content)]
            return projected if kind == "" else _as_one(projected, variables)


def timestamp(solution: Solution, asked: Asked) -> int | None:
    """The largest time among the witnesses of a variable, or of that very triple."""
    if len(asked) == 1:
        times = [w.time for w in solution.witnesses if asked[0] in w.of]
    else:
        terms = solution.terms
        triple = tuple(terms.get(part, part) for part in asked)
        times = [w.time for w in solution.witnesses if w.triple == triple]
    return max((time for time in times if time is not None), default=None)


def _passes(solution: Solution, condition: Truth | None) -> bool:
    return condition is None or _truth(solution, condition) is True


def _truth(solution: Solution, condition: Truth) -> bool | None:
    """None is an error (SPARQL 1.1 Query section 17.2)."""
    match condition:
        case Condition():
            left, right = timestamp(solution, condition.left), timestamp(solution, condition.right)
            if left is None or right is None:
                return None
            return {"<": left < right, ">": left > right, "=": left == right, "<=": left <= right}[condition.operator]
        case Terms():
            one, other = map(solution.terms.get, (condition.left, condition.right))
            return None if one is None or other is None else (one == other) is (condition.operator == "=")
        case Together():
            truths = [_truth(solution, part) for part in (condition.left, condition.right)]
            decides = condition.operator == "||"
            return decides if decides in truths else None if None in truths else not decides


def _matched(pattern: Triple, triple: Triple, time: int | None, outer: Solution) -> Solution | None:
    bound: dict[str, str] = {}
    for part, term in zip(pattern, triple, strict=True):
        if (bound.setdefault(part, term) if part.startswith("?") else part) != term:
            return None
    variables = frozenset(part for part in pattern if part.startswith("?"))
    return _merged(Solution(_sorted(bound), (Witness(variables, triple, time),)), outer)


def _merged(one: Solution, two: Solution) -> Solution | None:
    terms, others = one.terms, two.terms
    if any(terms[name] != others[name] for name in terms.keys() & others.keys()):
        return None
    return Solution(_sorted({**terms, **others}), tuple(dict.fromkeys((*one.witnesses, *two.witnesses))))


def _removes(two: Solution, one: Solution) -> bool:
    shared = one.terms.keys() & two.terms.keys()
    return bool(shared) and all(one.terms[name] == two.terms[name] for name in shared)


def _projected(solution: Solution, variables: Sequence[str]) -> Solution:
    terms = {name: term for name, term in solution.bindings if name in variables}
    kept = (Witness(w.of & frozenset(variables), None, w.time) for w in solution.witnesses)
    return Solution(_sorted(terms), tuple(w for w in kept if w.of))


def _as_one(found: Sequence[Solution], variables: Sequence[str]) -> list[Solution]:
    groups: dict[tuple[tuple[str, str], ...], list[Solution]] = {}
    for one in found:
        groups.setdefault(one.bindings, []).append(one)
    return [
        Solution(
            bindings,
            tuple(
                Witness(frozenset({name}), None, time)
                for name in variables
                for time in {timestamp(one, (name,)) for one in group}
            ),
        )
        for bindings, group in groups.items()
    ]


def _sorted(terms: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(terms.items()))
