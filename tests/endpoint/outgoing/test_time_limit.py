"""An exchange ends when its time is over, however often a byte of it comes."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from endpoint.outgoing.time_limit import TimeLimit
from tests.endpoint.outgoing.dripping_server import ENDLESS, drips


def read_body(response: httpx.Response, seconds: float) -> bytes:
    with TimeLimit(seconds) as limit:
        limit.watch(response.extensions["network_stream"])
        return response.read()


def read(address: str, seconds: float) -> bytes:
    with (
        TimeLimit(seconds) as limit,
        httpx.Client(verify=False, trust_env=False) as client,
        client.stream("GET", address, extensions=limit.extensions) as response,
    ):
        return response.read()


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
def test_what_drips_is_broken_off(beginning: bytes) -> None:
    with drips(beginning) as address, pytest.raises(TimeoutError, match=r"^not there within 0\.2 s$"):
        read(address, 0.2)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    if shutil.which("openssl") is None:
        pytest.skip("this machine has no openssl to make a certificate with")
    folder: Path = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    made = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout {key} -out {certificate}"
    subprocess.run(["openssl", *made.split()], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
def test_what_drips_over_tls_is_broken_off(beginning: bytes, tls: ssl.SSLContext) -> None:
    with drips(beginning, tls) as address, pytest.raises(TimeoutError):
        read(address, 0.5)


def test_a_connection_may_be_made_known_later() -> None:
    with (
        drips(ENDLESS["body"]) as address,
        httpx.Client(trust_env=False) as client,
        client.stream("GET", address) as response,
        pytest.raises(TimeoutError),
    ):
        read_body(response, 0.2)


def test_what_is_there_in_time_is_given_and_what_else_is_wrong_is_told() -> None:
    with drips(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nxx") as address:
        assert read(address, 30) == b"xx"
    with pytest.raises(ZeroDivisionError), TimeLimit(30):
        raise ZeroDivisionError
