from __future__ import annotations

import socket

import pytest

from endpoint.server.sockets import close, listen, listen_from, with_port
from endpoint.settings import Settings


def port_of(sockets: list[socket.socket]) -> int:
    return int(sockets[0].getsockname()[1])


def test_a_taken_port_is_an_error_that_names_it() -> None:
    taken = listen("127.0.0.1", 0)
    try:
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{port_of(taken)}"):
            listen("127.0.0.1", port_of(taken))
    finally:
        close(taken)


def test_from_a_taken_port_the_next_free_one_is_found() -> None:
    taken = listen("127.0.0.1", 0)
    found = listen_from("127.0.0.1", port_of(taken))
    try:
        assert port_of(found) > port_of(taken)
    finally:
        close(taken)
        close(found)


def test_an_unknown_host_is_an_error_that_names_it() -> None:
    with pytest.raises(OSError, match=r"host\.invalid"):
        listen("host.invalid", 0)


def test_an_unknown_host_is_looked_up_once_and_not_at_every_port(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def unknown(host: str, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(OSError, match=r"host\.invalid.*not known"):
        listen_from("host.invalid", 8000)
    assert asked == ["host.invalid"]


def test_the_base_url_follows_the_port_unless_it_was_given() -> None:
    sockets = listen("localhost", 0)
    try:
        assert {one.getsockname()[1] for one in sockets} == {port_of(sockets)}
        found = with_port(Settings(host="localhost", port=0), sockets)
        assert (found.port, found.base_url) == (port_of(sockets), f"http://localhost:{port_of(sockets)}")
        given = with_port(Settings(host="localhost", port=0, base_url="https://example.org/s"), sockets)
        assert given.base_url == "https://example.org/s"
    finally:
        close(sockets)
