from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator

import httpx
import pytest

from endpoint.outgoing import trust
from endpoint.outgoing.trust import is_outside, trusted


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Each time that certificates are read: whether as the environment says."""
    times: list[bool] = []

    def context(*, trust_env: bool) -> ssl.SSLContext:
        times.append(trust_env)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(httpx, "create_ssl_context", context)
    trust._certificates.cache_clear()
    yield times
    trust._certificates.cache_clear()


def test_certificates_are_read_once_however_many_ask(read: list[bool]) -> None:
    threads = [threading.Thread(target=trusted, args=("https://receiver.example/in",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read == [True]
    trusted("HTTPS://localhost:8443/")
    assert read == [True, False]


def test_for_http_none_are_read_and_none_are_trusted(read: list[bool]) -> None:
    context = trusted("http://receiver.example/in")
    assert (context.verify_mode, context.cert_store_stats()["x509"]) == (ssl.CERT_REQUIRED, 0)
    assert read == []


@pytest.mark.parametrize(
    ("address", "outside"),
    [("http://receiver.example/", True), ("http://localhost:80/", False), ("https://[::1]/", False)],
)
def test_no_proxy_stands_between_this_machine_and_itself(address: str, outside: bool) -> None:
    assert is_outside(address) == outside
