from __future__ import annotations

import io
import json
from typing import Any

import pytest
from pyoxigraph import RdfFormat, parse
from rich.console import Console

from endpoint.demo import measurements
from endpoint.demo.display import Display
from endpoint.demo.measurements import MachineSnapshot, ProcessReading, Reading, sensors, snapshot
from endpoint.demo.observations import knowledge, observations
from endpoint.demo.queries import DemoQuery, demo_queries
from endpoint.demo.vocabulary import MACHINE
from protocol.grammar.parser import parse as parse_query
from protocol.language.model import R2S, ContinuousQuery

SOSA = "http://www.w3.org/ns/sosa/"
STREAM = "http://127.0.0.1:8000/streams/machine"


def triples(turtle: str) -> list[tuple[str, str, str]]:
    found = parse(turtle, RdfFormat.TURTLE)
    return [(quad.subject.value, quad.predicate.value, quad.object.value) for quad in found]


def objects(turtle: str, predicate: str) -> list[str]:
    return [value for _, found, value in triples(turtle) if found == predicate]


def test_every_reading_is_an_observation_at_the_instant_of_the_message() -> None:
    measured = MachineSnapshot(
        (Reading("core0-load", 12.34), Reading("disk-read", 10**15)), (ProcessReading(7, "x", 2048),)
    )
    message = observations(measured, 1_500)
    assert objects(message, SOSA + "hasSimpleResult") == ["12.3", "1000000000000000", "2048"]
    assert objects(message, SOSA + "resultTime") == ["1970-01-01T00:00:01.500Z"] * 3
    assert objects(message, SOSA + "madeBySensor") == [f"{MACHINE}core0-load", f"{MACHINE}disk-read"]
    assert objects(message, SOSA + "hasFeatureOfInterest") == [f"{MACHINE}process-7"]


@pytest.mark.parametrize("name", ["", 'a"b\\c', "line\nbreak", "größe 🚀", "tab\tand\rreturn", "\udcff"])
def test_a_process_may_be_named_as_it_likes(name: str) -> None:
    message = observations(MachineSnapshot((), (ProcessReading(1, name, 1),)), 0)
    found = objects(message, "http://www.w3.org/2000/01/rdf-schema#label")
    assert found == [name.encode("utf-8", "replace").decode()]


def test_what_is_known_names_the_part_of_every_sensor() -> None:
    known = triples(knowledge(sensors(2)))
    hosts = {subject: value for subject, predicate, value in known if predicate == SOSA + "isHostedBy"}
    labels = {subject: value for subject, predicate, value in known if predicate.endswith("#label")}
    assert len(hosts) == len(sensors(2))
    assert labels[hosts[f"{MACHINE}core1-load"]] == "CPU 1"
    assert (f"{MACHINE}core0", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", f"{MACHINE}Core") in known


def test_this_machine_can_be_measured() -> None:
    measured = snapshot()
    known = {sensor.name for sensor in sensors(measurements.core_count())}
    assert {reading.sensor for reading in measured.readings} <= known
    assert 0 < len(measured.processes) <= measurements.BIGGEST_PROCESSES
    sizes = [process.resident for process in measured.processes]
    assert sizes == sorted(sizes, reverse=True)
    assert len(objects(observations(measured, 0), SOSA + "resultTime")) == len(measured.readings) + len(sizes)


@pytest.mark.parametrize("query", demo_queries(STREAM, 75), ids=lambda query: query.name)
def test_the_queries_are_continuous_queries_over_the_stream(query: DemoQuery) -> None:
    parsed = parse_query(query.text)
    assert isinstance(parsed, ContinuousQuery)
    assert parsed.streams == (STREAM,)
    assert parsed.operator is (R2S.ISTREAM if query.alert else R2S.RSTREAM)


def answer(*bindings: dict[str, Any]) -> dict[str, Any]:
    return {
        "head": {"vars": ["name", "least"]},
        "results": {"bindings": list(bindings)},
        "evaluation": {"time": "1970-01-01T00:00:08Z"},
    }


BINDING = {
    "name": {"type": "literal", "value": "[b]"},
    "least": {"type": "literal", "value": "2500000", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
}
MEMORY = DemoQuery("m", "Memory", "", bytes_columns=frozenset({"least"}), show_empty=True)


def shown(query: DemoQuery, document: dict[str, Any], *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)
    Display(console).show(query, document)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_for_a_pipe_an_evaluation_is_a_line() -> None:
    expected = "1970-01-01T00:00:08Z  Memory: name [b], least 2.5 MB; least 2.5 MB\n"
    assert shown(MEMORY, answer(BINDING, {"least": BINDING["least"]}), terminal=False) == expected
    assert shown(MEMORY, answer(), terminal=False) == "1970-01-01T00:00:08Z  Memory: none\n"


def test_for_a_person_an_evaluation_is_a_table() -> None:
    table = shown(MEMORY, answer(BINDING), terminal=True)
    assert "Memory  (1970-01-01T00:00:08Z)" in table
    assert "2.5 MB" in table
    assert "[b]" in table


def test_an_empty_answer_is_shown_only_where_it_tells_something() -> None:
    assert shown(DemoQuery("a", "Alert", "", alert=True), json.loads(json.dumps(answer())), terminal=False) == ""
