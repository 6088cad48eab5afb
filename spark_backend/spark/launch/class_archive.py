"""Spark's classes as Java has them in memory: out of an archive of them, Spark starts in about half the time.

Class data sharing (JEP 350). An archive is of one Java and one class path: where it does not fit, Java leaves it aside
and reads the classes as ever.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pyspark

from spark_backend.spark.launch.java import JavaRuntime

DIRECTORY = Path(sys.prefix) / "share" / "sparql-streams"
"""Where archives are: in the environment that has the Spark they are of."""


class SparkClasses(NamedTuple):
    """Where Spark's classes are, ``home``, fit for SPARK_HOME, and the options that say how Java is to share them."""

    home: Path
    options: tuple[str, ...] = ()


def archive_file(java: JavaRuntime) -> Path:
    """Where the archive for this Java is, if there is one."""
    return DIRECTORY / f"spark-{pyspark.__version__}-java-{java.version}.jsa"


def shared_archive(java: JavaRuntime) -> Path | None:
    """The archive for this Java and the Spark that comes with pyspark, if there is one."""
    archive, package = archive_file(java), _package()
    fits = not is_of_packages(package.parent) or _is_linked(package, DIRECTORY / "home")
    return archive if fits and archive.is_file() else None


def spark_classes(scratch: Path, archive: Path | None = None, recorded: Path | None = None) -> SparkClasses:
    """The Spark that comes with pyspark, whichever another one the machine may have.

    Java is to have its classes out of ``archive``, or to write one, ``recorded``, when it ends.

    As a directory without ``python``: out of an archive there, each of Spark's Python processes would import pyspark's
    sources and compile them, for half a second and more. They have pyspark from where this process has it. It is in
    ``scratch``, or, since an archive is of one path, beside that.
    """
    home = package = _package()
    if is_of_packages(package.parent):
        home = (scratch if archive is None and recorded is None else DIRECTORY) / "home"
        _link(package, home)
    if recorded is not None:
        return SparkClasses(home, (f"-XX:ArchiveClassesAtExit={recorded}",))
    return SparkClasses(home, () if archive is None else (f"-XX:SharedArchiveFile={archive}",))


def is_of_packages(directory: Path) -> bool:
    """Whether every Python process of this environment finds what is in there."""
    return directory.name in ("site-packages", "dist-packages")


def _package() -> Path:
    return Path(pyspark.__file__).resolve().parent


def _link(package: Path, home: Path) -> None:
    home.mkdir(exist_ok=True)
    for name in _parts(package):
        if not _leads(home / name, package / name):
            (home / name).unlink(missing_ok=True)
            (home / name).symlink_to(package / name)


def _is_linked(package: Path, home: Path) -> bool:
    return all(_leads(home / name, package / name) for name in _parts(package))


def _leads(link: Path, there: Path) -> bool:
    return link.is_symlink() and link.readlink() == there


def _parts(package: Path) -> list[str]:
    return [name for name in ("bin", "conf", "jars") if (package / name).is_dir()]
