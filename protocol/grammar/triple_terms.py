"""Triple terms and reified triples (SPARQL 1.2 Query section 19.8), and how a pattern with variables in them is
matched: as one with a variable for the term, which is unfolded into the term's parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from protocol.errors import ExcludedByGrammar
from protocol.grammar.cursor import Cursor
from protocol.grammar.terms import TYPE, Terms
from protocol.language.algebra import (
    PARTS_OF_TRIPLES,
    UNFOLDED,
    Call,
    Constant,
    Expression,
    Extend,
    Filter,
    Pattern,
    TripleTerm,
    Variable,
    balanced,
    mentioned_variables,
)
from protocol.sparql.tokens import TokenKind
from protocol.terms import is_triple, triple_text

Node = Variable | Constant | TripleTerm
"""What stands in a triple, of a pattern or of a template."""

_TERM, _END_OF_TERM = "<<(", ")>>"
_REIFIED, _END_OF_REIFIED = "<<", ">>"


class TripleTerms:
    """Reads triple terms and reified triples."""

    def __init__(self, cursor: Cursor, terms: Terms) -> None:
        self._cursor = cursor
        self._terms = terms

    @property
    def at_term(self) -> bool:
        """Whether a triple term begins here."""
        return self._cursor.at_punctuation(_TERM)

    @property
    def at_reified(self) -> bool:
        """Whether a reified triple begins here."""
        return self._cursor.at_punctuation(_REIFIED)

    def term(self) -> Node:
        """TripleTerm, of a pattern or a template: a Constant, if it is one RDF term."""
        with self._cursor.nested(_TERM, _END_OF_TERM):
            return triple_term(self._part(), self.verb(), self._part())

    def reified(self, reify: Callable[[Node, Variable | Constant, Node], Node]) -> Node:
        """ReifiedTriple: its reifier, as which ``reify`` is told the triple and reads one, if it is written."""
        with self._cursor.nested(_REIFIED, _END_OF_REIFIED):
            subject = self.reified(reify) if self.at_reified else self._part()
            predicate = self.verb()
            return reify(subject, predicate, self.reified(reify) if self.at_reified else self._part())

    def reifier(self) -> Node:
        """Reifier: what follows ``~``, or a blank node."""
        self._cursor.expect_punctuation("~")
        if self._terms.at_variable or self._terms.at_iri:
            return self._terms.variable_or_iri()
        return self._terms.blank_node_or_anonymous() or self._terms.fresh()

    def verb(self) -> Variable | Constant:
        """Verb: a property, and no path."""
        return (
            self._terms.variable() if self._terms.at_variable else self._property("a property: an IRI, a or a variable")
        )

    def _property(self, wanted: str = "a property: an IRI or a") -> Constant:
        if self._cursor.token.kind is TokenKind.WORD and self._cursor.token.text == "a":
            self._cursor.advance()
            return TYPE
        return self._terms.iri(wanted)

    def _part(self) -> Node:
        """TripleTermSubject and TripleTermObject."""
        if self.at_term:
            return self.term()
        if self._terms.at_variable:
            return self._terms.variable()
        found = self._terms.iri() if self._terms.at_iri else self._terms.blank_node_or_anonymous()
        return found or self._literal("a variable, an IRI, a blank node, a literal or a triple term")

    def of_expression(self) -> Expression:
        """ExprTripleTerm."""
        with self._cursor.nested(_TERM, _END_OF_TERM):
            is_no_subject = self.at_term or self._terms.at_literal()
            if is_no_subject:
                raise self._cursor.error("the subject of a triple term is an IRI or a variable", kind=ExcludedByGrammar)
            subject = self._terms.variable_or_iri("a variable or an IRI as subject")
            predicate, terms = self.verb(), self._terms
            if self.at_term:
                object_ = self.of_expression()
            else:
                object_ = terms.variable() if terms.at_variable else self._data_object("a variable, ")
        parts = subject, predicate, object_
        if isinstance(subject, Constant) and isinstance(predicate, Constant) and isinstance(object_, Constant):
            return Constant(triple_text(subject.text, predicate.text, object_.text), place=subject.place)
        return Call("TRIPLE", parts, place=subject.place)

    def data(self) -> Constant:
        """TripleTermData, of VALUES."""
        with self._cursor.nested(_TERM, _END_OF_TERM):
            subject, predicate = self._terms.iri("an IRI as subject"), self._property()
            object_ = self.data() if self.at_term else self._data_object("")
        return Constant(triple_text(subject.text, predicate.text, object_.text), place=subject.place)

    def _data_object(self, more: str) -> Constant:
        return self._terms.iri() if self._terms.at_iri else self._literal(f"{more}an IRI, a literal or a triple term")

    def _literal(self, wanted: str) -> Constant:
        if not self._terms.at_literal():
            raise self._cursor.unexpected(wanted)
        return self._terms.literal()


def triple_term(subject: Node, predicate: Variable | Constant, object_: Node) -> Constant | TripleTerm:
    """The triple term of three parts: a Constant where it is one RDF term, whose subject is an IRI."""
    match subject, predicate, object_:
        case Constant(s), Constant(p), Constant(o) if s.startswith("<") and not is_triple(s):
            return Constant(triple_text(s, p, o), place=subject.place)
    return TripleTerm(subject, predicate, object_)


class Unfolding(NamedTuple):
    """That a variable is bound to triple terms of this form."""

    variable: Variable
    term: TripleTerm


def unfold(node: Node, fresh: Callable[[str], Variable]) -> tuple[Variable | Constant, list[Unfolding]]:
    """What stands for a node in a triple pattern: for a triple term with variables one of its own (``fresh``)."""
    if not isinstance(node, TripleTerm):
        return node, []
    subject, of_subject = unfold(node.subject, fresh)
    object_, of_object = unfold(node.object, fresh)
    variable = fresh(UNFOLDED.removeprefix("_:"))
    return variable, [Unfolding(variable, TripleTerm(subject, node.predicate, object_)), *of_subject, *of_object]


def unfolded(pattern: Pattern, unfoldings: Sequence[Unfolding]) -> Pattern:
    """The solutions of a pattern whose variables are bound as the unfoldings say, with the variables in these."""
    if not unfoldings:
        return pattern
    bound = set(mentioned_variables(pattern))
    conditions: list[Expression] = []
    for variable, term in unfoldings:
        conditions.append(Call("ISTRIPLE", (variable,)))
        for function, part in zip(PARTS_OF_TRIPLES, (term.subject, term.predicate, term.object), strict=True):
            assert not isinstance(part, TripleTerm)  # each has been unfolded by itself
            within = Call(function, (variable,))
            if isinstance(part, Variable) and part not in bound:
                pattern = Extend(pattern, part, within)
                bound.add(part)
            else:
                conditions.append(Call("SAMETERM", (part, within)))
    return Filter(pattern, balanced("&&", conditions))


def variables_of(node: Node) -> Iterator[Variable]:
    """The variables of what stands in a triple."""
    if isinstance(node, Variable):
        yield node
    elif isinstance(node, TripleTerm):
        for part in (node.subject, node.predicate, node.object):
            yield from variables_of(part)
