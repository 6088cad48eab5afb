"""rdflib's SPARQL parser, with room for long and deeply nested queries, and literals left as they are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import rdflib
from pyparsing import ParseBaseException, Suppress
from rdflib.plugins.sparql import algebra, parser
from rdflib.plugins.sparql.parserutils import Comp, CompValue, Param
from rdflib.plugins.sparql.sparql import Prologue

from protocol.errors import ProtocolError
from protocol.sparql.iris import resolve
from protocol.sparql.tokens import tokenize
from spark_backend.compiler.refusals import NotCompilable, NotParsed, at, keyword, mention

_SERVICE = "SERVICE is not evaluated over windows: load what it would give into the store, or ask it by itself"
_RULES = frozenset(
    {
        "ConditionalOrExpression",
        "ConditionalAndExpression",
        "RelationalExpression",
        "AdditiveExpression",
        "MultiplicativeExpression",
    }
)

_algebra: Any = algebra

# rdflib's grammar forgets the IRI of ^iri in a negated property set.
_one_in_set: Any = parser.PathOneInPropertySet
_one_in_set.exprs[-1] = Comp("InversePath", Suppress("^") + Param("part", parser.iri | parser.A))


@dataclass(frozen=True)
class ExistsGroup:
    """The group of an EXISTS, in rdflib's algebra, where rdflib does not look for it.

    It translates one in a FILTER or BIND only, and takes variables in HAVING's for keys of the group.
    """

    algebra: CompValue
    name: str = "EXISTS"
    translated: bool = True


class _Prefixes(Prologue):
    """A prologue in which two prefixes may stand for the same IRI: rdflib's forgets the first of them."""

    def __init__(self) -> None:
        super().__init__()
        self._iris: dict[str, str] = {}

    def bind(self, prefix: str | None, uri: Any) -> None:
        self._iris[prefix or ""] = str(uri)

    def resolvePName(self, prefix: str | None, localname: str | None) -> rdflib.URIRef:  # noqa: N802  (rdflib's name)
        return rdflib.URIRef(self._iris[prefix or ""] + (localname or ""))


def parsed_query(text: str, base: str | None) -> tuple[Any, CompValue]:
    """The parse tree and rdflib's algebra of a query. QuerySyntaxError where the parser fails.

    Only for one thread at a time: what is set here is rdflib's for the whole process.
    """
    # A literal of the query is the term that is written: "01" is not "1", and -3.0e0 not -3.0.
    normalised, rdflib.NORMALIZE_LITERALS = rdflib.NORMALIZE_LITERALS, False
    negated, parser.neg = parser.neg, _negated
    # Its order of triple patterns comes of comparing terms without one, which Python 3.14 refuses: ours is as written.
    reordered, algebra.reorderTriples = algebra.reorderTriples, _as_written
    prologues, _algebra.Prologue = _algebra.Prologue, _Prefixes
    try:
        parsed = parser.parseQuery(text)
        current = base or ""
        for node in parsed[0]:
            if node.name == "Base":  # each is resolved against the one before (4.1.1.2), which rdflib leaves undone
                node["iri"] = rdflib.URIRef(current := resolve(current, node.iri))
        exists = []
        for node in _nodes(parsed[1]):
            if node.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
                exists.append(node)
            if node.name in ("InlineData", "ValuesClause") and not node.var and node.value:
                # Empty solutions, which rdflib forgets: so many of a variable that nobody can name, unbound.
                node["var"], node["value"] = [rdflib.Variable("_:nothing")], ["UNDEF"] * len(node.value)
            if node.name == "DescribeQuery" and not node.var:  # DESCRIBE *
                node["var"] = []
            if node.name == "ServiceGraphPattern":
                raise NotCompilable(_SERVICE, keyword("SERVICE"))
            if node.name == "Filter" and _is_literal(_innermost(node.expr)):
                # rdflib leaves out a filter whose expression is a false value of Python: FILTER(false), FILTER(0).
                node["expr"] = CompValue("Builtin_COALESCE", arg=[_innermost(node.expr)])
        for node in reversed(exists):  # those inside first
            node["graph"] = ExistsGroup(_group_algebra(node.graph, parsed[0], base))
        return parsed, algebra.translateQuery(parsed, base=base).algebra
    except (RecursionError, ProtocolError):
        raise
    except Exception as error:  # rdflib raises pyparsing's, its own and bare exceptions
        # Its parser looks for it by searching the text, and does not always find it.
        if any(token.word == "SERVICE" for token in tokenize(text)):
            raise NotCompilable(_SERVICE, keyword("SERVICE")) from error
        if isinstance(error, ParseBaseException):
            said = "rdflib's parser, which reads standard SPARQL 1.1, stops here"
            raise NotParsed(said, at(text, error.loc)) from error
        raise NotParsed(f"rdflib's parser refuses the query: {error}", mention(str(error))) from error
    finally:
        rdflib.NORMALIZE_LITERALS, parser.neg, algebra.reorderTriples = normalised, negated, reordered
        _algebra.Prologue = prologues


def _group_algebra(group: CompValue, prologue: Any, base: str | None) -> CompValue:
    """rdflib's algebra of a group by itself, by the steps of its ``translateQuery``."""
    names = partial(algebra.translatePName, prologue=algebra.translatePrologue(prologue, base))
    group = algebra.traverse(group, visitPost=names)
    algebra._traverse(group, algebra._simplifyFilters)
    group = algebra.translateGroupGraphPattern(algebra.traverse(group, visitPost=algebra.translatePath))
    simplified: CompValue = algebra.traverse(group, visitPost=algebra.simplify)
    return simplified


def _negated(literal: rdflib.Literal) -> rdflib.Literal:
    return rdflib.Literal(f"-{literal}", datatype=literal.datatype)


def _as_written(l_: Iterable[Any]) -> list[Any]:
    return list(l_)


def _innermost(expression: Any) -> Any:
    """What an expression is, out of the chain of grammar rules that it went through."""
    while isinstance(expression, CompValue) and expression.name in _RULES and list(expression) == ["expr"]:
        expression = expression.expr
    return expression


def _is_literal(expression: Any) -> bool:
    return isinstance(expression, rdflib.Literal) or (
        isinstance(expression, CompValue) and expression.name == "literal"
    )


def _nodes(node: Any) -> Iterator[CompValue]:
    if isinstance(node, CompValue):
        yield node
        for child in node.values():
            yield from _nodes(child)
    elif isinstance(node, list) or hasattr(node, "asList"):
        for child in node:
            yield from _nodes(child)
