"""A query has one answer, over a window and one-shot, where Oxigraph alone would give another.

Contents, the same on both sides, and queries are generated: SELECT * and the order of its variables, paths of length
zero and alternatives at terms that the graph has or has not, sums of times and durations, MIN and MAX of what can be
compared.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.spark_backend.compiler.generated.terms import LITERALS, SUBJECTS, graphs, literals
from tests.spark_backend.compiler.one_shot import Content, assert_same_solutions, continuous, one_shot

TIMES = (
    "'2020-01-31T00:00:00Z'^^xsd:dateTime",
    "'2020-01-31T23:30:00'^^xsd:dateTime",
    "'2020-02-29'^^xsd:date",
    "'2020-02-29+02:00'^^xsd:date",
    "'23:30:00Z'^^xsd:time",
)
DURATIONS = (
    "'PT1H30M'^^xsd:dayTimeDuration",
    "'-P1D'^^xsd:dayTimeDuration",
    "'P1M'^^xsd:yearMonthDuration",
    "'P1Y1M'^^xsd:duration",
    "'P2D'^^xsd:duration",
)
COMPARABLE = (
    tuple(term for term in LITERALS if term[0] in "-0123456789" or "xsd:double" in term or "xsd:decimal" in term),
    ("'s'", "'t'", "'s t'", "''", "'1'"),
    ("'2020-01-01T00:00:00Z'^^xsd:dateTime", "'2020-01-01T01:30:00+01:00'^^xsd:dateTime"),
    ("true", "false"),
    (":i", ":j"),
)
UNORDERED = ("'NaN'^^xsd:double", "'-0'^^xsd:double")
"""Which are not less than a number, nor greater, and are another term."""

_times = st.sampled_from((*TIMES, *DURATIONS))
_ends = st.one_of(st.sampled_from((":x", ":y", ":nowhere")), literals)
_paths = st.sampled_from(
    (":p*", ":p?", "(:p|:q)*", "(:p?)?", ":p|:q", "^:p*", ":p*/:q", ":p/:q?", "(:p|:q?)+", "(:p*/:q?)+")
)
_names = st.permutations(("a", "b", "z", "y"))


def holding(terms: list[str]) -> Content:
    return Content({None: "".join(f":x :p {term} . " for term in terms)})


@given(st.lists(st.one_of(_times, literals), min_size=1, max_size=6), _names)
@settings(max_examples=40)
def test_sums_and_differences_of_anything_are_the_same_whatever_the_variables_are_called(
    terms: list[str], names: list[str]
) -> None:
    one, other = (f"?{name}" for name in names[:2])
    assert_same_solutions(
        f"SELECT {one} {other} ({one} + {other} AS ?sum) ({one} - {other} AS ?difference) ({one} + 1 + {other} AS ?m)"
        f" {{ ?s :p {one} . ?t :p {other} }}",
        holding(terms),
    )


@given(st.sampled_from(TIMES), st.sampled_from(DURATIONS))
@settings(max_examples=15)
def test_a_constant_time_and_a_constant_duration_have_a_sum_either_way(time: str, duration: str) -> None:
    text = f"SELECT ({time} + {duration} AS ?a) ({duration} + {time} AS ?b) {{}}"
    (solution,) = one_shot(text, holding([]))
    if "xsd:time" not in time or not {"P1M", "P1Y1M"} & {duration[1:4], duration[1:6]}:
        assert str(solution["a"]) == str(solution["b"]) != "None"
    assert_same_solutions(text, holding([]))


@given(st.sampled_from(COMPARABLE).flatmap(lambda terms: st.lists(st.sampled_from(terms), max_size=6)))
@settings(max_examples=40)
def test_the_least_and_the_greatest_of_what_can_be_compared(terms: list[str]) -> None:
    content = holding([term for term in terms if term not in UNORDERED])
    values = "BIND(IF(isNumeric(?o), xsd:double(?o), ?o) AS ?v)"  # equal numbers have several terms
    assert_same_solutions(f"SELECT (MIN(?v) AS ?least) (MAX(?v) AS ?greatest) {{ ?s :p ?o {values} }}", content)


@given(graphs, _ends, _paths, st.booleans(), st.sampled_from(("{}", "GRAPH ?g {{ {} }}", "GRAPH :w {{ {} }}")))
@settings(max_examples=80)
def test_a_path_begins_and_ends_at_any_term(graph: str, end: str, path: str, last: bool, group: str) -> None:
    pattern = f"?v {path} {end}" if last or end[0] != ":" else f"{end} {path} ?v"
    content = Content({None: graph, "http://ex/w": graph})
    # The harness asks Oxigraph of one named graph by its name, as the endpoint does (``protocol.sparql.corrections``).
    asked = group.replace("GRAPH ?g", "GRAPH :w").format(pattern)
    named = "VALUES ?g { :w }" if "?g" in group else ""
    text, oracle = (f"SELECT {'?g ' * bool(named)}?v {{ {one} }}" for one in (group.format(pattern), asked + named))
    assert_same_solutions(text, content, oracle=oracle)


@given(_names, st.sampled_from(SUBJECTS[:3]), st.sampled_from(("", "DISTINCT ", "REDUCED ")))
@settings(max_examples=30)
def test_a_star_selects_variables_in_the_order_in_which_they_appear(
    names: list[str], subject: str, distinct: str
) -> None:
    one, two, three, four = (f"?{name}" for name in names)
    text = (
        f"SELECT {distinct}* {{ {{ SELECT {two} {one} (COUNT(*) AS ?n) {{ {one} ?not {two} }} GROUP BY {one} {two} }}"
        f" OPTIONAL {{ {subject} {three} {one} . FILTER EXISTS {{ ?asked :p {four} }} }} BIND(1 AS {four}) }}"
    )
    content = holding(["1"])
    variables = [variable.value for variable in one_shot(text, content).variables]
    assert variables == [variable.name for variable in continuous(text, content).expression.variables]
    assert variables == [two[1:], one[1:], "n", three[1:], four[1:]]
