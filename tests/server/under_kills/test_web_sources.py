"""A hundred thousand messages of the web's feeds, with both sides killed meanwhile: each once, in order.

What a WebSocket sends while nobody listens is lost; nothing else is, and nothing comes twice.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.free_port import free_port
from tests.server.server_process import ServerProcess
from tests.server.under_kills.messages import (
    GOOD,
    MESSAGES,
    PLACES,
    REJECTED,
    RESULT_TIME,
    TOPICS,
    is_good,
    rejected,
    stored,
)
from tests.server.under_kills.sides import KILLS, PATIENCE, Program, StoredElements, end_both

pytestmark = [pytest.mark.server, pytest.mark.long]


def create(server: ServerProcess, source: dict[str, str], **settings: Any) -> None:
    made = server.client.put("/streams/s", json={"time": "arrival", "source": source, **settings})
    assert made.status_code == 201, made.text


def test_events_with_both_sides_killed_at_random(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    url = f"http://127.0.0.1:{port}/"
    with (
        Program("web_feeds", "sse", port) as feed,
        ServerProcess(data, options=["--allow-fetch", url]) as server,
    ):
        create(server, {"type": "sse", "url": url, "contentType": "application/n-triples"})
        elements, began = StoredElements(server, "s"), time.monotonic()
        end_both(server, feed, elements, GOOD, seed=3)
        server.wait(lambda: elements() >= GOOD, PATIENCE)
        print(f"{MESSAGES} messages in {time.monotonic() - began:.0f} s")
        server.stop()
    assert stored(data, "s") == PLACES
    assert rejected(data, "s") == REJECTED


def test_pages_with_both_sides_killed_at_random(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    url = f"http://127.0.0.1:{port}/"
    with (
        Program("web_feeds", "ldes", port) as feed,
        ServerProcess(data, options=["--allow-fetch", url]) as server,
    ):
        source = {"type": "ldes", "url": f"{url}0?began={time.time():.0f}"}
        create(server, source, time="event", timestampPath=[RESULT_TIME])
        elements, began = StoredElements(server, "s"), time.monotonic()
        end_both(server, feed, elements, GOOD, seed=5)
        server.wait(lambda: elements() >= GOOD, PATIENCE)
        print(f"{MESSAGES} messages in {time.monotonic() - began:.0f} s")
        assert server.client.get("/streams/s").json()["late"] == 0
        server.stop()
    assert stored(data, "s") == PLACES
    found = rejected(data, "s")
    assert len(found) == found.total() == REJECTED.total()


def test_a_websocket_with_both_sides_killed_at_random(tmp_path: Path) -> None:
    data, port, sent = tmp_path / "data", free_port(), tmp_path / "sent"
    sent.write_text("0")
    url = f"ws://127.0.0.1:{port}/"
    with (
        Program("web_feeds", "websocket", port, sent) as feed,
        ServerProcess(data, options=["--allow-fetch", url]) as server,
    ):
        create(server, {"type": "websocket", "url": url, "contentType": "application/n-triples"})
        elements, began = StoredElements(server, "s"), time.monotonic()
        end_both(server, feed, lambda: int(sent.read_text()), MESSAGES, seed=11)
        server.wait(lambda: int(sent.read_text()) == MESSAGES, PATIENCE)
        before = -1
        while before < (before := elements()):
            time.sleep(5)
        print(f"{before} of {MESSAGES} messages in {time.monotonic() - began:.0f} s")
        server.stop()
    found = stored(data, "s")
    assert all(places == sorted(set(places)) for places in found.values()), "in order, none twice"
    there = {TOPICS * place + topic for topic, places in found.items() for place in places}
    there |= {number for number in range(MESSAGES) if not is_good(number)}
    assert rejected(data, "s") <= REJECTED
    gaps = sum(number not in there and number - 1 in there for number in range(1, MESSAGES))
    assert gaps <= 2 * KILLS, "lost is only what was on its way when one side was killed"
    assert len(there) > MESSAGES / 2
