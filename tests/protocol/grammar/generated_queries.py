"""Queries of standard SPARQL 1.1, derived production by production (Query section 19.8), and near misses of them.

A query is a list of tokens. Blank nodes, groups and variables are chosen from a few, so that the rules beside the
grammar are met, too: on scope (section 18.2.1), on labels (5.1.1), on groups (11.4). What they are called is a
matter of its own (``in_our_words``), and so is what stands between tokens (``text_of``).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TypeVar

Tokens = list[str]
T = TypeVar("T")

_VARIABLES = ["?a", "?b", "?c", "$a", "?d"]
_IRIS = ["<http://e/p>", "<http://e/q>", ":p", "e:q", ":", "e:x%20y", r"e:x\-y", "<>"]
_LITERALS = ["1", "-2", "+3", "1.5", "-.5", "1e6", "2.0E-3", "true", "false", "'x'", '"y"', "'''it's'''", '"""z"""']
_LITERALS += ["'x'@en", "'x'@en-GB", "'1'^^<http://www.w3.org/2001/XMLSchema#integer>", "'2'^^e:t", r"'\t\u0041'"]
_LABELS = ["_:a", "_:b", "_:1"]
_CALLS = {
    0: ["RAND", "NOW", "UUID", "STRUUID", "BNODE"],
    1: ["STR", "LANG", "DATATYPE", "IRI", "URI", "ABS", "CEIL", "STRLEN", "UCASE", "YEAR", "TZ", "MD5", "isIRI"],
    2: ["LANGMATCHES", "CONTAINS", "STRSTARTS", "STRDT", "sameTerm", "REGEX", "SUBSTR"],
    3: ["IF", "REPLACE", "REGEX", "SUBSTR"],
}
_FORM_WORDS = [
    "SELECT",
    "WHERE",
    "GRAPH",
    "OPTIONAL",
    "UNION",
    "MINUS",
    "FILTER",
    "BIND",
    "AS",
    "VALUES",
    "UNDEF",
    "BY",
]
_FORM_WORDS += ["EXISTS", "NOT", "IN", "DISTINCT", "ORDER", "GROUP", "HAVING", "LIMIT", "OFFSET", "ASC", "COUNT", "SUM"]
_FORM_WORDS += ["FROM", "NAMED", "SERVICE", "SILENT", "BASE", "PREFIX", "STR", "BOUND", "SEPARATOR", "a", "nonsense"]
_SIGNS = [*"{}()[].,;*/+-|^?!=<>", "^^", "&&", "||", "!=", "<=", ">=", "@en"]
ALPHABET = [*_VARIABLES, *_IRIS, *_LITERALS, *_LABELS, *_FORM_WORDS, *_SIGNS]
"""What a mutation puts in."""


class Writer:
    """Writes queries. ``random`` decides; deeper than ``depth`` patterns and expressions have no others inside."""

    def __init__(self, random: random.Random, depth: int = 3) -> None:
        self._random = random
        self._depth = depth

    def query(self) -> Tokens:
        """[2] Query."""
        prologue = ["PREFIX", ":", "<http://e/>", "PREFIX", "e:", "<http://e/e#>"]
        prologue = ["BASE", "<http://b/>", *prologue] if self._sometimes() else prologue
        written = self._one_of(self._select, self._select, self._construct, self._describe, self._ask)
        values = ["VALUES", *self._data_block()] if self._rarely() else []
        return [*prologue, *written, *values]

    # Query forms

    def _select(self) -> Tokens:
        return [*self._projection(), *self._dataset(), *self._where(), *self._modifiers()]

    def _projection(self) -> Tokens:
        found = ["SELECT", *self._choice(([], [], ["DISTINCT"], ["REDUCED"]))]
        if self._sometimes():
            return [*found, "*"]
        for _ in range(self._count(1, 3)):
            if self._often():
                found.append(self._variable())
            else:
                found += ["(", *self._expression(aggregate=self._sometimes()), "AS", self._variable(), ")"]
        return found

    def _construct(self) -> Tokens:
        if self._rarely():
            triples = ["{", *self._triples(template=True), "}"]
            return ["CONSTRUCT", *self._dataset(), "WHERE", *triples, *self._modifiers()]
        template = self._triples(template=True) if self._often() else []
        return ["CONSTRUCT", "{", *template, "}", *self._dataset(), *self._where(), *self._modifiers()]

    def _describe(self) -> Tokens:
        what = ["*"] if self._sometimes() else [self._name() for _ in range(self._count(1, 2))]
        return ["DESCRIBE", *what, *self._dataset(), *(self._where() if self._often() else []), *self._modifiers()]

    def _ask(self) -> Tokens:
        return ["ASK", *self._dataset(), *self._where(), *self._modifiers()]

    def _dataset(self) -> Tokens:
        return [
            token
            for _ in range(self._count(0, 2) if self._rarely() else 0)
            for token in ("FROM", *(["NAMED"] if self._sometimes() else []), self._iri())
        ]

    def _where(self) -> Tokens:
        return [*(["WHERE"] if self._sometimes() else []), *self._group()]

    def _modifiers(self) -> Tokens:
        found: Tokens = []
        if self._rarely():
            found += ["GROUP", "BY"]
            for _ in range(self._count(1, 2)):
                named = ["AS", self._variable()] if self._sometimes() else []
                found += self._choice(([self._variable()], self._call(), ["(", *self._expression(), *named, ")"]))
        if self._rarely():
            found += ["HAVING", *self._constraint(aggregate=True)]
        if self._rarely():
            found += ["ORDER", "BY"]
            for _ in range(self._count(1, 2)):
                bracketted = ["(", *self._expression(aggregate=self._rarely()), ")"]
                found += self._choice((["ASC", *bracketted], ["DESC", *bracketted], [self._variable()], bracketted))
        limits = [["LIMIT", "10"], ["OFFSET", "5"]]
        self._random.shuffle(limits)
        return [*found, *(token for part in limits if self._rarely() for token in part)]

    # Patterns

    def _group(self) -> Tokens:
        if self._depth == 0:
            return ["{", "}"]
        self._depth -= 1
        if self._rarely():
            values = ["VALUES", *self._data_block()] if self._rarely() else []
            inside = [*self._projection(), *self._where(), *self._modifiers(), *values]
        else:
            inside = self._triples() if self._often() else []
            for _ in range(self._count(0, 2)):
                inside += [*self._pattern(), *(["."] if self._sometimes() else [])]
                inside += self._triples() if self._sometimes() else []
        self._depth += 1
        return ["{", *inside, "}"]

    def _pattern(self) -> Tokens:
        return self._one_of(
            lambda: ["OPTIONAL", *self._group()],
            lambda: ["MINUS", *self._group()],
            lambda: ["GRAPH", self._name(), *self._group()],
            lambda: ["SERVICE", *(["SILENT"] if self._sometimes() else []), self._name(), *self._group()],
            lambda: ["FILTER", *self._constraint()],
            lambda: ["BIND", "(", *self._expression(), "AS", self._variable(), ")"],
            lambda: ["VALUES", *self._data_block()],
            lambda: [*self._group(), *(token for _ in range(self._count(0, 2)) for token in ("UNION", *self._group()))],
        )

    def _data_block(self) -> Tokens:
        if self._sometimes():
            return [self._variable(), "{", *(self._value() for _ in range(self._count(0, 3))), "}"]
        variables = self._random.sample(["?a", "?b", "?c"], self._count(0, 2))
        rows = [
            token
            for _ in range(self._count(0, 2))
            for token in ("(", *(self._value() for _ in range(len(variables))), ")")
        ]
        return ["(", *variables, ")", "{", *rows, "}"]

    def _value(self) -> str:
        return self._choice(("UNDEF", self._iri(), self._choice(_LITERALS)))

    def _triples(self, *, template: bool = False) -> Tokens:
        found: Tokens = []
        for number in range(self._count(1, 3)):
            found += ["."] if number else []
            if self._rarely():
                found += self._node(2, template)
                found += self._properties(template) if self._often() or len(found) < 3 else []
            else:
                found += [self._term(), *self._properties(template)]
        return [*found, *(["."] if self._sometimes() else [])]

    def _properties(self, template: bool, depth: int = 2) -> Tokens:
        found: Tokens = []
        for number in range(self._count(1, 2)):
            found += [";"] if number else []
            found += [self._variable()] if self._rarely() else self._verb(template)
            for place in range(self._count(1, 2)):
                found += [*([","] if place else []), *self._node(depth, template)]
        return [*found, *([";"] if self._rarely() else [])]

    def _verb(self, template: bool) -> Tokens:
        return [self._choice((self._iri(), "a"))] if template else self._path(2)

    def _node(self, depth: int, template: bool) -> Tokens:
        if depth == 0 or self._often():
            return [self._term()]
        if self._sometimes():
            return ["[", *self._properties(template, depth - 1), "]"]
        return ["(", *(token for _ in range(self._count(1, 2)) for token in self._node(depth - 1, template)), ")"]

    def _path(self, depth: int) -> Tokens:
        if depth == 0 or self._often():
            return [self._choice((self._iri(), "a"))]
        return self._one_of(
            lambda: ["^", *self._bracketted_path(depth)],
            lambda: [*self._bracketted_path(depth), self._choice("?*+")],
            lambda: [*self._bracketted_path(depth), "/", *self._bracketted_path(depth)],
            lambda: [*self._path(depth - 1), "|", *self._path(depth - 1)],
            lambda: ["!", *self._choice((["a"], ["^", self._iri()], ["(", ")"]))],
            lambda: ["!", "(", self._iri(), "|", "^", self._iri(), "|", "a", ")"],
        )

    def _bracketted_path(self, depth: int) -> Tokens:
        return ["(", *self._path(depth - 1), ")"] if self._sometimes() else [self._iri()]

    # Expressions

    def _constraint(self, *, aggregate: bool = False) -> Tokens:
        if self._often():
            return ["(", *self._expression(aggregate=aggregate), ")"]
        return self._call()

    def _expression(self, *, aggregate: bool = False) -> Tokens:
        if self._depth <= 0 or self._sometimes():
            return [self._choice((*_VARIABLES, *_IRIS, *_LITERALS))]
        self._depth -= 1
        inner = partial(self._expression, aggregate=aggregate)
        found = self._one_of(
            lambda: [*inner(), self._choice(("&&", "||", "+", "-", "*", "/")), *inner()],
            lambda: ["(", *inner(), self._choice(("=", "!=", "<", ">", "<=", ">=")), *inner(), ")"],
            lambda: [self._choice("!-+"), *inner()],
            lambda: ["(", *inner(), ")"],
            lambda: [self._variable(), *(["NOT"] if self._sometimes() else []), "IN", *self._arguments(0, 3, inner)],
            lambda: self._aggregate() if aggregate else self._call(),
            lambda: self._aggregate() if aggregate else self._call(),
        )
        self._depth += 1
        return found

    def _aggregate(self) -> Tokens:
        distinct = ["DISTINCT"] if self._rarely() else []
        if self._rarely():
            return ["COUNT", "(", *distinct, "*", ")"]
        if self._rarely():
            separator = [";", "SEPARATOR", "=", "', '"] if self._sometimes() else []
            return ["GROUP_CONCAT", "(", *distinct, *self._expression(), *separator, ")"]
        function = self._choice(("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE"))
        return [function, "(", *distinct, *self._expression(), ")"]

    def _call(self) -> Tokens:
        return self._one_of(
            lambda: ["BOUND", "(", self._variable(), ")"],
            lambda: [*(["NOT"] if self._sometimes() else []), "EXISTS", *self._group()],
            lambda: [self._choice(("COALESCE", "CONCAT")), *self._arguments(0, 3)],
            lambda: [self._iri(), *self._arguments(0, 2)],
            self._built_in,
            self._built_in,
        )

    def _built_in(self) -> Tokens:
        arguments = self._count(0, 3)
        return [self._choice(_CALLS[arguments]), *self._arguments(arguments, arguments)]

    def _arguments(self, least: int, most: int, written: Callable[[], Tokens] | None = None) -> Tokens:
        found: Tokens = []
        for number in range(self._count(least, most)):
            found += [*([","] if number else []), *(written or self._expression)()]
        return ["(", *found, ")"]

    # Terms

    def _term(self) -> str:
        label = self._choice(_LABELS) if self._rarely() else "[]"
        return self._choice((*_VARIABLES, self._iri(), self._choice(_LITERALS), label, "()"))

    def _name(self) -> str:
        return self._choice((self._variable(), self._iri()))

    def _variable(self) -> str:
        return self._choice(_VARIABLES)

    def _iri(self) -> str:
        return self._choice(_IRIS)

    # Decisions

    def _choice(self, among: Sequence[T]) -> T:
        return self._random.choice(among)

    def _one_of(self, *parts: Callable[[], Tokens]) -> Tokens:
        return self._random.choice(parts)()

    def _count(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def _often(self) -> bool:
        return self._random.random() < 0.75

    def _sometimes(self) -> bool:
        return self._random.random() < 0.5

    def _rarely(self) -> bool:
        return self._random.random() < 0.2


_OUR_WORDS = ["seq", "and", "or", "equals", "optionalseq", "window", "stream", "register", "fact", "current", "since"]
_OUR_WORDS += [
    "till",
    "every",
    "rstream",
    "istream",
    "dstream",
    "range",
    "step",
    "elements",
    "session",
    "report",
    "now",
]
_NAME = re.compile(r"(?<=[?$:@])(?:[abcdpqt1]|en)\b|\be(?=:)")
_IN_STRINGS = "} SEQ { WINDOW :w { REGISTER QUERY q AS FROM STREAM <s> [RANGE 10s]"
_GAPS = [" ", " ", "\n", "\t", "\r\n", "  ", "#\n", f"# {_IN_STRINGS}\n", " # it's FROM STREAM\r"]


def in_our_words(tokens: Tokens, random: random.Random) -> Tokens:
    """The same query, in which names of every kind are words that our language adds to SPARQL's."""
    words = [random.choice((word, word.upper(), word.title())) for word in _OUR_WORDS]
    random.shuffle(words)
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], words[len(names)])

    def written(token: str) -> str:
        if token.startswith("<http://e/"):
            return f"{token[:-1]}/{words[-1]}?{words[-2]}=STREAM>"
        quoted = token.rpartition(token[0])[0] if token[0] in "'\"" else ""
        after = _NAME.sub(named, token[len(quoted) :])
        return f"{quoted.replace('x', _IN_STRINGS)}{after}"

    return [written(token) for token in tokens]


def text_of(tokens: Tokens, random: random.Random | None = None) -> str:
    """The text of a query. Its arguments follow a function at once, and nothing is between the brackets of ``()``.

    With ``random`` there is any white space, and there are comments, between other tokens.
    """
    pieces = [*tokens[:1]]
    for before, token in pairwise(tokens):
        if (token == "(" and before[-1].isascii() and before[-1].isalpha()) or (before, token) == ("(", ")"):
            gap = ""
        elif random is None or (before, token) == ("[", "]"):
            gap = " "
        else:
            gap = random.choice(_GAPS)
        pieces += (gap, token)
    return "".join(pieces)


def mutated(tokens: Tokens, random: random.Random) -> Tokens:
    """The tokens with one or two of them left out, written twice, exchanged, or replaced by any others."""
    found = list(tokens)
    for _ in range(random.randint(1, 2)):
        place = random.randrange(len(found))
        match random.randrange(5):
            case 0 if len(found) > 1:
                del found[place]
            case 1:
                found.insert(place, found[place])
            case 2:
                other = random.randrange(len(found))
                found[place], found[other] = found[other], found[place]
            case 3:
                found[place] = random.choice(ALPHABET)
            case _:
                found.insert(place, random.choice(ALPHABET))
    return found
