from __future__ import annotations

import ssl
import threading

import pytest

from endpoint.outgoing import trust
from endpoint.sinks.target import Answer, DeliveryFailed
from endpoint.sinks.webhook import Webhook
from protocol.sinks.body import Body
from protocol.sinks.settings import SinkSettings, SinkType
from tests.endpoint.live.live_side import run
from tests.endpoint.sinks.receivers import HttpReceiver, http_receiver


def sent(receiver: HttpReceiver, *numbers: int, path: str = "/in") -> None:
    """Deliver answers with these numbers to the receiver."""

    async def deliver() -> None:
        headers = (("Authorization", "Bearer secret"),)
        webhook = Webhook(SinkSettings(SinkType.WEBHOOK, receiver.url + path, "json", headers=headers))
        try:
            answers = [Answer("q", number, f"id-{number}", Body(b"%d" % number, "text/plain")) for number in numbers]
            await webhook.deliver(answers)
        finally:
            await webhook.close()

    run(deliver())


def test_an_answer_is_a_post_with_its_key() -> None:
    with http_receiver() as receiver:
        sent(receiver, 1, 2, path="/in?room=hall")
        assert [post.body for post in receiver.posts] == [b"1", b"2"]
        post = receiver.posts[0]
        assert post.path == "/in?room=hall"
        told = ("idempotency-key", "content-type", "authorization", "sparql-streams-query", "user-agent")
        assert [post.headers[name] for name in told] == [
            "id-1", "text/plain", "Bearer secret", "q", "sparql-streams",
        ]  # fmt: skip


@pytest.mark.parametrize("status", [400, 404, 410, 429, 500, 503])
def test_what_is_not_taken_is_told(status: int) -> None:
    with http_receiver() as receiver:
        receiver.status = status
        receiver.headers["Retry-After"] = "7"
        with pytest.raises(DeliveryFailed, match=f"answers with {status}") as caught:
            sent(receiver, 1)
        assert caught.value.retry_after == 7


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_certificates_are_read_in_the_event_loop(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def context(*arguments: object, **named: object) -> ssl.SSLContext:
        threads.append(threading.current_thread())
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(ssl, "create_default_context", context)
    trust._certificates.cache_clear()

    async def deliver() -> None:
        for _ in range(2):
            webhook = Webhook(SinkSettings(SinkType.WEBHOOK, f"{scheme}://127.0.0.1:9/in", "json"))
            with pytest.raises(DeliveryFailed, match="cannot be reached"):
                await webhook.deliver([Answer("q", 1, "id-1", Body(b"1", "text/plain"))])
            await webhook.close()

    run(deliver())
    trust._certificates.cache_clear()
    assert len(threads) == (scheme == "https")
    assert threading.main_thread() not in threads


def test_redirects_are_not_followed() -> None:
    with http_receiver() as receiver:
        receiver.status = 307
        receiver.headers["Location"] = "/elsewhere"
        with pytest.raises(DeliveryFailed, match="redirects are not followed, give /elsewhere"):
            sent(receiver, 1)
        assert receiver.refused == 1


def test_a_receiver_that_is_away_is_told() -> None:
    with http_receiver() as receiver:
        pass
    with pytest.raises(DeliveryFailed, match="cannot be reached"):
        sent(receiver, 1)
