"""What the endpoint is told at the start, validated there: arguments, then ``SPARQL_STREAMS_…``, then defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from protocol.access import EVERYTHING_OPEN, Tokens, parse_tokens
from protocol.entailment.regimes import Regime, UnknownRegime, parse_regime
from protocol.errors import ProtocolError
from protocol.evaluation_limits import LEAST_EVALUATION_MEMORY
from protocol.formats.allow_list import NOTHING, AllowList
from protocol.sizes import parse_size
from protocol.sparql.dataset import require_absolute
from protocol.time import parse_duration

PREFIX = "SPARQL_STREAMS_"
ANY_HOST = "*"
HOST_NAME = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_\-.]*[a-z0-9_])?\Z")
"""A name of ``hosts``, in lower case; with ``*.`` before it, every name below it."""

_MASTER = re.compile(r"local(?:\[(?:\*|\d+)(?:, *\d+)?\])?|local-cluster\[\d+, *\d+, *\d+\]|yarn|(?:spark|k8s)://\S+")
_PLAIN_NUMBER = re.compile(r"[0-9.eE+\-]+\Z")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]*://(?:[a-z0-9._\-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?\Z")


_LEAST_SERVICE_SECONDS = 0.01
_LEAST_QUERY_MEMORY = 64 * 1024 * 1024


def _default_threads() -> int:
    return min(32, 4 * (os.cpu_count() or 1))


def _default_readers() -> int:
    return max(2, os.cpu_count() or 1)


def _default_max_readers() -> int:
    return 4 * _default_readers()


def _default_query_memory() -> int:
    """A GiB, or less where as many readers as there may be would then have more than there is."""
    return max(_LEAST_QUERY_MEMORY, min(2**30, memory_of_machine() // _default_max_readers()))


def _default_update_memory() -> int:
    """Four GiB (a body of 64 MiB may take three), or half of what there is: one update is evaluated at a time."""
    return max(_LEAST_QUERY_MEMORY, min(2**32, memory_of_machine() // 2))


def memory_of_machine() -> int:
    """In bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True)
class Settings:
    """The settings of one endpoint. Each wrong one raises a ValueError that names it and what would be right.

    ``data`` None keeps everything in a temporary directory, removed at exit. ``base_url`` is the public
    URL of the application's root ("" makes it ``http://HOST:PORT``); the IRIs of streams begin with it.
    ``hosts`` are the names in it by which clients may ask (``endpoint.hosts``); none given, an embedding application
    sees to that, and a server of our own adds its own names.
    ``site`` is where continuous queries are evaluated, ``duckdb`` or ``spark`` (Spark SQL); ``auto`` is Spark SQL for
    evaluations over windows with more than ``spark_above`` triples together, DuckDB for the others.
    ``threads`` bounds how many requests are worked on at once, ``readers`` how many one-shot queries are evaluated
    at once, each in a process, and ``max_readers`` how many together with those that have run for a second (never
    fewer than ``readers``). A store with at most ``memory_quads`` is copied into each reader's memory, some 0.4 KB a
    quad, when it has not changed for a second (0: never). ``query_timeout`` (seconds of evaluation), ``query_memory``
    (bytes, also as ``1GB``, in its process, besides what it has open) and ``max_result_bytes`` bound one query;
    ``update_timeout`` and ``update_memory`` (besides what is open) one update; ``evaluation_seconds`` and
    ``evaluation_memory`` an evaluation of a continuous query.

    A process of the endpoint's that has stood still for ``frozen_after`` seconds is ended and started anew.
    ``entailment`` is the regime under which queries are answered that ask for none themselves (``none``, ``rdfs``,
    ``owl-rl``); ``schema`` are IRIs of the graphs that its schema is taken from, none given that of the default graph.
    ``kafka_jars`` is a directory with Spark's connector to Kafka; None has Spark fetch it when it is first needed.

    What SERVICE of a continuous query asks at an instant takes at most ``service_timeout`` (seconds) and gives at most
    ``service_size`` (bytes); what a request gave is given again for ``service_cache`` (seconds; 0: never). These
    times may be durations, too (``PT10S``).

    ``allow_fetch`` are the addresses that LOAD, SERVICE, sources and sinks may use, ``tokens`` says who may do what
    (also given as the path of a file, or as a JSON document: ``protocol.access.parse_tokens``). ``max_request_bytes``
    bounds the body of a request, decoded; in a server of our own a request has to come whole within
    ``request_timeout`` (seconds, and one more for each KiB of it) over one of at most ``max_connections``.
    ``max_live_queries`` bounds the continuous queries that nobody registered; ``max_listeners`` the open result
    streams together with those who wait for a next answer.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path | None = None
    load: tuple[Path, ...] = ()
    base_url: str = ""
    hosts: tuple[str, ...] = ()
    spark_master: str = "local[*]"
    site: str = "auto"
    spark_above: int = 8_000_000
    cors_origins: tuple[str, ...] = ("*",)
    threads: int = field(default_factory=_default_threads)
    readers: int = field(default_factory=_default_readers)
    max_readers: int = field(default_factory=_default_max_readers)
    memory_quads: int = 500_000
    query_timeout: float = 60.0
    query_memory: int = field(default_factory=_default_query_memory)
    update_timeout: float = 60.0
    update_memory: int = field(default_factory=_default_update_memory)
    evaluation_seconds: float = 30.0
    evaluation_memory: int = 2**31
    max_result_bytes: int = 2**30
    service_timeout: float = 10.0
    service_size: int = 2**24
    service_cache: float = 0.0
    allow_fetch: AllowList = NOTHING
    tokens: Tokens = EVERYTHING_OPEN
    max_request_bytes: int = 2**26
    request_timeout: float = 20.0
    max_connections: int = 12_000
    max_live_queries: int = 100
    max_listeners: int = 10_000
    frozen_after: float = 10.0
    kafka_jars: Path | None = None
    entailment: Regime = Regime.NONE
    schema: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for setting in fields(self):
            object.__setattr__(self, setting.name, _READERS[setting.name](getattr(self, setting.name)))
        if not self.base_url:
            host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(self.host, self.host)
            host = f"[{host}]" if ":" in host else host
            object.__setattr__(self, "base_url", f"http://{host}:{self.port}")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **given: Any) -> Settings:
        """Settings from what is given (None counts as not given), then the environment, then the defaults.

        Several ``SPARQL_STREAMS_LOAD`` files are separated as in ``PATH``, several ``SPARQL_STREAMS_HOSTS``,
        ``SPARQL_STREAMS_CORS_ORIGINS``, ``SPARQL_STREAMS_ALLOW_FETCH`` and ``SPARQL_STREAMS_SCHEMA`` by commas. An
        empty variable is as good as none.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        read: dict[str, str] = {}
        for setting in fields(cls):
            value = given.pop(setting.name, None)
            variable = PREFIX + setting.name.upper()
            if value is not None:
                values[setting.name] = value
            elif environment.get(variable):
                values[setting.name] = environment[variable]
                read[setting.name] = variable
        if given:
            raise ValueError(f"there is no setting {', '.join(sorted(given))}")
        try:
            return cls(**values)
        except ValueError as error:
            if (name := str(error).partition(":")[0]) in read:
                raise ValueError(f"{read[name]} ({error})") from None
            raise


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: {value!r} is not a text with something in it")
    return value.strip()


def _one_of(name: str, value: object, known: tuple[str, ...]) -> str:
    text = _text(name, value)
    if text not in known:
        raise ValueError(f"{name}: {text!r} is none of {', '.join(known)}")
    return text


def _master(value: object) -> str:
    text = _text("spark_master", value)
    if not _MASTER.fullmatch(text):
        raise ValueError(
            f"spark_master: {text!r} is no master of Spark: write local, local[N], local[*], spark://HOST:PORT, "
            "k8s://URL or yarn"
        )
    return text


def _number(name: str, value: object, least: int, most: int) -> int:
    try:
        number = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    return number


def _bytes(name: str, value: object, least: int, most: int) -> int:
    """A number of bytes, also with a unit."""
    try:
        return _number(name, parse_size(value) if isinstance(value, str) else value, least, most)
    except ValueError:
        raise ValueError(f"{name}: {value!r} is not a size from {least} to {most} bytes, such as 512MB") from None


def _seconds(name: str, value: object) -> float:
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise ValueError(f"{name}: {value!r} is not a number of seconds above 0, at most 86400")
    return seconds


def _duration(name: str, value: object, least: float) -> float:
    """In seconds: a number of them, or a duration."""
    try:
        if isinstance(value, str) and not _PLAIN_NUMBER.match(value.strip()):
            seconds = parse_duration(value) / 1000
        else:
            seconds = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else -1.0
    except ValueError:
        seconds = -1.0
    if not least <= seconds <= 86_400:
        raise ValueError(f"{name}: {value!r} is neither a number of seconds from {least:g} to 86400 nor such as PT10S")
    return seconds


def _path(name: str, value: str | Path) -> Path:
    """The path that a setting says, with ``~`` for a home. ValueError where nobody knows that."""
    try:
        return Path(value).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{name}: {str(value)!r}: {error}") from None


def _found(name: str, path: Path, kind: Callable[[Path], bool]) -> bool:
    """Whether this is there. ValueError, where that cannot be seen: in a folder where nobody may look, say."""
    try:
        return kind(path)
    except OSError as error:
        raise ValueError(f"{name}: {str(path)!r} cannot be looked for: {error.strerror}") from None


def _directory(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError(f"data: {value!r} is not the path of a directory")
    path = _path("data", value)
    if _found("data", path, Path.exists) and not path.is_dir():
        raise ValueError(f"data: {str(path)!r} is a file; name a directory")
    return path


def _jars(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, (str, Path)) or not _found("kafka_jars", path := _path("kafka_jars", value), Path.is_dir):
        raise ValueError(f"kafka_jars: {str(value)!r} is not a directory")
    return path.absolute()


def _regime(value: object) -> Regime:
    try:
        return parse_regime(value, "entailment")
    except UnknownRegime as error:
        raise ValueError(error.detail) from None


def _schema(value: object) -> tuple[str, ...]:
    parts: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"schema: {value!r} is not a list of IRIs of graphs")
    iris = tuple(part.strip() for part in parts if part.strip())
    for iri in iris:
        try:
            require_absolute("schema", iri)
        except ProtocolError as error:
            raise ValueError(f"schema: {error.detail.removeprefix('schema=')}") from None
    return iris


def _files(value: object) -> tuple[Path, ...]:
    parts: Any = value.split(os.pathsep) if isinstance(value, str) else [value] if isinstance(value, Path) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"load: {value!r} is not a list of files")
    paths = tuple(_path("load", part) for part in parts if str(part))
    for path in paths:
        if not _found("load", path, Path.is_file):
            raise ValueError(f"load: there is no file {str(path)!r}")
    return paths


def _url(value: object) -> str:
    if value == "":
        return ""
    text = _text("base_url", value)
    try:
        parts = urlsplit(text)
        right = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment or any(character in text for character in ' <>"{}|^`\\'):
        raise ValueError(f"base_url: {value!r} is not a URL such as https://example.org/streams")
    return text.rstrip("/")


def _hosts(value: object) -> tuple[str, ...]:
    parts: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"hosts: {value!r} is not a list of names")
    names = tuple(str(part).strip().lower().removesuffix(".") for part in parts if str(part).strip())
    for name in names:
        if name != ANY_HOST and not HOST_NAME.match(name):
            raise ValueError(
                f"hosts: {name!r} is neither a name such as example.org or *.example.org, without a port, nor *"
            )
    return names


def _origins(value: object) -> tuple[str, ...]:
    parts: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"cors_origins: {value!r} is not a list of origins")
    given = [str(part).strip() for part in parts if str(part).strip()]
    if given == ["none"]:
        return ()
    # Browsers write an origin in lower case, and it is compared as text.
    origins = tuple(origin.lower().rstrip("/") for origin in given)
    for origin in origins:
        if origin != "*" and not _ORIGIN.match(origin):
            raise ValueError(
                f"cors_origins: {origin!r} is neither * nor an origin such as https://example.org (none: no page)"
            )
    return origins


def _allow_list(value: object) -> AllowList:
    if isinstance(value, AllowList):
        return value
    entries: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, str) for entry in entries):
        raise ValueError(f"allow_fetch: {value!r} is not a list of addresses")
    try:
        return AllowList.of(entries)
    except ValueError as error:
        raise ValueError(f"allow_fetch: {error}") from None


def _tokens(value: object) -> Tokens:
    """From a file (its name tells JSON from TOML) or a JSON document; what is wrong is told without its secrets."""
    if isinstance(value, Tokens):
        return value
    if not isinstance(value, (str, Path)) or not str(value).strip():
        raise ValueError("tokens: what is given is neither the path of a file nor a JSON document")
    inline = isinstance(value, str) and value.lstrip().startswith("{")
    where = "" if inline else f" in {str(value)!r}"
    path = None if inline else _path("tokens", value)
    try:
        if path is None:
            return parse_tokens(str(value), json_document=True)
        return parse_tokens(path.read_text("utf-8"), json_document=path.suffix.lower() == ".json")
    except OSError as error:
        raise ValueError(f"tokens: the file {str(value)!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        said = "the document is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise ValueError(f"tokens: {said}{where}") from None


_READERS: dict[str, Any] = {
    "host": lambda value: _text("host", value),
    "port": lambda value: _number("port", value, 0, 65535),
    "data": _directory,
    "load": _files,
    "base_url": _url,
    "hosts": _hosts,
    "spark_master": _master,
    "site": lambda value: _one_of("site", value, ("auto", "duckdb", "spark")),
    "spark_above": lambda value: _number("spark_above", value, 0, 2**53),
    "cors_origins": _origins,
    "threads": lambda value: _number("threads", value, 1, 1000),
    "readers": lambda value: _number("readers", value, 1, 1000),
    "max_readers": lambda value: _number("max_readers", value, 1, 1000),
    "memory_quads": lambda value: _number("memory_quads", value, 0, 100_000_000),
    "query_timeout": lambda value: _seconds("query_timeout", value),
    "query_memory": lambda value: _bytes("query_memory", value, _LEAST_QUERY_MEMORY, 2**53),
    "update_timeout": lambda value: _seconds("update_timeout", value),
    "update_memory": lambda value: _bytes("update_memory", value, _LEAST_QUERY_MEMORY, 2**53),
    "evaluation_seconds": lambda value: _seconds("evaluation_seconds", value),
    "evaluation_memory": lambda value: _bytes("evaluation_memory", value, LEAST_EVALUATION_MEMORY, 2**53),
    "max_result_bytes": lambda value: _number("max_result_bytes", value, 1, 2**53),
    "service_timeout": lambda value: _duration("service_timeout", value, _LEAST_SERVICE_SECONDS),
    "service_size": lambda value: _bytes("service_size", value, 1, 2**31),
    "service_cache": lambda value: _duration("service_cache", value, 0),
    "allow_fetch": _allow_list,
    "tokens": _tokens,
    "request_timeout": lambda value: _seconds("request_timeout", value),
    "max_connections": lambda value: _number("max_connections", value, 1, 1_000_000),
    "max_request_bytes": lambda value: _number("max_request_bytes", value, 1024, 2**53),
    "max_live_queries": lambda value: _number("max_live_queries", value, 0, 1_000_000),
    "max_listeners": lambda value: _number("max_listeners", value, 0, 1_000_000),
    "frozen_after": lambda value: _seconds("frozen_after", value),
    "kafka_jars": _jars,
    "entailment": _regime,
    "schema": _schema,
}
