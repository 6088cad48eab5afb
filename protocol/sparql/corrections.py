"""Queries written so that Oxigraph gives the answer of the standard where it would give another one.

Each correction is a rewriting whose result has, by the standard itself, the meaning of the original; a query
without the construct is left as it is, to the letter. Known of Oxigraph 0.5:

- it knows ``true`` and ``false`` in lower case only (Query section 19.8, note 1: keywords have no case);
- GROUP_CONCAT of literals with one language keeps it (section 18.5.1.7: the result is a simple literal);
- it evaluates ``GRAPH ?g {…}`` once, with ?g as a variable of the patterns in it, and not graph by graph
  (section 18.6, evaluation of Graph), which differs where the group has a subquery or MINUS, or names ?g;
- where it goes solution by solution, it knows their variables in MINUS too, and takes them for shared (section 18.5,
  Minus: shared are those of the two sides, whatever is bound outside of both).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise

from protocol.errors import UnsupportedFeature
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, closing, tokenize, tokens

MAXIMUM_GRAPHS = 200
"""Over so many named graphs at most is a GRAPH written out graph by graph."""

_ALWAYS = frozenset({"SELECT", "MINUS"})
_IF_NAMED = frozenset({"OPTIONAL", "FILTER", "BIND", "VALUES", "UNION", "SERVICE", "GRAPH"})


def corrected(text: str, named_graphs: Callable[[], Sequence[str]]) -> str:
    """The query, rewritten where it has to be. ``named_graphs`` gives the IRIs of its dataset's named graphs.

    Raises UnsupportedFeature, with the place, for a GRAPH that would have to be written out for too many graphs.
    """
    folded = text.casefold()
    if "true" in folded or "false" in folded:
        text = lower_case_booleans(text)
    if "group_concat" in folded:
        text = simple_group_concat(text)
    if "graph" in folded:
        text = graph_by_graph(text, named_graphs)
    if "minus" in folded:
        text = own_variables_in_minus(text)
    return text


def lower_case_booleans(text: str) -> str:
    """TRUE and FALSE, however they are written, in lower case; nothing else moves."""
    found = [token for token in tokens(text) if token.word in ("TRUE", "FALSE")]
    return spliced(text, [(token.start, token.end, token.text.lower()) for token in found])


def simple_group_concat(text: str) -> str:
    """STR(GROUP_CONCAT(…)) for each GROUP_CONCAT(…): of a simple literal STR is the literal itself."""
    found = tokenize(text)[:-1]
    edits: list[tuple[int, int, str]] = []
    for index, (name, opening) in enumerate(pairwise(found)):
        if name.word != "GROUP_CONCAT" or opening.text != "(":
            continue
        end = _closing(found, index + 1)
        if end is not None:
            edits += [(name.start, name.start, "STR("), (end, end, ")")]
    return spliced(text, sorted(edits))


def graph_by_graph(text: str, named_graphs: Callable[[], Sequence[str]]) -> str:
    """``GRAPH ?g {P}`` as the union over the named graphs g of ``{ GRAPH <g> {P} VALUES ?g {<g>} }``.

    Only where P has a subquery or MINUS, or names ?g in more than triple patterns.
    """
    found = tokenize(text)[:-1]
    edits: list[tuple[int, int, str]] = []
    done = 0
    for index in range(len(found) - 2):
        graph, variable, opening = found[index : index + 3]
        if (
            graph.start < done
            or graph.word != "GRAPH"
            or variable.kind is not TokenKind.VARIABLE
            or opening.text != "{"
        ):
            continue
        close = closing(found, index + 2)
        if close is None:
            continue  # for the parser to refuse
        inner = [token for token in found[index + 3 :] if token.end <= close.start]
        if not _differs(variable, inner):
            continue
        names = list(dict.fromkeys(named_graphs()))
        if len(names) > MAXIMUM_GRAPHS:
            raise error_at(
                UnsupportedFeature,
                f"GRAPH {variable.text} with a subquery, with MINUS, or with {variable.text} in more than triple "
                f"patterns is evaluated over at most {MAXIMUM_GRAPHS} named graphs, and there are {len(names)}: name "
                f"fewer with FROM NAMED, or write what concerns {variable.text} outside of the group",
                text,
                graph.start,
            )
        group = graph_by_graph(text[opening.end : close.start], named_graphs)
        edits.append((graph.start, close.end, _union(variable.text, group, names)))
        done = close.end
    return spliced(text, edits)


def own_variables_in_minus(text: str) -> str:
    """``A MINUS {B}`` with other names in B for variables that are not in A, where they are anywhere else; and without
    a solution of B where A has none of its variables.

    Not inside of EXISTS, where a variable stands for the term that is bound outside (section 18.6, substitute).
    """
    found = tokenize(text)[:-1]
    taken = _names(found)
    names: dict[int, tuple[int, int, str]] = {}
    nothing: list[tuple[int, int, str]] = []
    for group, index in _minuses(found):
        opening, close = found[index + 1], closing(found, index + 1)
        if close is None:
            continue  # for the parser to refuse
        end = found.index(close)
        left, inside = _names(found[group:index]), found[index:end]
        elsewhere = _names(found[:index]) | _names(found[end:])
        for one in inside:
            if one.kind is TokenKind.VARIABLE and one.text[1:] in elsewhere - left:
                fresh = _fresh(f"{one.text[1:]}_{index}", taken)
                names.setdefault(one.start, (one.start, one.end, f"?{fresh}"))
        if left.isdisjoint(_names(inside)):
            nothing += [(opening.end, opening.end, " {"), (close.start, close.start, "} FILTER(false) ")]
    return spliced(text, sorted([*names.values(), *nothing]))


def _minuses(found: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """The indexes of each MINUS before a group that is not inside of EXISTS, behind that of the group around it."""
    groups: list[tuple[int, bool]] = []
    for index, (token, following) in enumerate(pairwise(found)):
        if token.text == "{":
            asked = bool(groups and groups[-1][1]) or (index > 0 and found[index - 1].word == "EXISTS")
            groups.append((index, asked))
        elif token.text == "}" and groups:
            groups.pop()
        elif token.word == "MINUS" and following.text == "{" and groups and not groups[-1][1]:
            yield groups[-1][0], index


def _names(found: Sequence[Token]) -> set[str]:
    """The names of the variables."""
    return {token.text[1:] for token in found if token.kind is TokenKind.VARIABLE}


def _fresh(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _differs(variable: Token, group: Sequence[Token]) -> bool:
    keywords = {token.word for token in group}
    if keywords & _ALWAYS:
        return True
    named = any(token.kind is TokenKind.VARIABLE and token.text[1:] == variable.text[1:] for token in group)
    return named and (bool(keywords & _IF_NAMED) or any(token.text == "{" for token in group))


def _union(variable: str, group: str, names: Sequence[str]) -> str:
    if not names:
        # Nothing, with the group's variables still in scope.
        return f"{{ GRAPH {variable} {{{group}}} VALUES {variable} {{}} }}"
    return f"{{ {' UNION '.join(_of(variable, group, name, number) for number, name in enumerate(names))} }}"


def _of(variable: str, group: str, name: str, number: int) -> str:
    return f"{{ GRAPH <{name}> {{{_own_blank_nodes(group, number)}}} VALUES {variable} {{ <{name}> }} }}"


def _own_blank_nodes(group: str, number: int) -> str:
    """The group with other labels: a label must not be in two groups (section 5.1.1)."""
    found = [token for token in tokens(group) if token.kind is TokenKind.BLANK_NODE]
    return spliced(group, [(token.end, token.end, f"_graph{number}") for token in found])


def _closing(found: Sequence[Token], opening: int) -> int | None:
    """The end of the parenthesis that closes this one."""
    depth = 0
    for token in found[opening:]:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0:
            return token.end
    return None
