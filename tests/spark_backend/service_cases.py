"""Continuous queries with SERVICE, and what Oxigraph answers: windows and services are named graphs of one dataset."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pyoxigraph as ox

from protocol.functions.python_functions import NO_FUNCTIONS, PythonFunctions
from spark_backend.site import BY_SIZE, SiteChoice
from spark_backend.spark_sql.deferred import SparkSql
from tests.spark_backend.federated_endpoints import Endpoints, store
from tests.spark_backend.stepped_backend import Graphs, SteppedBackend

SENSORS = "http://other.example/sensors"
ROOMS = "http://other.example/rooms"
NOWHERE = "http://other.example/nowhere"
PREFIX = "PREFIX : <http://ex/> "
STREAM = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s] "

DATA = {
    SENSORS: """:a :in :kitchen ; :limit 20 . :b :in :cellar . :c :in :attic , :kitchen ; :limit 5 .
        :d :next [ :in :roof ] . :x :at <http://other.example/rooms> . :"""[:-1],
    ROOMS: """:kitchen :on 0 ; :name "Küche"@de , "a\\"b\\nc" . :cellar :on -1 . :attic :on 2.0 .""",
}
ELEMENTS = [
    (1000, ":a :t 21 . :b :t 4 ."),
    (3000, ":c :t 7 . [] :t 9 . :a :ask <http://other.example/rooms> ."),
    (6000, ":d :t 21 . :e :t 1 . :b :t 30 . :b :ask <http://other.example/sensors> ."),
    (11000, ":a :t 2 . :kitchen :t 3 ."),
    (16000, ":c :t 2 ."),
]
STATIC = [("", f"<http://ex/{name}>", "<http://ex/kind>", "<http://ex/K>") for name in "ac"]
JOINED = f"{PREFIX}SELECT * {STREAM}{{ WINDOW :w {{ ?s :t ?v }} SERVICE <{SENSORS}> {{ ?s :in ?r }} }}"


def backend(
    directory: Path,
    endpoints: Endpoints,
    sites: SiteChoice = BY_SIZE,
    spark_sql: SparkSql | None = None,
    functions: PythonFunctions = NO_FUNCTIONS,
) -> SteppedBackend:
    made = SteppedBackend(
        directory, Graphs(STATIC), endpoints=endpoints, sites=sites, spark_sql=spark_sql, functions=functions
    )
    if not made.backend.streams():
        made.event_stream("s", "http://ex/s")
    return made


def endpoints() -> Endpoints:
    return Endpoints({iri: store(turtle) for iri, turtle in DATA.items()})


def post_all(made: SteppedBackend) -> None:
    for at, turtle in ELEMENTS:
        made.post("s", f"{PREFIX}{turtle}", at)
    made.backend.end_stream("s")


def oracle(query: str, instant: int) -> Counter[str]:
    """What Oxigraph gives over the window's content at an instant, GRAPH in the place of SERVICE and WINDOW."""
    data = ox.Store()
    held = [turtle for at, turtle in ELEMENTS if instant - 10_000 < at <= instant]
    for turtle in held:
        data.load(f"{PREFIX}{turtle}".encode(), ox.RdfFormat.TURTLE, to_graph=ox.NamedNode("http://ex/w"))
    for iri, turtle in DATA.items():
        data.load(f"{PREFIX}{turtle}".encode(), ox.RdfFormat.TURTLE, to_graph=ox.NamedNode(iri))
    for _, s, p, o in STATIC:
        data.load(f"{s} {p} {o} .".encode(), ox.RdfFormat.TURTLE)
    asked = re.sub(r"SERVICE (SILENT )?", "GRAPH ", query.replace(STREAM, "").replace("WINDOW", "GRAPH"))
    answer = data.query(asked)
    assert isinstance(answer, ox.QuerySolutions)
    return solutions(json.loads(answer.serialize(format=ox.QueryResultsFormat.JSON) or b""))


def solutions(document: dict) -> Counter[str]:  # type: ignore[type-arg]  # JSON
    """The solutions, blank nodes all alike."""
    for row in document["results"]["bindings"]:
        for term in row.values():
            if term["type"] == "bnode":
                term["value"] = "b"
    return Counter(json.dumps(row, sort_keys=True) for row in document["results"]["bindings"])


QUERIES = {
    "joined": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :in ?r } }",
    "before": "SELECT * %s{ SERVICE <SENSORS> { ?s :in ?r } WINDOW :w { ?s :t ?v } }",
    "two": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :in ?r } SERVICE <ROOMS> { ?r :on ?n } }",
    "apart": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <ROOMS> { ?r :on ?n } }",
    "compared": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :limit ?n } FILTER(?v > ?n) }",
    "filtered": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :in ?r } FILTER(?v > 5) }",
    "optional": "SELECT * %s{ WINDOW :w { ?s :t ?v } OPTIONAL { SERVICE <SENSORS> { ?s :in ?r ; :limit ?n } } }",
    "optional inside": """SELECT * %s{ WINDOW :w { ?s :t ?v }
        SERVICE <SENSORS> { ?s :in ?r OPTIONAL { ?s :limit ?n } } }""",
    "optional bound": """SELECT * %s{ WINDOW :w { ?s :t ?v } OPTIONAL { ?s :kind ?k . SERVICE <SENSORS> { ?s :in ?r } }
        SERVICE <ROOMS> { ?r :on ?n } }""",
    "unbound": """SELECT * %s{ { WINDOW :w { ?s :t ?v } } UNION { WINDOW :w { ?x :t ?v } }
        SERVICE <SENSORS> { ?s :limit ?v } }""",
    "minus": "SELECT * %s{ WINDOW :w { ?s :t ?v } MINUS { SERVICE <SENSORS> { ?s :limit ?l } } }",
    "minus of": "SELECT * %s{ SERVICE <SENSORS> { ?s :in ?r } MINUS { WINDOW :w { ?s :t ?v } } }",
    "union": """SELECT * %s{ WINDOW :w { ?s :t ?v } { SERVICE <SENSORS> { ?s :in ?r } } UNION { ?s :kind ?r }
        UNION { SERVICE <SENSORS> { ?s :limit ?r } } }""",
    "static": "SELECT * %s{ ?s :kind ?k . WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :in ?r } }",
    "sub-select": """SELECT * %s{ WINDOW :w { ?s :t ?v } { SELECT ?r (COUNT(*) AS ?c) { WINDOW :w { ?s :t ?v }
        SERVICE <SENSORS> { ?s :in ?r } } GROUP BY ?r } }""",
    "hidden": "SELECT * %s{ WINDOW :w { ?s :t ?v } { SELECT ?r { SERVICE <SENSORS> { ?s :in ?r } } } }",
    "within": """SELECT * %s{ WINDOW :w { ?s :t ?v }
        SERVICE <SENSORS> { SELECT ?s (COUNT(?r) AS ?c) { ?s :in ?r } GROUP BY ?s } }""",
    "scoped": """SELECT * %s{ WINDOW :w { ?s :t ?v } { WINDOW :w { ?s :t ?x } SERVICE <SENSORS> { ?s :in ?r }
        FILTER(!BOUND(?v)) } }""",
    "aggregate": """SELECT ?r (AVG(?v) AS ?m) %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :in ?r } }
        GROUP BY ?r""",
    "exact text": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <ROOMS> { ?s :name ?name } }",
    "no variable": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <ROOMS> { :kitchen :on 0 } }",
    "blank node": "SELECT * %s{ WINDOW :w { ?s :t ?v } SERVICE <SENSORS> { ?s :next ?r . ?r :in ?i } }",
    "everything": "SELECT * %s{ WINDOW :w { ?s ?p ?o } SERVICE <SENSORS> { ?s ?q ?z FILTER(?q != :limit) } }",
    "address": "SELECT * %s{ WINDOW :w { ?s :ask ?e } SERVICE ?e { ?r :on ?n } }",
    "address of stream": "SELECT * %s{ WINDOW :w { ?s :ask ?e . ?s :t ?v } SERVICE SILENT ?e { ?s :in ?r } }",
    "in a graph": "SELECT * %s{ GRAPH ?g { ?s :t ?v SERVICE <SENSORS> { ?s :in ?r } } }",
}


def case(name: str) -> str:
    """The query of this name."""
    query = PREFIX + (QUERIES[name] % STREAM).replace("<SENSORS>", f"<{SENSORS}>").replace("<ROOMS>", f"<{ROOMS}>")
    # Of the graphs, only the window has what is matched.
    return query.replace("GRAPH ?g {", "GRAPH ?g { BIND(1 AS ?one)")
