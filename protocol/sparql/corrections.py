"""Queries written so that Oxigraph gives the answer of the standard where it would give another one.

Each correction is a rewriting whose result has, by the standard itself, the meaning of the original; a query
without the construct is left as it is, to the letter. Known of Oxigraph 0.5:

- it reads no prefixed name with full stops in two places after its colon, ``:v1.2.3``, and where it finds a way takes
  what follows the second one for another triple (Query section 19.8, rule 169);
- it knows ``true`` and ``false`` in lower case only (Query section 19.8, note 1: keywords have no case);
- GROUP_CONCAT is an error for what is no string, and of literals with one language keeps it (section 18.5.1.7: what it
  concatenates are strings, and the result is a simple literal);
- it evaluates ``GRAPH ?g {…}`` once, with ?g as a variable of the patterns in it, and not graph by graph
  (section 18.6, evaluation of Graph), which differs where the group has a subquery or MINUS, or names ?g;
- where it goes solution by solution, it knows their variables in MINUS too, and takes them for shared (section 18.5,
  Minus: shared are those of the two sides, whatever is bound outside of both).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from protocol.errors import UnsupportedFeature
from protocol.sparql.source import error_at, spliced
from protocol.sparql.tokens import Token, TokenKind, closings, tokenize, tokens

MAXIMUM_GRAPHS = 200
"""Over so many named graphs at most is a GRAPH written out graph by graph."""

MAXIMUM_COPIES = 10_000
"""So many copies of groups at most has a query with its GRAPHs written out: one within another multiplies them."""

_ALWAYS = frozenset({"SELECT", "MINUS"})
_IF_NAMED = frozenset({"OPTIONAL", "FILTER", "BIND", "VALUES", "UNION", "SERVICE", "GRAPH"})


_NAMED = r"\w%\u0080-\U0010ffff-"
_AFTER_COLON = rf"(?:[{_NAMED}]|\\.)*+\.(?:[{_NAMED}:.]|\\.)*\.(?:[{_NAMED}:]|\\.)"
_PERHAPS_FULL_STOPS = re.compile(f":{_AFTER_COLON}")
_FULL_STOPS = re.compile(
    rf"(?:(?<![\w.<:%\\-])|(?<=<)(?![^<>\"{{}}|^`\\\s]*>))[{_NAMED}.]*+:(?:(?:[{_NAMED}]|\\.)*+:)*+{_AFTER_COLON}"
)
"""Of what may be a name with two of them; not where an IRI begins, of which an update may have a million."""
_OTHER_BOOLEAN = re.compile(r"(?<![^\W\d])(?!true\b|false\b)(?i:true|false)\b")
_FULL_STOP = re.compile(r"\\.|(?P<plain>\.)")


def corrected(text: str, named_graphs: Callable[[], Sequence[str]]) -> str:
    """The query, rewritten where it has to be. ``named_graphs`` gives the IRIs of its dataset's named graphs.

    Raises UnsupportedFeature, with the place, for a GRAPH that would have to be written out for too many graphs.
    """
    text = readable(text)
    folded = text.casefold()
    if "group_concat" in folded:
        text = simple_group_concat(text)
    if "graph" in folded:
        text = graph_by_graph(text, named_graphs)
    if "minus" in folded:
        text = own_variables_in_minus(text)
    return text


def readable(text: str) -> str:
    """A query or an update whose names and booleans are written so that Oxigraph reads them."""
    text = readable_names(text)
    return lower_case_booleans(text) if _OTHER_BOOLEAN.search(text) else text


def readable_names(text: str) -> str:
    r"""``:v1\.2\.3`` for ``:v1.2.3``, which is the same name."""
    return spliced(text, [(place, place, "\\") for place in escapes_of_names(text)])


def escapes_of_names(text: str) -> list[int]:
    """The offsets at which ``readable_names`` adds a character."""
    if _PERHAPS_FULL_STOPS.search(text) is None or _FULL_STOPS.search(text) is None:
        return []
    places: list[int] = []
    for token in tokens(text):
        if token.kind is TokenKind.PREFIXED_NAME and token.text.count(".") > 1:
            colon = token.text.index(":")
            stops = [found.start() for found in _FULL_STOP.finditer(token.text, colon) if found["plain"]]
            places += [token.start + stop for stop in stops] if len(stops) > 1 else []
    return places


def lower_case_booleans(text: str) -> str:
    """TRUE and FALSE, however they are written, in lower case; nothing else moves."""
    found = [token for token in tokens(text) if token.word in ("TRUE", "FALSE")]
    return spliced(text, [(token.start, token.end, token.text.lower()) for token in found])


def simple_group_concat(text: str) -> str:
    """``GROUP_CONCAT(STR(e))`` for each ``GROUP_CONCAT(e)``. DISTINCT is about the terms: there strings with a language
    stay what they are, and the whole is made a simple literal.
    """
    found = tokenize(text)[:-1]
    edits: list[tuple[int, int, str]] = []
    for index, (name, opening) in enumerate(pairwise(found)):
        if name.word != "GROUP_CONCAT" or opening.text != "(":
            continue
        end = _closing(found, index + 1)
        distinct = found[index + 2 : index + 3] and found[index + 2].word == "DISTINCT"
        first, last = _argument(found, index + (3 if distinct else 2))
        if end is None or last < first:
            continue
        start, stop = found[first].start, found[last].end
        if distinct:
            argument = text[start:stop]
            edits += [(name.start, name.start, "STR("), (end, end, ")")]
            edits += [(start, start, f"IF(isLITERAL({argument}) && LANG({argument}) != '', ")]
            edits += [(stop, stop, f", STR({argument}))")]
        else:
            edits += [(start, start, "STR("), (stop, stop, ")")]
    return spliced(text, sorted(edits))


def graph_by_graph(text: str, named_graphs: Callable[[], Sequence[str]]) -> str:
    """``GRAPH ?g {P}`` as the union over the named graphs g of ``{ GRAPH <g> {P} VALUES ?g {<g>} }``.

    Only where P has a subquery or MINUS, or names ?g in more than triple patterns.
    """
    return _GraphByGraph(text, named_graphs).written()


class _GraphByGraph:
    def __init__(self, text: str, named_graphs: Callable[[], Sequence[str]]) -> None:
        self._text = text
        self._found = tokenize(text)[:-1]
        self._closed = closings(self._found)
        self._named_graphs = named_graphs

    @cached_property
    def _names(self) -> Sequence[str]:
        return list(dict.fromkeys(self._named_graphs()))

    def written(self) -> str:
        edits, _ = self._edits(0, len(self._found))
        return spliced(self._text, edits)

    def _edits(self, index: int, end: int) -> tuple[list[tuple[int, int, str]], int]:
        """What is written in other words from one token to another, and how many copies of groups that takes."""
        edits: list[tuple[int, int, str]] = []
        copies = 0
        while index < end - 2:
            graph, variable = self._found[index : index + 2]
            close = self._group_end(index)
            if graph.word == "SERVICE" and close is not None:
                index = close + 1  # which graphs there are is for the service to say
                continue
            if (
                graph.word != "GRAPH"
                or variable.kind is not TokenKind.VARIABLE
                or close is None  # for the parser to refuse
                or not self._differs(index, close)
            ):
                index += 1
                continue
            if len(self._names) > MAXIMUM_GRAPHS:
                raise self._too_many(index, f"at most {MAXIMUM_GRAPHS} named graphs, and there are {len(self._names)}")
            inner, copies_inside = self._edits(index + 3, close)
            copies += len(self._names) * (1 + copies_inside)
            if copies > MAXIMUM_COPIES:
                several = f"at most {MAXIMUM_COPIES} groups, counting those within each other"
                raise self._too_many(index, f"{several}, and {len(self._names)} named graphs make more of this query")
            group = _part(self._text, self._found[index + 2].end, self._found[close].start, inner)
            edits.append((graph.start, self._found[close].end, _union(variable.text, group, self._names)))
            index = close + 1
        return edits, copies

    def _group_end(self, index: int) -> int | None:
        """The index of the bracket that closes the group of a GRAPH or SERVICE."""
        silent = index + 1 < len(self._found) and self._found[index + 1].word == "SILENT"
        return self._closed.get(index + 2 + silent)

    def _differs(self, index: int, close: int) -> bool:
        """Whether the group of this GRAPH is to be evaluated graph by graph."""
        variable = self._found[index + 1].text[1:]
        named = special = False
        elsewhere = told = 0
        for place in range(index + 3, close):
            token = self._found[place]
            if token.word in ("GRAPH", "SERVICE"):
                # Another GRAPH is evaluated in graphs of its own, and SERVICE elsewhere.
                end = self._group_end(place) or 0
                elsewhere = max(elsewhere, end)
                if token.word == "GRAPH" and end == place + 3 and self._found[place + 1].text[1:] == variable:
                    told = end  # GRAPH ?g {}, which says no more than which graph it is
            if place <= told:
                continue
            if token.word in _ALWAYS and place > elsewhere:
                return True
            special = special or token.text == "{" or token.word in _IF_NAMED
            named = named or (token.kind is TokenKind.VARIABLE and token.text[1:] == variable)
        return named and special

    def _too_many(self, index: int, over: str) -> UnsupportedFeature:
        graph, variable = self._found[index : index + 2]
        return error_at(
            UnsupportedFeature,
            f"GRAPH {variable.text} with a subquery, with MINUS, or with {variable.text} in more than triple "
            f"patterns is evaluated over {over}: name fewer with FROM NAMED, or write what concerns {variable.text} "
            "outside of the group",
            self._text,
            graph.start,
        )


def own_variables_in_minus(text: str) -> str:
    """``A MINUS {B}`` with other names in B for variables that are not in A, where they are anywhere else; and without
    a solution of B where A has none of its variables.

    Not inside of EXISTS, where a variable stands for the term that is bound outside (section 18.6, substitute).
    """
    found = tokenize(text)[:-1]
    closed = closings(found)
    places: dict[str, list[int]] = {}
    for index, token in enumerate(found):
        if token.kind is TokenKind.VARIABLE:
            places.setdefault(token.text[1:], []).append(index)
    names: dict[int, tuple[int, int, str]] = {}
    nothing: list[tuple[int, int, str]] = []
    for group, index in _minuses(found):
        end = closed.get(index + 1)
        if end is None:
            continue  # for the parser to refuse
        shared = False
        for one in found[index:end]:
            if one.kind is not TokenKind.VARIABLE:
                continue
            name = one.text[1:]
            mentions = places[name]
            if bisect_left(mentions, group) < bisect_left(mentions, index):
                shared = True  # it is in A
            elif mentions[0] < index or mentions[-1] > end:
                fresh = _fresh(f"{name}_{index}", places)
                names.setdefault(one.start, (one.start, one.end, f"?{fresh}"))
        if not shared:
            opening, close = found[index + 1], found[end]
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


def _fresh(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _part(text: str, start: int, end: int, edits: Sequence[tuple[int, int, str]]) -> str:
    """A part of the text with the edits that are in it."""
    return spliced(text[start:end], [(first - start, last - start, instead) for first, last, instead in edits])


def _union(variable: str, group: str, names: Sequence[str]) -> str:
    if not names:
        # Nothing, with the group's variables still in scope.
        return f"{{ GRAPH {variable} {{{group}}} VALUES {variable} {{}} }}"
    # Each with labels of its own: a label must not be in two groups (section 5.1.1).
    labels = [token.end for token in tokens(group) if token.kind is TokenKind.BLANK_NODE] if "_:" in group else []
    copies = (
        f"{{ GRAPH <{name}> {{{spliced(group, ((end, end, f'_graph{number}') for end in labels))}}} "
        f"VALUES {variable} {{ <{name}> }} }}"
        for number, name in enumerate(names)
    )
    return f"{{ {' UNION '.join(copies)} }}"


def _argument(found: Sequence[Token], first: int) -> tuple[int, int]:
    """The first and last token of an argument, which a semicolon or the parenthesis around it ends."""
    depth = 0
    for index in range(first, len(found)):
        shown = found[index].text
        if depth == 0 and shown in (";", ")"):
            return first, index - 1
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(shown, 0)
    return first, first - 1


def _closing(found: Sequence[Token], opening: int) -> int | None:
    """The end of the parenthesis that closes this one."""
    depth = 0
    for index in range(opening, len(found)):
        depth += {"(": 1, ")": -1}.get(found[index].text, 0)
        if depth == 0:
            return found[index].end
    return None
