"""Webhooks: a POST an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import anyio.to_thread
import httpx

from endpoint.back_off import patience
from endpoint.outgoing.trust import is_outside, trusted
from endpoint.sinks.target import Answer, DeliveryFailed
from protocol.sinks.settings import SinkSettings

SECONDS = 30.0
"""For one POST, until its response begins."""

_CONNECT_SECONDS = 10.0
_READ_BYTES = 64 * 1024
_READ_SECONDS = 1.0
"""Of a response, so that its connection can be used again; that of a longer one is closed."""


class Webhook:
    """Sends each answer to one address. Any 2xx says that it is taken; redirects are not followed.

    ``transport`` takes the place of the network. ``rest_seconds``: for the rest of a response.
    """

    at_once = 1

    def __init__(
        self,
        settings: SinkSettings,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        rest_seconds: float = _READ_SECONDS,
    ) -> None:
        self._url = settings.url
        self._headers = settings.headers
        self._transport = transport
        self._rest_seconds = rest_seconds
        self._client: httpx.AsyncClient | None = None

    async def deliver(self, answers: Sequence[Answer]) -> None:
        """POST them, one after the other. Raises DeliveryFailed."""
        for answer in answers:
            try:
                await self._post(answer)
            except (TimeoutError, httpx.TimeoutException):
                raise DeliveryFailed(f"{self._url} did not answer in time") from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise DeliveryFailed(f"{self._url} cannot be reached: {str(error) or type(error).__name__}") from None

    async def _post(self, answer: Answer) -> None:
        headers = [
            *self._headers,
            ("Content-Type", answer.body.content_type),
            ("Idempotency-Key", answer.identifier),
            ("Sparql-Streams-Query", answer.query),
        ]
        async with asyncio.timeout(SECONDS):
            client = await self._opened()
            request = client.build_request("POST", self._url, content=answer.body.content, headers=headers)
            response = await client.send(request, stream=True)
        # Its first line has decided: what becomes of the rest changes nothing.
        try:
            await self._read_rest(response)
            if response.is_success:
                return
            said = f"{self._url} answers with {response.status_code} {response.reason_phrase}".rstrip()
            if response.has_redirect_location:
                said += f": redirects are not followed, give {response.headers['location']} as url if it is right"
            raise DeliveryFailed(said, retry_after=patience(response.headers.get("retry-after", "")))
        finally:
            await response.aclose()

    async def _read_rest(self, response: httpx.Response) -> None:
        """Read a response, so that its connection can be used again, if that does not take long."""
        size = 0
        with suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(self._rest_seconds):
                async for chunk in response.aiter_raw():
                    size += len(chunk)
                    if size > _READ_BYTES:
                        break

    async def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            certificates = await anyio.to_thread.run_sync(trusted, self._url)
            self._client = httpx.AsyncClient(
                transport=self._transport,
                timeout=httpx.Timeout(SECONDS, connect=_CONNECT_SECONDS),
                limits=httpx.Limits(max_connections=1),
                trust_env=is_outside(self._url),
                verify=certificates,
                headers={"User-Agent": "sparql-streams", "Accept-Encoding": "identity"},
            )
        return self._client

    async def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
