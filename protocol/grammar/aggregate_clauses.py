"""``AGGREGATE { (?new, FUNCTION(?argument), {?key, …}) FILTER … }`` (C-SPARQL section 2.2).

Each solution of the WHERE is kept, and has one more binding: the aggregate over the solutions with the same keys. The
clauses are written as ``{ {…} BIND(… AS ?new) FILTER … }`` around the WHERE's group, in place, so that a FILTER sees
the new variables and those of the WHERE are decided before anything is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from protocol.errors import QuerySemanticError
from protocol.grammar.cursor import Cursor
from protocol.grammar.rewrite import Rewriter
from protocol.language.model import AGGREGATE_FUNCTION
from protocol.sparql.tokens import Token, TokenKind

_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX")


class AggregateClauses:
    """Reads the clauses that follow the WHERE. ``step`` reads a token of a FILTER; ``depth`` tells of open brackets."""

    def __init__(self, cursor: Cursor, rewriter: Rewriter, step: Callable[[], None], depth: Callable[[], int]) -> None:
        self._cursor = cursor
        self._rewriter = rewriter
        self._step = step
        self._depth = depth
        self._of_where: Collection[str] = ()
        self._new: list[str] = []

    def read(self, opening: Token) -> None:
        """Read all clauses after the group that ``opening`` opens and that has just been read.

        Raises QuerySyntaxError, and QuerySemanticError for variables that are not the WHERE's, or are not new.
        """
        cursor = self._cursor
        if not cursor.at("AGGREGATE"):
            return
        end = cursor.token.start
        self._of_where = {
            _name(token)
            for token in cursor.tokens
            if token.kind is TokenKind.VARIABLE and opening.start < token.start < end
        }
        self._rewriter.replace(opening.start, opening.start, "{ ")
        while cursor.at("AGGREGATE"):
            closing = self._clause()
            if cursor.at("AGGREGATE"):  # the last } stays: it closes the group around the WHERE's
                self._rewriter.remove(closing.start, closing.end)

    def _clause(self) -> Token:
        cursor = self._cursor
        keyword = cursor.advance()
        self._expect("{", "AGGREGATE")
        start = keyword.start
        while True:
            if not cursor.at_punctuation("("):
                raise cursor.unexpected("an aggregate such as (?n, COUNT, {?key}) in AGGREGATE { }")
            self._aggregate(start)
            while cursor.at("FILTER"):
                self._filter()
            if cursor.at_punctuation("}"):
                return cursor.advance()
            start = cursor.token.start

    def _aggregate(self, start: int) -> None:
        """``( ?new , FUNCTION , keys )``; what is from ``start`` on becomes a BIND."""
        cursor = self._cursor
        cursor.advance()
        new = self._variable("a new variable after ( in AGGREGATE")
        self._check_new(new)
        self._expect(",", "the new variable")
        function = cursor.expect(*_FUNCTIONS, after="the comma")
        written, arguments = function.word, []
        if cursor.at_punctuation("("):
            cursor.advance()
            arguments.append(self._read_variable(f"the variable of {function.word}"))
            self._expect(")", "the variable")
        elif function.word == "COUNT":
            written = "COUNT-ALL"
        else:
            raise cursor.unexpected(f"( and a variable after {function.word}")
        self._expect(",", "the function")
        arguments += self._keys()
        closing = self._expect(")", "the keys")
        self._new.append(_name(new))
        listed = ", ".join(f"?{name}" for name in arguments)
        self._rewriter.replace(start, closing.end, f"BIND(<{AGGREGATE_FUNCTION}{written}>({listed}) AS ?{_name(new)}) ")

    def _keys(self) -> list[str]:
        if not self._cursor.at_punctuation("{"):
            return [self._read_variable("a variable or {?key, …} after the comma")]
        self._cursor.advance()
        keys = [self._read_variable("a variable to group by")]
        while self._cursor.at_punctuation(","):
            self._cursor.advance()
            keys.append(self._read_variable("a variable to group by"))
        self._expect("}", "the keys")
        return keys

    def _filter(self) -> None:
        """FILTER and its constraint: they stay where they are."""
        self._step()
        while not any(map(self._cursor.at_punctuation, "({})")) and self._cursor.token.kind is not TokenKind.END:
            self._step()
        self._step()
        while self._depth() and self._cursor.token.kind is not TokenKind.END:
            self._step()

    def _read_variable(self, wanted: str) -> str:
        token = self._variable(wanted)
        name = _name(token)
        if name not in self._of_where:
            other = " (another AGGREGATE's variable cannot be used)" if name in self._new else ""
            raise self._cursor.error(
                f"{token.text} is not a variable of the WHERE, which AGGREGATE is over{other}",
                token,
                QuerySemanticError,
            )
        return name

    def _check_new(self, token: Token) -> None:
        if _name(token) in (*self._of_where, *self._new):
            raise self._cursor.error(
                f"{token.text} is bound already: the result of AGGREGATE needs a new variable",
                token,
                QuerySemanticError,
            )

    def _variable(self, wanted: str) -> Token:
        if self._cursor.token.kind is not TokenKind.VARIABLE:
            raise self._cursor.unexpected(wanted)
        return self._cursor.advance()

    def _expect(self, text: str, after: str) -> Token:
        if not self._cursor.at_punctuation(text):
            raise self._cursor.unexpected(f"{text} after {after}")
        return self._cursor.advance()


def _name(token: Token) -> str:
    return token.text[1:]
