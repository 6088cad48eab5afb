"""Small queries over any windows: as RSP-QL for the engine, and as standard SPARQL over named graphs for the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conformance.rsp.oracle import OracleQuery, Triple, Window

EX = "http://ex/"
VALUE, KNOWS, LABEL, SEEN = (f"<{EX}{name}>" for name in ("value", "knows", "label", "seen"))
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@dataclass(frozen=True)
class Shape:
    """A query but for its windows.

    ``body`` is given two functions that put a pattern into the first and into the last of the windows;
    ``select`` is what stands before the dataset, ``modifiers`` what stands behind the pattern.
    """

    name: str
    select: str
    body: Callable[[Callable[[str], str], Callable[[str], str]], str]
    modifiers: str = ""
    template: tuple[Triple, ...] | None = None
    ordered: bool = False
    needs_named: bool = False


_VALUES = f"?s {VALUE} ?x"
_KNOWS = f"?s {KNOWS} ?o"

SHAPES = (
    Shape("bgp", "SELECT ?s ?x", lambda first, last: first(_VALUES)),
    Shape("multiplicities", "SELECT ?s", lambda first, last: first("?s ?p ?x")),
    Shape("join", "SELECT *", lambda first, last: first(_VALUES) + last(_KNOWS)),
    Shape("path of two windows", "SELECT ?s ?x", lambda first, last: first(_KNOWS) + last(f"?o {VALUE} ?x")),
    Shape("optional", "SELECT *", lambda first, last: first(_VALUES) + f"OPTIONAL {{ {last(_KNOWS)} }}"),
    Shape("union", "SELECT *", lambda first, last: f"{{ {first(_VALUES)} }} UNION {{ {last(_KNOWS)} }}"),
    Shape("minus", "SELECT *", lambda first, last: first(_VALUES) + f"MINUS {{ {last(_KNOWS)} }}"),
    Shape("filter", "SELECT *", lambda first, last: first(_VALUES) + "FILTER(?x > 2)"),
    Shape(
        "aggregates",
        "SELECT (COUNT(?x) AS ?n) (SUM(?x) AS ?sum) (MIN(?x) AS ?least)",
        lambda first, last: first(_VALUES),
    ),
    Shape(
        "groups",
        "SELECT ?s (COUNT(*) AS ?n) (SUM(?x) AS ?sum) (MAX(?x) AS ?most)",
        lambda first, last: first(_VALUES) + f"OPTIONAL {{ {last(_KNOWS)} }}",
        "GROUP BY ?s",
    ),
    Shape("distinct", "SELECT DISTINCT ?s", lambda first, last: first("?s ?p ?x")),
    Shape(
        "order and limit",
        "SELECT ?s ?x",
        lambda first, last: first(_VALUES),
        "ORDER BY DESC(?x) ?s LIMIT 2",
        ordered=True,
    ),
    Shape("ask", "ASK", lambda first, last: first(_VALUES) + last(_KNOWS)),
    Shape(
        "construct",
        "CONSTRUCT",
        lambda first, last: first("?s ?p ?x"),
        template=(("?s", SEEN, "?x"), (f"<{EX}all>", "?p", "?s")),
    ),
    Shape(
        "construct of a part",
        "CONSTRUCT",
        lambda first, last: first("?s ?p ?x"),
        template=(("?s", SEEN, f"<{EX}all>"),),
    ),
    Shape("any window", "SELECT ?w ?s ?x", lambda first, last: f"WINDOW ?w {{ {_VALUES} }} ", needs_named=True),
    Shape("average", "SELECT (AVG(?x) AS ?mean)", lambda first, last: first(_VALUES) + last(_KNOWS)),
    Shape(
        "having",
        "SELECT ?s (SUM(?x) AS ?sum)",
        lambda first, last: first(_VALUES),
        "GROUP BY ?s HAVING (COUNT(*) > 1)",
    ),
    Shape(
        "concatenation of distinct",
        'SELECT (GROUP_CONCAT(DISTINCT STR(?x); separator=" ") AS ?all)',
        lambda first, last: first(_VALUES),
        "GROUP BY ?s HAVING (COUNT(DISTINCT ?x) = 1)",
    ),
    Shape(
        "not exists",
        "SELECT ?s ?x",
        lambda first, last: first(_VALUES) + f"FILTER NOT EXISTS {{ {last(_KNOWS)} }}",
    ),
    Shape("bind", "SELECT ?s ?twice", lambda first, last: first(_VALUES) + "BIND(?x * 2 AS ?twice)"),
    Shape(
        "subquery",
        "SELECT ?s ?most ?o",
        lambda first, last: f"{{ SELECT ?s (MAX(?x) AS ?most) {{ {first(_VALUES)} }} GROUP BY ?s }} {last(_KNOWS)}",
    ),
    Shape("path", "SELECT ?s ?o", lambda first, last: first(f"?s {KNOWS}/{KNOWS}* ?o")),
    Shape(
        "values",
        "SELECT ?s ?x",
        lambda first, last: first(_VALUES) + f"VALUES (?s ?x) {{ (<{EX}s0> UNDEF) (<{EX}s1> 3) }}",
    ),
    Shape("static join", "SELECT ?s ?o ?label", lambda first, last: first(_KNOWS) + f" ?o {LABEL} ?label ."),
)


def build(shape: Shape, windows: Sequence[Window], operator: str | None) -> tuple[str, OracleQuery]:
    """The RSP-QL text and the oracle's query. ``operator`` None: none is written."""
    named = [window.graph for window in windows if window.graph is not None]

    def inside(window: Window, keyword: str) -> Callable[[str], str]:
        return lambda pattern: f"{keyword} <{window.graph}> {{ {pattern} }} " if window.graph else f"{pattern} . "

    def body(keyword: str) -> str:
        return shape.body(inside(windows[0], keyword), inside(windows[-1], keyword))

    standard = body("GRAPH").replace("WINDOW ?w", "GRAPH ?w")
    if shape.needs_named:
        standard += f"FILTER(?w IN ({', '.join(f'<{graph}>' for graph in named)}))"
    written = " ".join(clause(window) for window in windows)
    select = shape.select if operator is None else shape.select.replace("SELECT", f"SELECT {operator}", 1)
    template = None
    if shape.template is not None:
        template = " . ".join(" ".join(triple) for triple in shape.template)
        select = f"CONSTRUCT {operator or ''} {{ {template} }}"
    text = f"{select} {written} WHERE {{ {body('WINDOW')} }} {shape.modifiers}"
    form = "SELECT *" if shape.template is not None else shape.select
    sparql = f"{form} WHERE {{ {standard} }} {shape.modifiers}"
    return text, OracleQuery(tuple(windows), sparql, operator or "RSTREAM", template, shape.ordered)


def clause(window: Window) -> str:
    """The dataset clause of a window."""
    stream = f"<{EX}{window.stream}>"
    if window.graph is None:
        head = f"FROM STREAM {stream}"
    elif window.graph == f"{EX}{window.stream}":
        head = f"FROM NAMED STREAM {stream}"
    else:
        head = f"FROM NAMED WINDOW <{window.graph}> ON {stream}"
    report = ""
    if window.strategies is not None:
        words = [f"PERIODIC {window.period}" if word == "PERIODIC" else word for word in sorted(window.strategies)]
        report = f" REPORT {' '.join(words)}"
    return f"{head} [{window.written}{report}]"
