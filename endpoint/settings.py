"""What the endpoint is told at the start, validated there: arguments, then ``SPARQL_STREAMS_…``, then defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PREFIX = "SPARQL_STREAMS_"


def _default_threads() -> int:
    return min(32, 4 * (os.cpu_count() or 1))


@dataclass(frozen=True)
class Settings:
    """The settings of one endpoint. Each wrong one raises a ValueError that names it and what would be right.

    ``data`` None keeps everything in a temporary directory, removed at exit. ``base_url`` is the public
    URL of the application's root ("" makes it ``http://HOST:PORT``); the IRIs of streams begin with it.
    ``threads`` bounds how many requests are worked on at once.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    data: Path | None = None
    load: tuple[Path, ...] = ()
    base_url: str = ""
    spark_master: str = "local[*]"
    cors_origins: tuple[str, ...] = ("*",)
    threads: int = field(default_factory=_default_threads)

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

        Several ``SPARQL_STREAMS_LOAD`` files are separated as in ``PATH``, several
        ``SPARQL_STREAMS_CORS_ORIGINS`` by commas. An empty variable is as good as none.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for setting in fields(cls):
            value = given.pop(setting.name, None)
            variable = PREFIX + setting.name.upper()
            if value is not None:
                values[setting.name] = value
            elif environment.get(variable):
                values[setting.name] = environment[variable]
        if given:
            raise ValueError(f"there is no setting {', '.join(sorted(given))}")
        try:
            return cls(**values)
        except ValueError as error:
            name = str(error).partition(":")[0]
            variable = PREFIX + name.upper()
            if environment.get(variable) and values.get(name) is environment[variable]:
                raise ValueError(f"{variable} ({error})") from None
            raise


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name}: {value!r} is not a text with something in it")
    return value.strip()


def _number(name: str, value: object, least: int, most: int) -> int:
    try:
        number = int(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise ValueError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    return number


def _directory(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, (str, Path)) or not str(value):
        raise ValueError(f"data: {value!r} is not the path of a directory")
    path = Path(value).expanduser()
    if path.exists() and not path.is_dir():
        raise ValueError(f"data: {str(path)!r} is a file; name a directory")
    return path


def _files(value: object) -> tuple[Path, ...]:
    parts: Any = value.split(os.pathsep) if isinstance(value, str) else [value] if isinstance(value, Path) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"load: {value!r} is not a list of files")
    paths = tuple(Path(part).expanduser() for part in parts if str(part))
    for path in paths:
        if not path.is_file():
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


def _origins(value: object) -> tuple[str, ...]:
    parts: Any = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)):
        raise ValueError(f"cors_origins: {value!r} is not a list of origins")
    origins = tuple(str(part).strip().rstrip("/") for part in parts if str(part).strip())
    for origin in origins:
        parsed = urlsplit(origin)
        if origin != "*" and (not parsed.scheme or not parsed.netloc or parsed.path):
            raise ValueError(f"cors_origins: {origin!r} is neither * nor an origin such as https://example.org")
    return origins


_READERS: dict[str, Any] = {
    "host": lambda value: _text("host", value),
    "port": lambda value: _number("port", value, 0, 65535),
    "data": _directory,
    "load": _files,
    "base_url": _url,
    "spark_master": lambda value: _text("spark_master", value),
    "cors_origins": _origins,
    "threads": lambda value: _number("threads", value, 1, 1000),
}
