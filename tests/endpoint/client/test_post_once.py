"""A request that is sent again until it is answered, and has its effect once."""

from __future__ import annotations

from collections.abc import Callable

import click
import httpx
import pytest

from endpoint.client.http import Client

URL = "http://127.0.0.1:1/streams/s"


class Endpoint:
    """Does with each request what the next step says, then answers; keeps the requests and the pauses."""

    def __init__(self, *steps: Callable[[httpx.Request], httpx.Response] | int) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        self.client = Client(None, transport=httpx.MockTransport(self.answer), sleep=self.pauses.append)

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps.pop(0) if self.steps else 200
        return httpx.Response(step, json={"detail": "told"}) if isinstance(step, int) else step(request)


def breaks(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("the connection was lost", request=request)


def refuses(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody listens", request=request)


def test_it_is_sent_again_with_its_key_after_whatever_passes() -> None:
    endpoint = Endpoint(breaks, 503, refuses, 200)
    assert endpoint.client.post_once(URL, b"body", headers={"Content-Type": "text/turtle"}) == {"detail": "told"}
    assert len(endpoint.requests) == 4
    assert len({request.headers["idempotency-key"] for request in endpoint.requests}) == 1
    assert {request.content for request in endpoint.requests} == {b"body"}
    assert endpoint.pauses == sorted(endpoint.pauses)
    endpoint.client.post_once(URL, b"body")
    assert endpoint.requests[-1].headers["idempotency-key"] != endpoint.requests[0].headers["idempotency-key"]


@pytest.mark.parametrize(("step", "message"), [(400, "told"), (500, "told"), (refuses, "nothing answers")])
def test_it_is_not_sent_again_where_that_is_of_no_use(
    step: Callable[[httpx.Request], httpx.Response] | int, message: str
) -> None:
    endpoint = Endpoint(step)
    with pytest.raises(click.ClickException, match=message):
        endpoint.client.post_once(URL, b"body")
    assert len(endpoint.requests) == 1
    assert not endpoint.pauses


def test_it_is_given_up_in_the_end() -> None:
    endpoint = Endpoint(*20 * [503])
    with pytest.raises(click.ClickException, match="told"):
        endpoint.client.post_once(URL, b"body")
    assert len(endpoint.requests) == len(endpoint.pauses) + 1
