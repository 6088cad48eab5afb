"""Generated queries for the comparison with the one-shot engine; ``contents`` are datasets they are asked of.

``queries`` are SELECT queries whose solutions are one multiset, ``ordered_queries`` such whose solutions are one
sequence, ``asks`` and ``constructs`` are those. All operators, some patterns in some levels. Left out is where Oxigraph
departs from the standard (test_deviations.py, test_property_paths.py, test_exists.py), or that leaves the answer open.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.spark_backend.compiler.generated.expressions import expressions, variables
from tests.spark_backend.compiler.generated.terms import PREDICATES, constants, contents

__all__ = ["asks", "constructs", "contents", "expressions", "groups", "ordered_queries", "queries"]

GRAPHS = (":w1", ":w2", ":g1")
# :g1 is always a graph: of one that is not, Oxigraph departs from the standard (test_deviations.py).
_DATASETS = ("", "", "", "", "FROM <http://ex/g1> FROM NAMED <http://ex/g1> ", "FROM NAMED <http://ex/g1> ")

_patterns = st.tuples(
    st.one_of(variables, variables, st.sampled_from((":x", ":y"))),
    st.one_of(st.sampled_from(PREDICATES), st.sampled_from(PREDICATES), variables),
    st.one_of(variables, variables, variables, constants, st.sampled_from(("[]", "[ :q ?b ]"))),
).map(" ".join)
# Where Oxigraph follows the standard: alternatives in sets only, no constant at the end of a path of length zero.
_sets = st.sampled_from((":p+", "(:p|:q)+", "(:p/:q)+", "(^:p)+", "(:p|^:r)+", "(!:p)+", "(:p/(:q|:r)+)+"))
_paths = st.one_of(
    st.tuples(
        variables,
        st.one_of(_sets, st.sampled_from((":p/:q", "^:p/:q", ":p/^:p", "!:p", "!(:p|:q)", "!^:r", ":p+/:q"))),
        st.one_of(variables, constants),
    ),
    st.tuples(st.sampled_from((":x", ":y")), _sets, variables),
    st.tuples(variables, st.sampled_from((":p*", "(:p|:q)*", "^:p?", "(:p/:q)?", "(!:r)*", ":p*/:q")), variables),
).map(" ".join)
_blocks = st.lists(st.one_of(_patterns, _patterns, _patterns, _paths), min_size=1, max_size=3).map(" . ".join)

_places = st.one_of(constants, st.just("UNDEF"))
_values = st.one_of(
    st.builds(
        lambda variable, rows: f"VALUES {variable} {{ {' '.join(rows)} }}",
        variables,
        st.lists(_places, min_size=1, max_size=3),
    ),
    st.builds(
        lambda rows: f"VALUES (?a ?b) {{ {' '.join(f'({one} {other})' for one, other in rows)} }}",
        st.lists(st.tuples(_places, _places), min_size=1, max_size=3),
    ),
)
_aggregates = st.builds(
    str.format,
    st.sampled_from(
        (
            "COUNT(*)",
            "COUNT({})",
            "SUM({})",
            "AVG({})",
            # Among values that have an order, and whichever of the same value.
            "xsd:double(MIN(IF(isNumeric({0}) && {0} = {0}, {0}, 0))) + 0e0",
            "xsd:double(MAX(IF(isNumeric({0}) && {0} = {0}, {0}, 0))) + 0e0",
            "MAX(STR({}))",
            "COUNT(DISTINCT {})",
            "SUM(DISTINCT {})",
            "AVG(DISTINCT {})",
            "COUNT(DISTINCT *)",
            # The order of what is concatenated is nobody's.
            "STRLEN(GROUP_CONCAT(STR({}); separator='; '))",
            "STRLEN(GROUP_CONCAT(DISTINCT {}))",
            "SUM({}) + COUNT(*)",
        )
    ),
    st.one_of(variables, expressions),
)
_some_variables = st.lists(variables, unique=True, max_size=2)
_slices = st.sampled_from(("LIMIT 1", "LIMIT 2", "LIMIT 0", "OFFSET 1", "LIMIT 2 OFFSET 1", "LIMIT 9 OFFSET 2"))


def _grouped(group: str, keys: list[str], aggregates: list[str], having: str) -> str:
    """A SELECT of groups: HAVING is an expression over aggregates and keys, or empty."""
    listed = " ".join(keys)
    selected = " ".join(f"({aggregate} AS ?n{place})" for place, aggregate in enumerate(aggregates))
    by = f" GROUP BY {listed}" if keys else ""
    return f"SELECT {listed} {selected} {{ {group} }}{by}{f' HAVING({having})' if having else ''}"


def _grouped_by_value(group: str, key: str, aggregate: str) -> str:
    return f"SELECT ?k ({aggregate} AS ?n0) {{ {group} }} GROUP BY ({key} AS ?k)"


def _having() -> st.SearchStrategy[str]:
    comparison = st.builds("{} {} {}".format, _aggregates, st.sampled_from(("=", "!=", "<", ">=")), constants)
    return st.one_of(st.just(""), st.just(""), st.just("COUNT(*) > 1"), comparison)


def _grouping(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(_grouped, children, _some_variables, st.lists(_aggregates, min_size=1, max_size=2), _having())


def _sub_selects(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(
            lambda modifier, listed, group: f"SELECT {modifier} {' '.join(listed) or '?a'} {{ {group} }}",
            st.sampled_from(("", "DISTINCT")),
            _some_variables,
            children,
        ),
        st.builds("SELECT ?a ({} AS ?e) {{ {} }}".format, expressions, children),
        st.builds("SELECT DISTINCT ?a ?b {{ SELECT REDUCED ?a ?b {{ {} }} }}".format, children),
        # Which solutions are left is nobody's, how many is.
        st.builds("SELECT (COUNT(*) AS ?n0) {{ SELECT ?a ?b {{ {} }} {} }}".format, children, _slices),
        st.builds("SELECT (COUNT(*) AS ?n0) {{ SELECT DISTINCT ?b {{ {} }} {} }}".format, children, _slices),
        _grouping(children),
    )


# Inside of EXISTS Oxigraph departs from the standard in MINUS and in paths of length zero (test_exists.py).
_inside = st.one_of(
    st.lists(_patterns, min_size=1, max_size=2).map(" . ".join),
    st.builds("{} FILTER({})".format, _patterns, expressions),
    st.builds("{} OPTIONAL {{ {} }}".format, _patterns, _patterns),
    st.builds("{} OPTIONAL {{ {} FILTER({}) }}".format, _patterns, _patterns, expressions),
    st.builds("{{ {} }} UNION {{ {} FILTER({}) }}".format, _patterns, _patterns, expressions),
    st.builds("GRAPH :w1 {{ {} FILTER({}) }}".format, _patterns, expressions),
    st.builds("{} FILTER NOT EXISTS {{ {} FILTER({}) }}".format, _patterns, _patterns, expressions),
    st.tuples(variables, _sets, variables).map(" ".join),
)
_any_paths = st.tuples(
    variables, st.sampled_from((":p?", "^:p?", "(:p|:q)?", ":p?/:q", ":q/:p?", "(:p|:r)?/:q", ":p*")), variables
).map(" ".join)
asked_paths = st.builds(
    "SELECT * {{ {} FILTER {} {{ {} }} }}".format,
    _blocks,
    st.sampled_from(("EXISTS", "NOT EXISTS")),
    st.lists(st.one_of(_any_paths, _patterns), min_size=1, max_size=3).map(" . ".join),
)
"""Queries with paths of length zero inside of EXISTS: for comparisons without Oxigraph."""

_exists = st.builds("{} {{ {} }}".format, st.sampled_from(("EXISTS", "NOT EXISTS")), _inside)


def _groups(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    nested = children.map(lambda group: f"{{ {group} }}")
    return st.one_of(
        st.builds("{} {}".format, nested, nested),
        st.builds("{} {}".format, nested, _blocks),
        st.builds("{} {}".format, nested, _values),
        st.builds("{} OPTIONAL {}".format, children, nested),
        st.builds(
            lambda left, right, condition: f"{left} OPTIONAL {{ {right} FILTER({condition}) }}",
            children,
            children,
            expressions,
        ),
        st.builds(
            lambda left, right, condition: f"{left} OPTIONAL {{ {right} FILTER {condition} }}",
            children,
            _patterns,
            _exists,
        ),
        st.builds("{} UNION {}".format, nested, nested),
        st.builds("{} MINUS {}".format, children, nested),
        st.builds("{} FILTER({})".format, children, expressions),
        st.builds("{{ {} }} BIND({} AS ?d)".format, children, expressions),
        st.builds("{{ {} FILTER {} }}".format, children, _exists),
        st.builds(
            "{{ {} FILTER({} {} {}) }}".format, children, _exists, st.sampled_from(("||", "&&", "=")), expressions
        ),
        st.builds("{{ {} }} BIND({} AS ?d)".format, children, _exists),
        st.builds("GRAPH {} {}".format, st.sampled_from(GRAPHS), nested),
        st.builds("GRAPH ?g {{ {} }}".format, children),
        _sub_selects(children).map("{{ {} }}".format),
    )


groups = st.recursive(st.one_of(_blocks, _blocks, _values), _groups, max_leaves=5)
"""Group graph patterns without their braces."""


def _of_dataset(select: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Queries with a dataset clause before the first brace."""
    return st.builds(lambda text, clause: text.replace("{", f"{clause}{{", 1), select, st.sampled_from(_DATASETS))


queries = _of_dataset(
    st.one_of(
        st.builds("SELECT * {{ {} }}".format, groups),
        st.builds("SELECT * {{ {} }}".format, groups),
        st.builds("SELECT DISTINCT ?a ?b ?d {{ {} }}".format, groups),
        _sub_selects(groups),
        # Once in a query: of a key that the pattern binds already the standard says nothing.
        st.builds(_grouped_by_value, groups, expressions, _aggregates),
    )
)
"""SELECT queries, of which any order of solutions will do."""

_KEYS = "STR({0}) DATATYPE({0})"
"""What tells the literals of one value apart."""
_CLASSES = (
    "isNumeric({0}) || isIRI({0})",
    "DATATYPE({0}) = xsd:string || isIRI({0})",
    "DATATYPE({0}) = xsd:dateTime && TZ({0}) != ''",
    "{0} IN (true, false)",
)
"""What has an order among itself, by 15.1 and 17.3; blank nodes and other literals come in anybody's order."""


def _in_order(modifier: str, group: str, listed: list[str], among: str, descending: bool, cut: str) -> str:
    """Projected is what is ordered by, so that ties are the same solutions."""
    names = " ".join(listed)
    first = f"DESC({listed[0]})" if descending else listed[0]
    keys = " ".join([first, *listed[1:], *map(_KEYS.format, listed)])
    only = " && ".join(f"COALESCE({among.format(variable)}, !BOUND({variable}))" for variable in listed)
    return f"SELECT {modifier} {names} {{ {{ {group} }} FILTER({only}) }} ORDER BY {keys} {cut}"


# What matches little has no order.
_much = st.sampled_from(("?a ?b ?c", "GRAPH ?g { ?b ?d ?a }"))
_matched = st.one_of(_much, _much, groups)
_ordering = (
    _matched,
    st.lists(st.one_of(variables, variables, st.just("?g")), unique=True, min_size=1, max_size=2),
    st.sampled_from(_CLASSES),
    st.booleans(),
    st.one_of(st.just(""), _slices),
)


def _in_order_again(group: str, listed: list[str], among: str, descending: bool, cut: str, again: str) -> str:
    """A sequence of what is left of another one, the other way round."""
    first = _in_order("", group, listed, among, descending, cut)
    return _in_order(again, f"{{ {first} }}", listed, among, not descending, "")


ordered_queries = _of_dataset(
    st.builds(_in_order, st.sampled_from(("", "DISTINCT")), *_ordering)
    | st.builds(_in_order_again, *_ordering, st.sampled_from(("", "", "DISTINCT")))
)
"""SELECT queries whose solutions come in one order only."""

asks = _of_dataset(st.builds("ASK {{ {} }}".format, groups))

_TEMPLATES = (
    "?a :made ?b",
    "?a :made ?b . ?b ?c ?a",
    "?c ?a 'x'",
    "?a :made :x . :y :made ?d",
)
constructs = st.builds(
    "CONSTRUCT {{ {} }} {}WHERE {{ {} }}".format, st.sampled_from(_TEMPLATES), st.sampled_from(_DATASETS), groups
)
"""CONSTRUCT queries whose templates make no blank nodes."""
