from __future__ import annotations

from pathlib import Path

import pytest

from spark_backend.budget import OWN_AT_ONCE
from spark_backend.spark.launch.settings import local_cores, spark_settings


@pytest.mark.parametrize(
    ("master", "cores"),
    [("local", 1), ("local[3]", 3), ("local[2,4]", 2), ("local[2, 4]", 2), ("spark://host:7077", None), ("yarn", None)],
)
def test_the_cores_of_a_master(master: str, cores: int | None) -> None:
    assert local_cores(master) == cores


def test_all_cores_are_at_least_one() -> None:
    assert (local_cores("local[*]") or 0) >= 1


def test_a_local_master_listens_on_this_machine_only(tmp_path: Path) -> None:
    settings = spark_settings("local[3]", tmp_path, tmp_path / "log")
    assert settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.sql.shuffle.partitions"] == settings["spark.default.parallelism"] == "3"


def test_the_common_lane_spark_sql_and_what_else_is_evaluated_apart_have_tasks_at_once(tmp_path: Path) -> None:
    master = spark_settings("local[3]", tmp_path, tmp_path / "log")["spark.master"]
    assert int(master.removeprefix("local[").partition(",")[0]) > 3 + 3 + OWN_AT_ONCE


def test_a_cluster_keeps_its_own_addresses_and_cores(tmp_path: Path) -> None:
    settings = spark_settings("spark://host:7077", tmp_path, tmp_path / "log")
    assert "spark.driver.bindAddress" not in settings
    assert "spark.default.parallelism" not in settings


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077", "yarn"])
def test_checkpoints_and_the_jvm_are_quick_everywhere(master: str, tmp_path: Path) -> None:
    settings = spark_settings(master, tmp_path, tmp_path / "log")
    assert settings["spark.hadoop.fs.file.impl"].endswith("RawLocalFileSystem")
    assert "TieredStopAtLevel" in settings["spark.driver.extraJavaOptions"]


def test_what_is_written_stays_in_the_directory(tmp_path: Path) -> None:
    directory = tmp_path / "a b"
    settings = spark_settings("local", directory, directory / "log")
    assert settings["spark.local.dir"].startswith(str(directory))
    assert settings["spark.sql.warehouse.dir"].startswith(directory.as_uri())
    assert f'"-Dderby.system.home={directory}"' in settings["spark.driver.extraJavaOptions"]


def test_python_processes_are_asked_by_unix_sockets_in_a_directory_of_their_own_where_that_has_a_short_name(
    tmp_path: Path,
) -> None:
    enabled, directory = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"
    short, long = Path("/data/spark/spark"), Path("/data") / ("ä" * 30) / "spark"
    settings = spark_settings("local", short, tmp_path / "log")
    assert (settings[enabled], settings[directory]) == ("true", str(short))
    assert enabled not in spark_settings("local", long, tmp_path / "log"), "more bytes than Spark takes"
    assert enabled not in spark_settings("spark://host:7077", short, tmp_path / "log"), "other machines' directories"
