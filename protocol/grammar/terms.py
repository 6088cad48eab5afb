"""RDF terms (productions [108] to [118] of SPARQL 1.1 Query section 19.8, and [129] to [138])."""

from __future__ import annotations

import re

import pyoxigraph as ox

from protocol.grammar.cursor import Cursor
from protocol.language.algebra import Constant, Variable
from protocol.sparql.iris import Namespaces
from protocol.sparql.tokens import Token, TokenKind
from protocol.terms import RDF, XSD

_ECHAR = re.compile(r"\\(.)", re.DOTALL)
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

_DURATIONS = frozenset(f"{XSD}{name}" for name in ("duration", "dayTimeDuration", "yearMonthDuration"))

TRUE, FALSE = Constant(f'"true"^^<{XSD}boolean>'), Constant(f'"false"^^<{XSD}boolean>')
NIL, FIRST, REST, TYPE, REIFIES = (Constant(f"<{RDF}{name}>") for name in ("nil", "first", "rest", "type", "reifies"))
_DIRECTIONS = {"": None, "ltr": ox.BaseDirection.LTR, "rtl": ox.BaseDirection.RTL}


class Terms:
    """Reads terms. Blank nodes become variables that nobody can name; a label belongs to one basic graph pattern."""

    def __init__(self, cursor: Cursor, namespaces: Namespaces) -> None:
        self.namespaces = namespaces
        self.order: dict[Variable, int] = {}
        """The variables of the text, in the order in which they appear."""
        self._cursor = cursor
        self._fresh = 0
        self._labels: dict[str, tuple[int, Variable]] = {}
        self.pattern = 0
        """The basic graph pattern that is read now."""
        self._patterns = 0

    # IRIs

    @property
    def at_iri(self) -> bool:
        return self._cursor.token.kind in (TokenKind.IRI, TokenKind.PREFIXED_NAME)

    def iri(self, wanted: str = "an IRI") -> Constant:
        """[136] iri."""
        token = self._cursor.expect_iri(wanted)
        return Constant(f"<{self.absolute(token)}>", place=token.start)

    def absolute(self, token: Token) -> str:
        """The absolute IRI that the token stands for."""
        iri = self.namespaces.iri(token)
        try:
            return ox.NamedNode(iri).value
        except ValueError:
            raise self._cursor.error(f"{token.shown} is not an IRI", token) from None

    # Variables

    @property
    def at_variable(self) -> bool:
        return self._cursor.token.kind is TokenKind.VARIABLE

    def variable(self, wanted: str = "a variable") -> Variable:
        """[108] Var."""
        token = self._cursor.token
        if token.kind is not TokenKind.VARIABLE:
            raise self._cursor.unexpected(wanted)
        self._cursor.advance()
        variable = Variable(token.text[1:], place=token.start)
        self.order.setdefault(variable, len(self.order))
        return variable

    def fresh(self, of: str = "") -> Variable:
        """A variable that nobody can name, another one each time."""
        self._fresh += 1
        return Variable(f"_:{of}{self._fresh}")

    def variable_or_iri(self, wanted: str = "a variable or an IRI") -> Variable | Constant:
        """[107] VarOrIri."""
        return self.variable() if self.at_variable else self.iri(wanted)

    # Blank nodes

    def begin_pattern(self) -> None:
        """What follows belongs to another basic graph pattern than what was before."""
        self._patterns += 1
        self.pattern = self._patterns

    def forget_labels(self) -> None:
        """Those of a template are not those of patterns: it is no basic graph pattern."""
        self._labels.clear()

    def blank_node(self) -> Variable:
        """[138] BlankNode, with a label. QuerySyntaxError where another basic graph pattern has it (section 5.1.1)."""
        token = self._cursor.advance()
        pattern, variable = self._labels.setdefault(token.text, (self.pattern, self.fresh()))
        if pattern != self.pattern:
            raise self._cursor.error(f"{token.text} is a blank node of another graph pattern: use a variable", token)
        return variable

    def blank_node_or_anonymous(self) -> Variable | None:
        """[138] BlankNode, with a label or without one; None where none begins."""
        cursor = self._cursor
        if cursor.token.kind is TokenKind.BLANK_NODE:
            return self.blank_node()
        if cursor.at_punctuation("[") and cursor.following.text == "]":
            cursor.advance()
            cursor.advance()
            return self.fresh()
        return None

    # Literals

    def at_literal(self) -> bool:
        return self._cursor.token.kind in (TokenKind.STRING, TokenKind.NUMBER) or self._cursor.at("TRUE", "FALSE")

    def literal(self) -> Constant:
        """[129] RDFLiteral, [130] NumericLiteral or [134] BooleanLiteral, its lexical form untouched."""
        token = self._cursor.advance()
        if token.kind is TokenKind.NUMBER:
            return number(token.text, token.start)
        if token.kind is TokenKind.WORD:
            return TRUE if token.word == "TRUE" else FALSE
        value = self.string(token)
        following = self._cursor.token
        if following.kind is TokenKind.LANGUAGE_TAG:
            self._cursor.advance()
            language, _, direction = following.text[1:].partition("--")
            if direction not in _DIRECTIONS:
                raise self._cursor.error(f"{following.text}: the direction of a text is --ltr or --rtl", following)
            try:
                written = ox.Literal(value, language=language, direction=_DIRECTIONS[direction])
            except ValueError:
                raise self._cursor.error(f"{following.text} is no language tag", following) from None
        elif self._cursor.take_punctuation("^^"):
            datatype = self.iri("a datatype after ^^")
            if self._cursor.liberal and datatype.text[1:-1] in _DURATIONS:
                value = " ".join(value.split())  # white space collapses (XML Schema Part 2, section 4.3.6)
            written = ox.Literal(value, datatype=ox.NamedNode(datatype.text[1:-1]))
        else:
            written = ox.Literal(value)
        return Constant(str(written), place=token.start)

    def string(self, token: Token) -> str:
        """[135] String, its escapes (production [160]) read."""
        quotes = 3 if token.text[:3] in ('"""', "'''") and len(token.text) >= 6 else 1

        def character(match: re.Match[str]) -> str:
            if match[1] not in _CHARACTERS:
                raise self._cursor.error(
                    f"{match[0]} is no escape: write one of \\t \\b \\n \\r \\f \\\\ \\\" \\' or a codepoint",
                    token.start + quotes + match.start(),
                )
            return _CHARACTERS[match[1]]

        return _ECHAR.sub(character, token.text[quotes:-quotes])

    def graph_term(self) -> Constant | Variable | None:
        """[109] GraphTerm, or None where none begins; blank nodes as variables."""
        cursor = self._cursor
        if self.at_iri:
            return self.iri()
        if self.at_literal():
            return self.literal()
        if (node := self.blank_node_or_anonymous()) is not None:
            return node
        if cursor.at_punctuation("(") and cursor.following.text == ")":
            cursor.advance()
            cursor.advance()
            return NIL
        return None


def number(text: str, place: int) -> Constant:
    """[130] NumericLiteral."""
    kind = "double" if "e" in text.lower() else "decimal" if "." in text else "integer"
    return Constant(f'"{text}"^^<{XSD}{kind}>', place=place)
