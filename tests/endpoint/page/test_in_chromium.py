"""The page as a person uses it, in Chromium: a real server, a backend whose answers the test gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from protocol.formats.allow_list import AllowList
from protocol.time import format_instant
from tests.endpoint.page.chromium import MISSING, PROGRAM, Page, chromium
from tests.endpoint.running_server import Running, running_server

pytestmark = [pytest.mark.server, pytest.mark.skipif(PROGRAM is None, reason=MISSING)]

XSD = "http://www.w3.org/2001/XMLSchema#"
NOON = 1_767_268_800_000
"""Of the first of January 2026, in milliseconds."""
STEP = 5000

LINES = "document.querySelectorAll('#figure path.line').length"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with chromium(tmp_path_factory.mktemp("browser") / "chromium") as page:
        yield page


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running_server(allow_fetch=AllowList.of([tmp_path.as_uri()])) as running:
        assert httpx.put(f"{running.url}/streams/rooms", json={"time": "event"}).status_code == 201
        yield running


@pytest.fixture
def page(browser: Page, server: Running) -> Iterator[Page]:
    """The page of the server, as it is seen first; nothing in it may have failed when the test is over."""
    browser.look(width=1200, height=900)
    browser.go(f"{server.url}/")
    browser.wait_text("#health", "Ready")
    # The page suggests a query over the stream, once it has found it.
    browser.wait("document.querySelector('#query').value.includes('/streams/rooms')")
    yield browser
    failures, browser.failures = browser.failures, []
    assert failures == []
    browser.call("Page.navigate", url="about:blank")


def averages(server: Running) -> str:
    return f"""PREFIX : <http://example.org/>
SELECT ?room (AVG(?value) AS ?average)
FROM NAMED WINDOW :w ON <{server.url}/streams/rooms> [RANGE 10s STEP 5s]
WHERE {{ WINDOW :w {{ ?o :in ?room ; :value ?value }} }}
GROUP BY ?room
"""


def decimal(value: float) -> dict[str, str]:
    return {"type": "literal", "value": f"{value:.2f}", "datatype": f"{XSD}decimal"}


def room(name: str) -> dict[str, str]:
    return {"type": "uri", "value": f"http://example.org/{name}"}


def answer(instant: int, rows: list[dict[str, Any]]) -> bytes:
    evaluation = {"time": format_instant(instant), "operator": "RSTREAM", "windows": {}}
    names = list(dict.fromkeys(name for row in rows for name in row))
    return json.dumps({"head": {"vars": names}, "results": {"bindings": rows}, "evaluation": evaluation}).encode()


def warmth(server: Running, name: str, first: int, last: int, **rooms: float) -> None:
    """Evaluations of a query: each room, warmer from one to the next by a tenth of a degree."""
    for i in range(first, last):
        rows = [{"room": room(each), "average": decimal(degrees + i / 10)} for each, degrees in rooms.items()]
        server.backend.evaluate(name, NOON + i * STEP, answer(NOON + i * STEP, rows))


def wait_value(page: Page, name: str, value: str) -> None:
    """Wait until the legend has this value of a line."""
    entry = (
        f"[...document.querySelectorAll('#figure .legend li')].find((e) => e.innerText.includes({json.dumps(name)}))"
    )
    page.wait(f"{entry}?.querySelector('.value').innerText === {json.dumps(value)}")


def only_query(server: Running, page: Page) -> str:
    """The name that the server gave to the query that the page listens to."""
    page.wait_text("#status", "Listening")
    (name,) = [query.name for query in server.backend.queries()]
    return name


def test_a_query_is_written_mended_run_and_its_chart_drawn(server: Running, page: Page) -> None:
    # An error, with its place.
    page.write("#query", averages(server).replace("GROUP BY ?room", "GROUP BOY ?room"))
    page.click("#run")
    page.wait_text("#problem", "Syntax error")
    page.wait_text("#problem", "line 5")
    assert page.text("#status") == "Syntax error in the query"
    page.click("#problem .place")
    assert page.evaluate("document.querySelector('#query').value.slice(...((q) => [q.selectionStart, q.selectionEnd])"
                         "(document.querySelector('#query')))") == "BOY"  # fmt: skip
    # Mended where the caret is, and run by the keyboard.
    page.call("Input.insertText", text="BY")
    page.wait("document.querySelector('#problem').innerText === ''")
    page.key("Enter", modifiers=2)
    name = only_query(server, page)
    assert page.evaluate("document.querySelector('#figure').hidden") is True
    # The chart draws, a line a room, and grows.
    warmth(server, name, 0, 3, hall=18, kitchen=21)
    page.wait(f"{LINES} === 2")
    wait_value(page, ":kitchen", "21.2")
    before = page.evaluate("document.querySelector('#figure path.line').getAttribute('d').split('L').length")
    warmth(server, name, 3, 10, hall=18, kitchen=21)
    wait_value(page, ":kitchen", "21.9")
    after = page.evaluate("document.querySelector('#figure path.line').getAttribute('d').split('L').length")
    assert (before, after) == (3, 10)
    assert page.text("#content .since-before") == "Since the evaluation before: 2 changed."
    assert page.evaluate("document.querySelectorAll('#content .change.up').length") == 2


def test_a_standing_query_is_followed_stopped_resumed_and_followed_again_after_a_reload(
    server: Running, page: Page
) -> None:
    text = averages(server)
    headers = {"Content-Type": "application/sparql-query"}
    assert httpx.put(f"{server.url}/queries/warm", content=text, headers=headers).status_code == 201
    page.click("#queries .entry-head button")
    page.wait_text("#status", "Listening")
    warmth(server, "warm", 0, 4, hall=18)
    page.wait_text("#evaluation", "4 evaluations")
    # What came while nobody listened comes when it is resumed, and what was there stays: nothing twice.
    page.click("#stop")
    page.wait_text("#status", "Stopped. Resume")
    warmth(server, "warm", 4, 9, hall=18)
    assert "4 evaluations" in page.text("#evaluation")
    page.click("#resume")
    page.wait_text("#evaluation", "9 evaluations")
    drawn = "document.querySelector('#figure path.line').getAttribute('d').match(/[ML]/g).join('')"
    assert page.evaluate(drawn) == "M" + "L" * 8
    warmth(server, "warm", 9, 10, hall=18)
    page.wait_text("#evaluation", "10 evaluations")
    # What was written is there after a reload, and the query is followed again.
    page.write("#query", "# mine\nSELECT ?s { ?s ?p ?o }")
    page.reload()
    assert page.evaluate("document.querySelector('#query').value") == "# mine\nSELECT ?s { ?s ?p ?o }"
    page.wait_text("#answer-title", "warm")
    warmth(server, "warm", 10, 11, hall=18)
    wait_value(page, ":hall", "19")
    # To run something else is to follow no more, also after a reload.
    page.click("#run")
    page.wait_text("#status", "0 solutions")
    assert page.evaluate("location.hash") == ""


def test_an_answer_from_before_the_listening_began_is_told_from_those_that_come(server: Running, page: Page) -> None:
    headers = {"Content-Type": "application/sparql-query"}
    assert httpx.put(f"{server.url}/queries/warm", content=averages(server), headers=headers).status_code == 201
    page.click("#queries .entry-head button")
    page.wait_text("#status", "Listening. No evaluation has come yet.")
    page.click("#stop")
    page.wait_text("#status", "Stopped")
    warmth(server, "warm", 0, 1, hall=18)
    page.click("#queries .entry-head button")
    page.wait_text("#status", "Listening. No evaluation has come since the one that is shown.")
    wait_value(page, ":hall", "18")
    # Paused, it stays when others come.
    page.click("#pause")
    warmth(server, "warm", 1, 2, hall=18)
    page.wait_text("#status", "Live")
    page.wait_text("#pause", "Resume (1 newer)")
    assert "18.00" in page.text("#content")
    page.click("#pause")
    wait_value(page, ":hall", "18.1")


def test_what_is_paused_before_anything_has_come_stays_at_the_first_that_comes(server: Running, page: Page) -> None:
    page.write("#query", averages(server))
    page.click("#run")
    name = only_query(server, page)
    page.click("#pause")
    page.wait_text("#pause", "Resume")
    warmth(server, name, 0, 1, hall=18)
    page.wait_text("#evaluation", "1 evaluation")
    warmth(server, name, 1, 3, hall=18)
    page.wait_text("#pause", "Resume (2 newer)")
    assert "18.00" in page.text("#content")
    page.click("#pause")
    wait_value(page, ":hall", "18.2")


def test_what_a_query_can_be_known_not_to_answer_is_told_while_it_is_listened_to(server: Running, page: Page) -> None:
    page.write("#query", averages(server).replace("GROUP BY ?room", "GROUP BY ?room ?floor ORDER BY ?wall"))
    page.click("#run")
    page.wait_text("#notice", "?floor is never bound here, so that it tells no groups apart (line 5, column 16)")
    page.wait_text("#notice", "?wall is never bound here, so that it orders nothing (line 5, column 32)")
    page.write("#query", averages(server))
    page.click("#run")
    page.wait("document.querySelector('#notice').hidden")


def test_a_query_of_the_store_is_kept_up_to_date(server: Running, page: Page) -> None:
    page.write("#query", "SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o }")
    page.click("#live")
    page.click("#run")
    page.wait_text("#status", "Live")
    wait_value(page, "n", "0")
    headers = {"Content-Type": "application/sparql-update"}
    for n in range(1, 4):
        answer = httpx.post(f"{server.url}/sparql", content=f"INSERT DATA {{ <urn:{n}> <urn:p> {n} }}", headers=headers)
        assert answer.status_code == 204, answer.text
        wait_value(page, "n", str(n))
    assert page.evaluate(LINES) == 1


def test_an_answer_that_cannot_be_drawn_is_told(server: Running, page: Page) -> None:
    page.evaluate(
        "document.querySelector('#content').replaceChildren = (...nodes) => { if (nodes.length) throw new Error('?'); }"
    )
    page.write("#query", "ASK {}")
    page.click("#run")
    page.wait_text("#status", "The page failed")
    assert page.wait_failure() == "Error: ?"


def test_a_link_fills_the_box_and_runs_nothing(server: Running, page: Page) -> None:
    update = "INSERT DATA { <urn:a> <urn:b> 'ü # &' }"
    page.write("#query", update)
    page.click("#share")
    link = page.wait("document.querySelector('#link').value")
    page.write("#query", "ASK {}")
    page.call("Page.navigate", url="about:blank")
    page.go(link)
    page.wait(f"document.querySelector('#query').value === {json.dumps(update)}")
    assert page.text("#status") == "Nothing has been asked yet."
    # Another link in the same tab, as a person pastes it.
    page.evaluate("location.hash = 'query=' + encodeURIComponent('ASK { ?s ?p 1 }')")
    page.wait("document.querySelector('#query').value === 'ASK { ?s ?p 1 }'")
    # What is written after it is what a reload shows.
    page.write("#query", "ASK { ?s ?p 2 }")
    page.reload()
    assert page.evaluate("document.querySelector('#query').value") == "ASK { ?s ?p 2 }"


def test_what_an_address_asks_to_follow_is_awaited(server: Running, page: Page) -> None:
    page.evaluate("location.hash = 'follow=later'")
    page.wait_text("#status", "Waiting for the standing query later")
    content = averages(server)
    httpx.put(f"{server.url}/queries/later", content=content, headers={"Content-Type": "application/sparql-query"})
    page.wait_text("#answer-title", "later")
    page.wait_text("#status", "Listening")
    warmth(server, "later", 0, 2, hall=18)
    page.wait(f"{LINES} === 1")


def test_the_chart_is_read_by_the_keyboard_and_its_lines_are_hidden_and_shown(server: Running, page: Page) -> None:
    page.write("#query", averages(server))
    page.key("Enter", modifiers=2)
    name = only_query(server, page)
    warmth(server, name, 0, 5, hall=18, kitchen=21)
    wait_value(page, ":kitchen", "21.4")
    page.evaluate("document.querySelector('#figure .surface').focus()")
    page.key("Home")
    page.wait_text("#figure .readout", "12:00:00")
    page.key("ArrowRight")
    page.wait_text("#figure .readout", "12:00:05")
    spoken = page.evaluate("document.querySelector('#figure .spoken').textContent")
    assert spoken.endswith("12:00:05 UTC, :hall 18.1, :kitchen 21.1")
    page.click("#figure .legend li:first-child button")
    page.wait(f"{LINES} === 1")
    assert page.evaluate("document.querySelector('#figure .legend button').getAttribute('aria-pressed')") == "false"
    page.click("#figure .values summary")
    page.wait("document.querySelectorAll('#figure .values tbody tr').length === 5")
    page.click("#figure .legend li:first-child button")
    page.wait(f"{LINES} === 2")
    page.click("#figure [data-kind=bars]")
    page.wait("document.querySelectorAll('#figure rect.bar').length === 2")
    page.click("#figure [data-kind=none]")
    page.wait("document.querySelector('#figure .surface').hidden")


def test_places_are_drawn_on_a_map_and_text_stays_text(server: Running, page: Page) -> None:
    wkt = "http://www.opengis.net/ont/geosparql#wktLiteral"
    page.write("#query", f"""SELECT * {{ VALUES (?name ?where) {{
  ("<img src=x onerror=alert(1)>" "POINT(8.4 49.0)"^^<{wkt}>)
  ("river" "LINESTRING(8.0 49.0, 8.5 49.5)"^^<{wkt}>)
  ("park" "POLYGON((8 49, 8.2 49, 8.2 49.2, 8 49))"^^<{wkt}>)
  ("lost" "POINT(8.4"^^<{wkt}>)
}} }}""")  # fmt: skip
    page.click("#run")
    page.wait_text("#status", "4 solutions")
    for shape in ("circle.place", "path.line", "path.area"):
        assert page.wait(f"document.querySelectorAll('#figure {shape}').length") == 1
    assert "1 geometry cannot be drawn" in page.text("#figure")
    page.evaluate("document.querySelector('#figure .surface').focus()")
    page.key("End")
    page.wait_text("#figure .readout", "park")
    assert "° N" in page.evaluate("document.querySelector('#figure .spoken').textContent")
    assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert "<img src=x" in page.text("#content")


def test_sources_and_sinks_are_listed_with_their_state(server: Running, page: Page, tmp_path: Path) -> None:
    file = tmp_path / "meters.ndjson"
    file.write_text('{"@id": "urn:a"}\nnot RDF\n')
    settings = {"source": {"type": "file", "url": file.as_uri()}}
    assert httpx.put(f"{server.url}/streams/meters", json=settings).status_code == 201
    page.wait_text("#streams .source", "← file")
    page.wait_text("#streams .source", "2 messages, 1 rejected")
    page.wait_text("#streams .source .badge", "running")
    headers = {"Content-Type": "application/sparql-query"}
    httpx.put(f"{server.url}/queries/warm", content=averages(server), headers=headers)
    sink = {"type": "file", "url": (tmp_path / "answers").as_uri()}
    answer = httpx.put(f"{server.url}/queries/warm/sinks/kept", json=sink)
    assert answer.status_code == 201, answer.text
    page.wait_text("#queries .sinks", "→ kept")
    warmth(server, "warm", 0, 2, hall=18)
    page.wait_text("#queries .sinks", "file, 2 delivered")


def test_the_plan_is_a_tree(server: Running, page: Page) -> None:
    algebra = "Algebra (after the passes x)\n  Project ?room\n    BGP\n      ?o :in ?room .   # about 35 triples\n"
    plan = f"SELECT RSTREAM of (?room)\n\nRows\n  read  500\n\n{algebra}"
    about = "of an evaluation at 2026-01-01T00:00:50Z: tables of windows 10.0 ms, planning 2.0 ms, operators 0.2 ms"
    operators = f"{plan}\nOperators ({about})\n  HASH_JOIN a = b   # 35 rows (about 40 expected), 0.5 ms\n"
    told = {False: plan, True: operators}
    server.backend.plan = lambda name, *, measured=False: told[measured]  # type: ignore[method-assign]
    headers = {"Content-Type": "application/sparql-query"}
    httpx.put(f"{server.url}/queries/warm", content=averages(server), headers=headers)
    page.click("#queries .links button")
    page.wait_text("#plan", "Plan of warm")
    page.wait_text("#plan .tree .tree .tree .rows", "about 35 triples")
    page.click("#plan .tree summary")
    page.wait("document.querySelector('#plan .tree details').open === false")
    page.click("#plan [data-do=measure]")
    page.wait_text("#plan [data-title=Operators] summary", "planning 2.0 ms")
    page.wait_text("#plan [data-title=Operators] .rows", "35 rows (about 40 expected), 0.5 ms")
    page.look(width=390, height=844, dark=False, phone=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_a_phone_and_all_that_is_pressed_has_a_name(
    server: Running, page: Page, dark: bool, tmp_path: Path
) -> None:
    page.look(width=390, height=844, dark=dark, phone=True)
    page.write("#query", averages(server))
    page.click("#run")
    name = only_query(server, page)
    warmth(server, name, 0, 5, hall=18, kitchen=21)
    page.wait(f"{LINES} === 2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(Path(__file__).with_name("legibility.js").read_text()) == []
