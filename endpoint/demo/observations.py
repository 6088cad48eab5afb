"""Measurements as RDF: SOSA observations for the stream, and what is known of the machine for the store."""

from __future__ import annotations

from collections.abc import Sequence

from endpoint.demo.measurements import MachineSnapshot, Sensor
from endpoint.demo.vocabulary import PREFIXES, literal
from protocol.time import Instant, format_instant


def observations(snapshot: MachineSnapshot, instant: Instant) -> str:
    """One RDF message in Turtle: an observation for each reading, all with ``sosa:resultTime`` at ``instant``."""
    time = f'"{format_instant(instant)}"^^xsd:dateTime'
    lines = [PREFIXES]
    for reading in snapshot.readings:
        lines.append(
            f"[] a sosa:Observation ; sosa:madeBySensor m:{reading.sensor} ; "
            f"sosa:hasSimpleResult {_number(reading.value)} ; sosa:resultTime {time} ."
        )
    for process in snapshot.processes:
        lines.append(
            f"[] a sosa:Observation ; sosa:observedProperty m:residentMemory ; "
            f"sosa:hasFeatureOfInterest m:process-{process.pid} ; "
            f"sosa:hasSimpleResult {process.resident} ; sosa:resultTime {time} ."
        )
        lines.append(f"m:process-{process.pid} rdfs:label {literal(process.name)} .")
    return "\n".join(lines) + "\n"


def knowledge(sensors: Sequence[Sensor]) -> str:
    """The static graph in Turtle: the machine's parts and their sensors, with names for people."""
    lines = [PREFIXES]
    for part in dict.fromkeys(sensor.part for sensor in sensors):
        lines.append(f"m:{part} a m:{_kind(part)} ; rdfs:label {literal(_label(part))} .")
    for sensor in sensors:
        lines.append(
            f"m:{sensor.name} a sosa:Sensor ; sosa:isHostedBy m:{sensor.part} ; "
            f"sosa:observes m:{sensor.property} ; m:unit {literal(sensor.unit)} ."
        )
    return "\n".join(lines) + "\n"


def _number(value: float | int) -> str:
    return str(value) if isinstance(value, int) else f"{value:.1f}"


def _kind(part: str) -> str:
    return part.rstrip("0123456789").capitalize()


def _label(part: str) -> str:
    kind = part.rstrip("0123456789")
    number = part[len(kind) :]
    return f"CPU {number}" if kind == "core" else kind
