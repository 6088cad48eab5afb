"""``timestamp(?v)``: the largest timestamp of the streamed triples that bind ?v in a solution
(docs/language.md, "Time in queries"), and ``getSTARTTIME()``: the largest of those matched in facts.

Behind each triple pattern of the query a BIND asks for the time of the triple it matched, in the graph it matched
it in; ``timestamp(?v)`` is the greatest of those whose pattern has ?v. An unmatched branch leaves its times unbound.
The patterns have to be written out, three terms each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from conformance.rsp.oracle.elements import Triple

TimestampFunction = Callable[..., ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None]

_READS = re.compile(r"\btimestamp\s*\(\s*(\?\w+)\s*\)|\bgetSTARTTIME\s*\(\s*\)", re.IGNORECASE)
_TOKEN = re.compile(
    r"""\s*(?P<graph>GRAPH\s+(?:<(?P<name>[^>]*)>|(?P<local>[\w.-]*:[\w./-]*)|\?\w+)\s*\{)
      | \s*(?P<expression>(?:FILTER|BIND|VALUES)\b)
      | \s*(?P<word>OPTIONAL|UNION|MINUS)\b
      | \s*(?P<brace>[{}.])
      | \s*(?P<term>\?\w+|<[^>]*>|"[^"]*"(?:\^\^\S+|@\w+)?|[\w.-]*:[\w./-]*|-?\d+(?:\.\d+)?|true|false|a)(?=[\s.}])""",
    re.IGNORECASE | re.VERBOSE,
)
FACTS = "urn:x-oracle:facts:"
"""What the names of graphs begin with that are of facts."""
_TIME, _LATEST = "urn:x-oracle:time:", "urn:x-oracle:latest"


@dataclass
class Timed:
    """A query that asks for times. ``graphs``: for each function's number the graph that it looks into."""

    text: str
    graphs: list[str | None] = field(default_factory=list)

    def functions(
        self, times: Mapping[str | None, Mapping[Triple, int]], date_time: Callable[[int], str]
    ) -> dict[ox.NamedNode, TimestampFunction]:
        """The query's functions over the times of the triples of each graph (None: the default graph)."""

        def time_in(graph: str | None) -> TimestampFunction:
            def time(*terms: object) -> ox.Literal | None:
                s, p, o = map(str, terms)
                found = times.get(graph, {}).get((s, p, o))
                return None if found is None else ox.Literal(found)

            return time

        def latest(*given: object) -> ox.Literal | None:
            known = [int(one.value) for one in given if isinstance(one, ox.Literal) and one.value]
            if not known:
                return None
            return ox.Literal(date_time(max(known)), datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#dateTime"))

        found = {ox.NamedNode(f"{_TIME}{number}"): time_in(graph) for number, graph in enumerate(self.graphs)}
        return {**found, ox.NamedNode(_LATEST): latest}


def with_times(sparql: str, prefixes: Mapping[str, str]) -> Timed | None:
    """The query with its times bound; None if it asks for none. ``prefixes``: as ``{"ex:": IRI}``."""
    if not _READS.search(sparql):
        return None
    timed = Timed("")
    binding: dict[str, list[int]] = {}
    start = sparql.index("{", re.search(r"\bWHERE\b", sparql, re.IGNORECASE).start())  # type: ignore[union-attr]  # it has one
    written, place = [sparql[:start]], start
    active: list[str | None] = []
    triple: list[str] = []
    while place < len(sparql):
        match = _TOKEN.match(sparql, place)
        if match is None or (not active and place > start):
            break
        if match["expression"]:
            end = _closing(sparql, match.end())
            written.append(sparql[place:end])
            place = end
            continue
        written.append(match[0])
        place = match.end()
        if match["graph"]:
            local = match["local"]
            prefix = "" if local is None else local.partition(":")[0] + ":"
            active.append(match["name"] if local is None else prefixes[prefix] + local.partition(":")[2])
        elif match["brace"] == "{":
            active.append(active[-1] if active else None)
        elif match["brace"] == "}":
            active.pop()
        elif match["term"]:
            triple.append(match["term"])
            if len(triple) == 3:
                number = len(timed.graphs)
                timed.graphs.append(active[-1])
                for variable in {term for term in triple if term.startswith("?")}:
                    binding.setdefault(variable, []).append(number)
                terms = ", ".join("rdf:type" if term == "a" else term for term in triple)
                written.append(f" . BIND(<{_TIME}{number}>({terms}) AS ?oracle_time{number}) ")
                triple = []
                place += len(re.match(r"\s*\.?", sparql[place:])[0])  # type: ignore[index]  # always matches

    of_facts = [number for number, graph in enumerate(timed.graphs) if graph is not None and FACTS in graph]

    def latest(match: re.Match[str]) -> str:
        numbers = binding.get(match[1], []) if match[1] else of_facts
        given = ", ".join(f'COALESCE(?oracle_time{number}, "")' for number in numbers)
        return f"<{_LATEST}>({given})"

    timed.text = _READS.sub(latest, "".join(written) + sparql[place:])
    return timed


def _closing(text: str, place: int) -> int:
    """Where the brackets that open behind ``place`` are closed."""
    depth = 0
    for offset in range(place, len(text)):
        depth += (text[offset] in "({") - (text[offset] in ")}")
        if depth == 0 and text[offset] in ")}":
            return offset + 1
    raise ValueError(f"an expression is not closed: {text[place : place + 40]}")
