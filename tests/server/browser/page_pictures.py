"""Pictures of the page: a real server, rooms that get warm and cold, and Chromium; ``make pictures``."""

from __future__ import annotations

import math
import random
import sys
import tempfile
from pathlib import Path

from protocol.time import format_instant
from tests.endpoint.page.chromium import MISSING, PROGRAM, Page, chromium
from tests.server.server_process import ServerProcess

MINUTE = 60_000
MORNING = 1_767_250_800_000
"""07:00 of the first of January 2026, in milliseconds."""
MINUTES = 180
ROOMS = {"hall": (17.0, 1.5), "kitchen": (20.0, 4.0), "office": (19.0, 3.0), "attic": (14.0, 2.5)}
"""The warmth of each room in the morning, and how far it rises and falls."""

QUERY = """PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX : <http://example.org/>

SELECT ?room (AVG(?degrees) AS ?average) (MAX(?degrees) AS ?warmest)
FROM NAMED WINDOW :recent ON :rooms [RANGE 10m STEP 2m]
WHERE {
  WINDOW :recent { ?o sosa:hasFeatureOfInterest ?room ; sosa:hasSimpleResult ?degrees }
}
GROUP BY ?room
ORDER BY ?room
"""


def messages() -> str:
    """An RDF Message Log: what the thermometers said, minute by minute."""
    noise = random.Random(1)
    sosa, xsd = "http://www.w3.org/ns/sosa/", "http://www.w3.org/2001/XMLSchema#"
    lines = ['VERSION "1.2-messages"']
    for minute in range(MINUTES + 1):
        time = f'"{format_instant(MORNING + minute * MINUTE)}"^^<{xsd}dateTime>'
        for i, (room, (degrees, swing)) in enumerate(ROOMS.items()):
            rise = math.sin(minute / MINUTES * math.pi * (1.2 + i / 2)) * swing
            value = degrees + rise + noise.gauss(0, 0.25)
            lines.append(f"_:{room} <{sosa}hasFeatureOfInterest> <http://example.org/{room}> .")
            lines.append(f'_:{room} <{sosa}hasSimpleResult> "{value:.1f}"^^<{xsd}decimal> .')
            lines.append(f"_:{room} <{sosa}resultTime> {time} .")
        lines.append("MESSAGE")
    return "\n".join(lines) + "\n"


def pictures(server: ServerProcess, page: Page, directory: Path) -> None:
    """Write ``page.png``, ``dark.png``, ``phone.png`` and ``plan.png`` into the directory."""
    server.wait(lambda: server.client.get("/health").json()["backend"]["state"] == "running", patience=900)
    server.event_stream("rooms", "http://example.org/rooms")
    server.register("warmth", QUERY)
    page.look(width=1180, height=1000)
    page.go(f"{server.url}/#follow=warmth")
    page.wait_text("#status", "Listening")
    answer = server.client.post("/streams/rooms", content=messages(), headers={"Content-Type": "application/n-triples"})
    assert answer.status_code == 200, answer.text
    server.watermark("rooms", MORNING + MINUTES * MINUTE)
    page.wait_text("#evaluation", f"{MINUTES // 2 + 1} evaluations")
    page.wait("document.querySelectorAll('#figure path.line').length === 4")
    page.wait(f"document.querySelector('#queries').innerText.includes('evaluations\\n{MINUTES // 2 + 1}\\n')")
    page.screenshot(directory / "page.png", whole=True)
    page.look(width=1180, height=1000, dark=True)
    page.screenshot(directory / "dark.png")
    page.look(width=390, height=844, phone=True, scale=2)
    page.screenshot(directory / "phone.png", whole=True)
    page.look(width=1180, height=1000)
    page.click("#queries .links button")
    page.wait_text("#plan", "Algebra")
    page.click("#plan [data-do=measure]")
    page.wait_text("#plan [data-title=Operators] .rows", "rows")
    page.screenshot(directory / "plan.png", whole=True)
    assert page.failures == []


def main() -> None:
    """Write the pictures into the directory that is the only argument."""
    if PROGRAM is None:
        sys.exit(MISSING)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        kept = Path(temporary)
        with ServerProcess(kept / "data") as server, chromium(kept / "browser") as page:
            pictures(server, page, directory)


if __name__ == "__main__":
    main()
