"""What the machine measures of itself, read with psutil."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import psutil

BIGGEST_PROCESSES = 12


@dataclass(frozen=True)
class Sensor:
    """A sensor: ``name`` is the local name of its IRI, ``part`` that of the part it is on, ``unit`` for people."""

    name: str
    part: str
    property: str
    unit: str


@dataclass(frozen=True)
class Reading:
    """One result of one sensor."""

    sensor: str
    value: float | int


@dataclass(frozen=True)
class ProcessReading:
    """The resident memory (bytes) of one process."""

    pid: int
    name: str
    resident: int


@dataclass(frozen=True)
class MachineSnapshot:
    """Everything measured at one instant."""

    readings: tuple[Reading, ...]
    processes: tuple[ProcessReading, ...]


def core_count() -> int:
    return len(psutil.cpu_percent(percpu=True)) or 1


def sensors(cores: int) -> tuple[Sensor, ...]:
    """The sensors of a machine with this many cores."""
    return (
        *(Sensor(f"core{core}-load", f"core{core}", "load", "percent") for core in range(cores)),
        Sensor("memory-used", "memory", "used", "percent"),
        Sensor("disk-read", "disk", "bytesRead", "bytes"),
        Sensor("disk-written", "disk", "bytesWritten", "bytes"),
        Sensor("network-received", "network", "bytesReceived", "bytes"),
        Sensor("network-sent", "network", "bytesSent", "bytes"),
    )


def snapshot() -> MachineSnapshot:
    """Measure now. CPU loads are those since the last call (the first one's are zero)."""
    return MachineSnapshot(tuple(_readings()), tuple(_biggest(BIGGEST_PROCESSES)))


def _readings() -> Iterator[Reading]:
    for core, load in enumerate(psutil.cpu_percent(percpu=True)):
        yield Reading(f"core{core}-load", load)
    yield Reading("memory-used", psutil.virtual_memory().percent)
    # Containers may have neither; then those sensors are silent.
    disk = psutil.disk_io_counters()
    if disk is not None:
        yield Reading("disk-read", disk.read_bytes)
        yield Reading("disk-written", disk.write_bytes)
    network = psutil.net_io_counters()
    if network is not None:
        yield Reading("network-received", network.bytes_recv)
        yield Reading("network-sent", network.bytes_sent)


def _biggest(count: int) -> list[ProcessReading]:
    found = [
        ProcessReading(process.info["pid"], process.info["name"] or "?", process.info["memory_info"].rss)
        for process in psutil.process_iter(["pid", "name", "memory_info"])
        if process.info["memory_info"] is not None and process.info["memory_info"].rss > 0
    ]
    return sorted(found, key=lambda process: (-process.resident, process.pid))[:count]
