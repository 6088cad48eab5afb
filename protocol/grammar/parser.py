"""From the text of a query to its model (docs/language.md, "Grammar")."""

from __future__ import annotations

import re

from protocol.errors import ProtocolError, QuerySemanticError, UnsupportedFeature
from protocol.grammar.aggregate_clauses import AggregateClauses
from protocol.grammar.cursor import Cursor
from protocol.grammar.dialects import contradicting, reports, stream_window
from protocol.grammar.portable import portable
from protocol.grammar.registration import WrittenRegistration, read_registration
from protocol.grammar.rewrite import Rewriter
from protocol.grammar.streams import StreamClauses
from protocol.grammar.timestamps import TimestampCalls
from protocol.language.model import R2S, WINDOW_VARIABLE_PREFIX, ContinuousQuery, Form, OneShotQuery
from protocol.sparql.iris import Namespaces
from protocol.sparql.source import Source
from protocol.sparql.syntax import ONE_IRI, iris_like_operators, query_fault
from protocol.sparql.tokens import Token, TokenKind

# None of these is a keyword of SPARQL 1.1: a text with one of them as a token is not for the store's parser.
_STREAM_WORDS = frozenset({"REGISTER", "STREAM", "WINDOW", *R2S})
_STREAM_TEXT = re.compile(r"register|stream|window", re.IGNORECASE)
_MODIFIERS = ("GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")
_OPENING = {"(": ")", "[": "]", "{": "}"}
# Oxigraph's parser recurses, into brackets and along chains of operators, and a stack that overflows there
# ends the process.
_DEEPEST = 100
_MOST_OPERATORS = 5000
_NEWER_FUNCTIONS = frozenset({"TRIPLE", "SUBJECT", "PREDICATE", "OBJECT", "ISTRIPLE", "ADJUST"})
_NEWER_FUNCTIONS |= {"HASLANG", "HASLANGDIR", "LANGDIR", "STRLANGDIR"}
_CHAINLESS = frozenset({"A", "TRUE", "FALSE", "UNDEF", *".,;()[]}"})


def perhaps_continuous(text: str) -> bool:
    """Whether ``parse`` may take the text for anything but a ``OneShotQuery``: a look at it that costs next to nothing.

    Where this is false ``parse`` need not be asked. A word of streams may be hidden in codepoint escapes (Query section
    19.2).
    """
    return _STREAM_TEXT.search(text) is not None or "\\u" in text or "\\U" in text


def parse(text: str, *, base: str | None = None) -> OneShotQuery | ContinuousQuery:
    """Read a query of the language.

    ``base`` (an absolute IRI) resolves relative IRIs where the text has no BASE. A text without any
    stream clause, registration or relation-to-stream keyword is a ``OneShotQuery``, whether or not it
    is a query at all: that is for the store's own parser to say. Anything else is a
    ``ContinuousQuery`` or raises QuerySyntaxError, QuerySemanticError (it parses but means nothing) or
    UnsupportedFeature, with the place in ``text``.
    """
    if not perhaps_continuous(text):
        return OneShotQuery(text)
    source = Source(text)
    if not _STREAM_TEXT.search(source.text):
        return OneShotQuery(text)
    cursor = Cursor(source)
    if not any(token.word in _STREAM_WORDS for token in cursor.tokens):
        return OneShotQuery(text)
    operators = 0
    for token in cursor.tokens:
        if token.kind is TokenKind.ILLEGAL:
            raise cursor.error(_illegal(token.text), token)
        operators += _chains(token)
        if operators > _MOST_OPERATORS:
            raise cursor.error(f"more than {_MOST_OPERATORS} keywords and operators", token, UnsupportedFeature)
    return _QueryReader(text, cursor, base).query()


class _QueryReader:
    """Reads one query that is not for the store, token by token."""

    def __init__(self, text: str, cursor: Cursor, base: str | None) -> None:
        self._text = text
        self._cursor = cursor
        self._base = base
        self._own_base = False
        self._namespaces = Namespaces(cursor.source, base)
        self._rewriter = Rewriter(cursor.source.text)
        self._clauses = StreamClauses(cursor, self._namespaces, self._rewriter)
        self._open: list[Token] = []
        self._templated = False
        self._aggregates = AggregateClauses(cursor, self._rewriter, self._step, lambda: len(self._open))
        self._timestamps = TimestampCalls(cursor, self._namespaces, self._rewriter, self._clauses.make_absolute)

    def query(self) -> ContinuousQuery:
        """The whole text: QueryUnit of the grammar."""
        if self._cursor.source.text.startswith("\ufeff"):
            self._rewriter.remove(0, 1)
        registration = self._beginning()
        if not self._cursor.at(*Form):
            raise self._cursor.unexpected("SELECT, CONSTRUCT, ASK, DESCRIBE or REGISTER")
        keyword = self._cursor.advance()
        form = Form(keyword.word)
        written = self._operator(form)
        self._head(form)
        self._dataset(form)
        self._where(form)
        while self._cursor.token.kind is not TokenKind.END:
            self._step()
        if self._open:
            raise self._unclosed(self._open[-1])
        self._check_streams(registration, written)
        operator = self._chosen_operator(registration, written)
        self._check_syntax()
        return self._model(form, operator, registration)

    def _beginning(self) -> WrittenRegistration | None:
        self._prologue()
        if not self._cursor.at("REGISTER"):
            self._absolute_base()
            return None
        registration = read_registration(self._cursor, self._rewriter)
        self._prologue()
        self._absolute_base()
        return registration

    def _prologue(self) -> None:
        cursor = self._cursor
        while keyword := cursor.take("BASE", "PREFIX"):
            if keyword.word == "PREFIX":
                prefix = cursor.token
                if (
                    prefix.kind is not TokenKind.PREFIXED_NAME
                    or not prefix.text.endswith(":")
                    or prefix.text.count(":") > 1
                ):
                    raise cursor.unexpected("a prefix that ends with a colon, as in PREFIX name: <IRI>")
                cursor.advance()
            if cursor.token.kind is not TokenKind.IRI:
                raise cursor.unexpected(f"<IRI> after {keyword.word}")
            iri = cursor.advance()
            self._clauses.make_absolute(iri)
            if keyword.word == "PREFIX":
                self._namespaces.declare(prefix, iri)
            else:
                self._namespaces.base = self._namespaces.iri(iri)
                self._own_base = True

    def _absolute_base(self) -> None:
        """Carry the base that was given into the query: the function IRI() resolves by it when it runs."""
        if self._base is not None and not self._own_base:
            self._rewriter.replace(0, 0, f"BASE <{self._base}> ")

    def _operator(self, form: Form) -> Token | None:
        token = self._cursor.take(*R2S)
        if token is None:
            return None
        if form not in (Form.SELECT, Form.CONSTRUCT):
            raise self._cursor.error(f"{token.word} goes with SELECT and CONSTRUCT; {form} has none", token)
        self._rewriter.remove(token.start, token.end)
        return token

    def _head(self, form: Form) -> None:
        """What stands between the query form and the dataset: variables, expressions, a template."""
        if form is Form.CONSTRUCT and self._cursor.at_punctuation("{"):
            self._templated = True
            self._step(template=True)
            while self._open and self._cursor.token.kind is not TokenKind.END:
                self._step(template=True)
            return
        while self._cursor.token.kind is not TokenKind.END:
            if not self._open and (self._cursor.at("FROM", "WHERE") or self._cursor.at_punctuation("{")):
                return
            self._step()

    def _dataset(self, form: Form) -> None:
        if not self._cursor.at("FROM"):
            return
        while self._cursor.at("FROM"):
            self._clauses.dataset_clause()
        if self._cursor.at("WHERE") or self._cursor.at_punctuation("{"):
            return
        if form is Form.DESCRIBE and (self._cursor.at(*_MODIFIERS) or self._cursor.token.kind is TokenKind.END):
            return
        raise self._cursor.unexpected("FROM or WHERE { after the dataset")

    def _where(self, form: Form) -> None:
        """The WHERE, and the aggregates over its solutions."""
        cursor = self._cursor
        if cursor.at("WHERE"):
            self._step()
        if not cursor.at_punctuation("{"):
            return
        opening = cursor.token
        self._step()
        while self._open and cursor.token.kind is not TokenKind.END:
            self._step()
        if cursor.at("AGGREGATE") and form is Form.CONSTRUCT and not self._templated:
            raise cursor.error("AGGREGATE needs a CONSTRUCT with a template: write CONSTRUCT { … } before WHERE")
        self._aggregates.read(opening)

    def _step(self, *, template: bool = False) -> None:
        """Read one token, or one stream clause up to its group."""
        cursor = self._cursor
        token = cursor.token
        if self._timestamps.is_next:
            self._timestamps.call()
            return
        if token.kind is TokenKind.PUNCTUATION:
            self._nest(token)
        elif token.kind is TokenKind.IRI:
            self._clauses.make_absolute(token)
        elif token.kind is TokenKind.VARIABLE and token.text[1:].startswith(WINDOW_VARIABLE_PREFIX):
            raise cursor.error(f"variables that begin with {WINDOW_VARIABLE_PREFIX} are reserved: choose another name")
        elif token.word in ("WINDOW", "STREAM"):
            self._pattern(token, template)
            return
        elif token.word:
            self._reject(token)
        cursor.advance()

    def _pattern(self, token: Token, template: bool) -> None:
        if template:
            raise self._cursor.error(f"{token.word} cannot stand in a template, which holds triples: move it to WHERE")
        if not self._open or self._open[-1].text != "{":
            raise self._cursor.error(f"{token.word} goes inside a group, as in WHERE {{ {token.word} … {{ … }} }}")
        if token.word == "WINDOW":
            self._clauses.window_pattern()
        else:
            self._clauses.stream_pattern()

    def _nest(self, token: Token) -> None:
        cursor = self._cursor
        if token.text in _OPENING:
            if len(self._open) == _DEEPEST:
                raise cursor.error(f"nested more than {_DEEPEST} deep", token, UnsupportedFeature)
            self._open.append(token)
        elif token.text in _OPENING.values():
            if not self._open:
                raise cursor.error(f"{token.text} closes nothing")
            opening = self._open.pop()
            if _OPENING[opening.text] != token.text:
                raise self._unclosed(opening)
        following = cursor.following
        if token.text == "~" or (following.start == token.end and token.text + following.text[:1] in ("<<", "{|")):
            raise cursor.error("triple terms belong to SPARQL 1.2: write SPARQL 1.1", token, UnsupportedFeature)

    def _unclosed(self, opening: Token) -> ProtocolError:
        """The error for the next token, before which this bracket should have been closed."""
        cursor = self._cursor
        for iri in iris_like_operators(cursor.tokens):
            if opening.start < iri.start < cursor.token.start and _OPENING[opening.text] in iri.text:
                return cursor.error(ONE_IRI, iri)
        line, column = cursor.source.place(opening.start)
        return cursor.unexpected(f"{_OPENING[opening.text]} for the {opening.text} of line {line}, column {column}")

    def _reject(self, token: Token) -> None:
        """Raise for the keywords that cannot stand here or are not evaluated yet."""
        cursor = self._cursor
        word, following = token.word, cursor.following
        if word in tuple(R2S):
            raise cursor.error(f"{word} goes right after the SELECT or CONSTRUCT of the outermost query")
        if word == "REGISTER":
            raise cursor.error("REGISTER goes once, before the query: REGISTER QUERY name AS SELECT …")
        if word == "FROM" and following.word in ("STREAM", "NAMED", "WINDOW"):
            raise cursor.error("FROM goes before the WHERE of the outermost query")
        if word == "AGGREGATE":
            raise cursor.error(
                "AGGREGATE goes right after the WHERE of the outermost query, before ORDER BY and the like"
            )
        if word in _NEWER_FUNCTIONS and following.text == "(":
            raise cursor.error(f"{word}() is not part of SPARQL 1.1", token, UnsupportedFeature)
        if word == "LATERAL":
            raise cursor.error("LATERAL is not part of SPARQL 1.1", token, UnsupportedFeature)

    def _check_streams(self, registration: WrittenRegistration | None, operator: Token | None) -> None:
        if not self._clauses.declarations:
            right = "at least one stream clause, such as FROM STREAM <stream> [RANGE 10s STEP 5s]"
            if registration is not None:
                raise self._cursor.error(f"a standing query needs {right}", registration.keyword, QuerySemanticError)
            self._clauses.check_uses()
            if operator is not None:
                raise self._cursor.error(f"{operator.word} needs {right}", operator, QuerySemanticError)
        self._clauses.check_uses()

    def _chosen_operator(self, registration: WrittenRegistration | None, written: Token | None) -> R2S:
        registered = registration.operator if registration else None
        if written is not None:
            if registered is not None and registered != written.word:
                raise self._cursor.error(
                    f"{written.word} contradicts REGISTER {registered}: write one of them", written, QuerySemanticError
                )
            return R2S(written.word)
        if registered is not None:
            return registered
        return R2S.ISTREAM if any(known.pattern for known in self._clauses.declarations) else R2S.RSTREAM

    def _check_syntax(self) -> None:
        checked = self._rewriter.checked()
        fault = query_fault(checked.text)
        if fault is not None:
            offset = checked.offset(fault.offset)
            written = self._cursor.source.text[offset : offset + 6].upper()
            detail = fault.detail
            if written in ("WINDOW", "STREAM"):
                detail = detail.replace("GRAPH", written, 1)
            raise self._cursor.error(detail, offset)

    def _model(self, form: Form, operator: R2S, registration: WrittenRegistration | None) -> ContinuousQuery:
        declarations = self._clauses.declarations
        every = registration.every if registration else None
        contradicted = contradicting(declarations, every)
        if contradicted is not None:
            raise self._cursor.source.error(
                "COMPUTED EVERY is PERIODIC on every window, and this one has another period: write one of them",
                contradicted.offset,
                QuerySemanticError,
            )
        decided = reports(declarations, every)
        return ContinuousQuery(
            text=self._text,
            standard=portable(self._rewriter.standard().text),
            form=form,
            operator=operator,
            windows=tuple(
                stream_window(declaration, report, self._cursor.source.place(declaration.offset))
                for declaration, report in zip(declarations, decided, strict=True)
            ),
            from_graphs=tuple(self._clauses.from_graphs),
            from_named=tuple(self._clauses.from_named),
            registration=registration.resolved(self._namespaces) if registration else None,
        )


def _chains(token: Token) -> bool:
    """Whether a run of such tokens may become a chain that is walked recursively."""
    if token.kind is TokenKind.NUMBER:
        return token.text[0] in "+-"
    return token.kind in (TokenKind.WORD, TokenKind.PUNCTUATION) and token.text.upper() not in _CHAINLESS


def _illegal(character: str) -> str:
    if character in "\"'":
        return f"the string that begins with {character} is not closed in its line: close it, or use {character * 3}"
    if character == "\\":
        return "\\ stands in strings and names only, and before u or U with 4 or 8 hexadecimal digits"
    return f"{character!r} starts nothing that SPARQL knows"
