from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator

import httpx
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


class Unending(httpx.AsyncByteStream):
    """The rest of a response, of which nothing comes after its beginning, or which breaks."""

    def __init__(self, error: httpx.HTTPError | None = None) -> None:
        self.error = error
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"x"
        if self.error is not None:
            raise self.error
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.closed = True


@pytest.mark.parametrize("error", [None, httpx.ReadError("broken"), httpx.ReadTimeout("silent")])
@pytest.mark.parametrize("status", [200, 503])
def test_the_first_line_of_a_response_decides_however_the_rest_comes(
    status: int, error: httpx.HTTPError | None
) -> None:
    rests: list[Unending] = []

    def respond(request: httpx.Request) -> httpx.Response:
        rests.append(Unending(error))
        return httpx.Response(status, stream=rests[-1])

    async def deliver() -> None:
        settings = SinkSettings(SinkType.WEBHOOK, "http://127.0.0.1:9/in", "json")
        webhook = Webhook(settings, transport=httpx.MockTransport(respond), rest_seconds=0.01)
        answers = [Answer("q", number, f"id-{number}", Body(b"1", "text/plain")) for number in (1, 2)]
        try:
            await webhook.deliver(answers)
        finally:
            await webhook.close()

    if status == 200:
        run(deliver())
    else:
        with pytest.raises(DeliveryFailed, match="answers with 503"):
            run(deliver())
    assert [rest.closed for rest in rests] == [True] * (2 if status == 200 else 1)


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
