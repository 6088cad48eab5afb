"""Where Spark's classes are, and whether Java shares them out of an archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest

from spark_backend.spark.launch import class_archive
from spark_backend.spark.launch.class_archive import SparkClasses, archive_file, shared_archive, spark_classes
from spark_backend.spark.launch.java import JavaRuntime

JAVA = JavaRuntime(Path("/java"), 21, "PATH")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are."""
    directory = tmp_path / "share"
    directory.mkdir()
    monkeypatch.setattr(class_archive, "DIRECTORY", directory)
    return directory


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Have pyspark be in a directory of this name."""

    def installed(name: str) -> Path:
        package = tmp_path / name / "pyspark"
        for part in ("bin", "jars", "python"):
            (package / part).mkdir(parents=True)
        monkeypatch.setattr(pyspark, "__file__", str(package / "__init__.py"))
        return package

    return installed


def links(home: Path) -> dict[str, Path]:
    return {link.name: link.readlink() for link in home.iterdir()}


def test_without_an_archive_spark_is_in_the_scratch_directory(
    shared: Path, tmp_path: Path, install: Callable[[str], Path]
) -> None:
    package = install("site-packages")
    assert shared_archive(JAVA) is None
    assert spark_classes(tmp_path) == SparkClasses(tmp_path / "home")
    assert links(tmp_path / "home") == {"bin": package / "bin", "jars": package / "jars"}
    assert list(shared.iterdir()) == []


def test_an_archive_is_of_the_path_at_which_it_was_recorded(
    shared: Path, tmp_path: Path, install: Callable[[str], Path]
) -> None:
    package = install("site-packages")
    recorded = spark_classes(tmp_path, recorded=shared / "new")
    assert recorded == SparkClasses(shared / "home", (f"-XX:ArchiveClassesAtExit={shared / 'new'}",))
    assert links(shared / "home") == {"bin": package / "bin", "jars": package / "jars"}
    archive_file(JAVA).touch()
    archive = shared_archive(JAVA)
    assert archive == archive_file(JAVA)
    assert spark_classes(tmp_path, archive) == SparkClasses(shared / "home", (f"-XX:SharedArchiveFile={archive}",))


def test_an_archive_of_another_java_or_of_another_place_is_left_aside(
    shared: Path, tmp_path: Path, install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("site-packages")
    spark_classes(tmp_path, recorded=shared / "new")
    archive_file(JAVA).touch()
    assert shared_archive(JavaRuntime(Path("/java"), 17, "PATH")) is None
    with monkeypatch.context() as patch:
        patch.setattr(pyspark, "__version__", "9.9")
        assert shared_archive(JAVA) is None
    assert shared_archive(JAVA) is not None
    # As if the environment had been moved.
    jars = shared / "home" / "jars"
    jars.unlink()
    jars.symlink_to(tmp_path / "elsewhere")
    assert shared_archive(JAVA) is None


def test_spark_that_is_no_package_of_the_environment_stays_where_it_is(
    shared: Path, tmp_path: Path, install: Callable[[str], Path]
) -> None:
    package = install("checkout")
    assert spark_classes(tmp_path) == SparkClasses(package)
    archive_file(JAVA).touch()
    assert shared_archive(JAVA) == archive_file(JAVA)
    assert spark_classes(tmp_path, Path("/a")) == SparkClasses(package, ("-XX:SharedArchiveFile=/a",))
    assert list(shared.iterdir()) == [archive_file(JAVA)]
