"""The sockets of the endpoint, bound before anything is started, so that a taken port costs nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import resource
import socket

from endpoint.settings import Settings

_BACKLOG = 2048
_NOT_THIS_PORT = frozenset({errno.EADDRINUSE, errno.EACCES})
_OTHER_FILES = 1024  # logs, the store, what is spoken with readers and Spark


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of ``host``; port 0 means one free port for all of them.

    Raises OSError, with the address in its text, if one cannot be listened on; none is left open then.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise OSError(f"cannot listen on {host!r}: {error.strerror}") from None
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                bound = _bound(family, kind, protocol, (str(address[0]), port, *address[2:]))
            except OSError as error:
                # A machine without IPv6 may still resolve `localhost` to ::1.
                if family == socket.AF_INET6 and len(found) > 1 and sockets:
                    continue
                raise OSError(error.errno, f"cannot listen on {_shown(host, port)}: {error.strerror}") from None
            sockets.append(bound)
            port = bound.getsockname()[1]
    except BaseException:
        close(sockets)
        raise
    return sockets


def listen_from(host: str, port: int, tries: int = 100) -> list[socket.socket]:
    """As ``listen``, on ``port`` or the next one that is free."""
    for candidate in range(port, min(port + tries, 65536)):
        try:
            return listen(host, candidate)
        except OSError as error:
            # What is wrong with the host is so at every port, and to look up its name may take long.
            if error.errno not in _NOT_THIS_PORT:
                raise
    return listen(host, port)


def close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


def connections_possible(wanted: int) -> int:
    """As many of the wanted connections as there can be beside the files of the process; more files are asked for."""
    with contextlib.suppress(OSError, ValueError):  # macOS names a limit that it does not grant
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        enough = wanted + _OTHER_FILES
        if soft != resource.RLIM_INFINITY and soft < enough:
            most = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else min(wanted, max(soft - _OTHER_FILES, soft // 2))


def with_port(settings: Settings, sockets: list[socket.socket]) -> Settings:
    """The settings with the port that is really listened on, in the base URL too unless that was given."""
    port: int = sockets[0].getsockname()[1]
    if port == settings.port:
        return settings
    implied = dataclasses.replace(settings, base_url="").base_url
    base_url = "" if settings.base_url == implied else settings.base_url
    return dataclasses.replace(settings, port=port, base_url=base_url)


def _bound(family: int, kind: int, protocol: int, address: tuple[str | int, ...]) -> socket.socket:
    one = socket.socket(family, kind, protocol)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
        # Only listening makes the port taken: two sockets may be bound to it.
        one.listen(_BACKLOG)
        one.setblocking(False)
    except BaseException:
        one.close()
        raise
    return one


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
