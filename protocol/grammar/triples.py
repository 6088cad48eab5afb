"""Triples, in patterns and templates (productions [52] and [75] to [106] of SPARQL 1.1 Query section 19.8)."""

from __future__ import annotations

from typing import NamedTuple

from protocol.grammar.cursor import Cursor
from protocol.grammar.paths import Path, Paths
from protocol.grammar.terms import FIRST, NIL, REIFIES, REST, TYPE, Terms
from protocol.grammar.triple_terms import Node, TripleTerms, triple_term
from protocol.language.algebra import Constant, Variable
from protocol.sparql.tokens import TokenKind

_STARTS = frozenset({TokenKind.VARIABLE, TokenKind.IRI, TokenKind.PREFIXED_NAME, TokenKind.BLANK_NODE})
_STARTS |= {TokenKind.STRING, TokenKind.NUMBER}
_OPENING = ("[", "(", "<", "<<", "<<(")


class WrittenTriple(NamedTuple):
    """A triple as it is read: in a pattern its predicate may be a path."""

    subject: Node
    predicate: Variable | Path
    object: Node


class Triples:
    """Reads triples: patterns where there are ``paths``, else templates."""

    def __init__(self, cursor: Cursor, terms: Terms, paths: Paths | None = None) -> None:
        self._cursor = cursor
        self._terms = terms
        self._paths = paths
        self._triple_terms = TripleTerms(cursor, terms)

    @property
    def at_triples(self) -> bool:
        """Whether a triple begins here."""
        cursor = self._cursor
        return cursor.token.kind in _STARTS or cursor.at("TRUE", "FALSE") or cursor.at_punctuation(*_OPENING)

    def block(self) -> list[WrittenTriple]:
        """[55] TriplesBlock."""
        found: list[WrittenTriple] = []
        while self.at_triples:
            self._same_subject(found)
            if not self._cursor.take_punctuation("."):
                break
        return found

    def template(self) -> list[tuple[Node, Node, Node]]:
        """[74] ConstructTriples."""
        # Without paths no predicate is one.
        return [(s, p, o) for s, p, o in self.block() if isinstance(p, Variable | Constant)]

    def _same_subject(self, found: list[WrittenTriple]) -> None:
        """[81] TriplesSameSubjectPath, or [75] TriplesSameSubject."""
        node = self._triples_node(found)
        if node is not None:
            if self._at_verb:
                self._property_list(node, found)
            return
        self._property_list(self._variable_or_term(), found)

    def _property_list(self, subject: Node, found: list[WrittenTriple]) -> None:
        """[83] PropertyListPathNotEmpty, or [77] PropertyListNotEmpty."""
        while True:
            predicate = self._verb()
            self._objects(subject, predicate, found)
            if not self._cursor.take_punctuation(";"):
                return
            while self._cursor.take_punctuation(";"):
                pass
            if not self._at_verb:
                return

    def _objects(self, subject: Node, predicate: Variable | Path, found: list[WrittenTriple]) -> None:
        """[86] ObjectListPath, or [79] ObjectList."""
        while True:
            place = len(found)
            object_ = self._graph_node(found)
            found.insert(place, WrittenTriple(subject, predicate, object_))
            self._annotations(found[place], found)
            if not self._cursor.take_punctuation(","):
                return

    @property
    def _at_verb(self) -> bool:
        if self._terms.at_variable or self._terms.at_iri:
            return True
        if self._paths is not None:
            return self._paths.at_path
        return self._cursor.token.kind is TokenKind.WORD and self._cursor.token.text == "a"

    def _verb(self) -> Variable | Path:
        if self._terms.at_variable:
            return self._terms.variable()
        if not self._at_verb:
            raise self._cursor.unexpected("a property: an IRI, a or a variable")
        if self._paths is not None:
            return self._paths.path()
        if self._terms.at_iri:
            return self._terms.iri()
        self._cursor.advance()
        return TYPE

    def _graph_node(self, found: list[WrittenTriple]) -> Node:
        """[105] GraphNodePath, or [104] GraphNode."""
        node = self._triples_node(found)
        return self._variable_or_term() if node is None else node

    def _annotations(self, triple: WrittenTriple, found: list[WrittenTriple]) -> None:
        """AnnotationPath, or Annotation (SPARQL 1.2): reifiers of a triple, and what is said of them."""
        cursor, reifier = self._cursor, None
        while cursor.at_punctuation("~", "{|"):
            predicate = triple.predicate
            if not isinstance(predicate, Variable | Constant):
                raise cursor.error("a triple is annotated, and not a path: write the property alone")
            if reifier is None or cursor.at_punctuation("~"):
                reifier = self._reified(triple.subject, predicate, triple.object, found)
            if cursor.at_punctuation("{|"):
                with cursor.nested("{|", "|}"):
                    self._property_list(reifier, found)
                reifier = None  # another annotation has another

    def _reified(
        self, subject: Node, predicate: Variable | Constant, object_: Node, found: list[WrittenTriple]
    ) -> Node:
        """The reifier of a triple, which is written behind it or a blank node."""
        at_reifier = self._cursor.at_punctuation("~")
        reifier = self._triple_terms.reifier() if at_reifier else self._terms.fresh()
        found.append(WrittenTriple(reifier, REIFIES, triple_term(subject, predicate, object_)))
        return reifier

    def _triples_node(self, found: list[WrittenTriple]) -> Node | None:
        """[100] TriplesNodePath, or [98] TriplesNode: a collection or a blank node with properties, or a triple that is
        reified.
        """
        cursor = self._cursor
        if self._triple_terms.at_reified:
            return self._triple_terms.reified(lambda s, p, o: self._reified(s, p, o, found))
        if cursor.at_punctuation("[") and cursor.following.text != "]":
            with cursor.nested("[", "]"):
                node = self._terms.fresh()
                self._property_list(node, found)
                return node
        if cursor.at_punctuation("(") and cursor.following.text != ")":
            return self._collection(found)
        return None

    def _collection(self, found: list[WrittenTriple]) -> Node:
        """[103] CollectionPath, or [102] Collection."""
        first = node = self._terms.fresh()
        with self._cursor.nested("(", ")"):
            while True:
                found.append(WrittenTriple(node, FIRST, self._graph_node(found)))
                if self._cursor.at_punctuation(")"):
                    found.append(WrittenTriple(node, REST, NIL))
                    return first
                following = self._terms.fresh()
                found.append(WrittenTriple(node, REST, following))
                node = following

    def _variable_or_term(self) -> Node:
        """[106] VarOrTerm."""
        cursor = self._cursor
        if self._terms.at_variable:
            return self._terms.variable()
        if self._triple_terms.at_term:
            return self._triple_terms.term()
        term = self._terms.graph_term()
        if term is None:
            raise cursor.unexpected("a variable or an RDF term")
        return term
