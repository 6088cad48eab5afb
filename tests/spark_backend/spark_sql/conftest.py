"""One Spark session for the tests of this package that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_backend.spark.launch.session import start_session, stop_session
from tests.spark_backend.spark_sql.both_sites import BothSites


@pytest.fixture(scope="package")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    started = start_session(master="local[2]", directory=tmp_path_factory.mktemp("spark"))
    yield started
    stop_session(started)


@pytest.fixture(scope="package")
def sites(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> BothSites:
    """Both sites over a few triples: there, compiling Java takes longer than interpreting."""
    both = BothSites(tmp_path_factory.mktemp("data"), session)
    both.spark.session.conf.set("spark.sql.codegen.wholeStage", "false")
    both.spark.session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return both


@pytest.fixture(scope="package")
def sites_as_served(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> BothSites:
    """Both sites with the settings of the endpoint."""
    return BothSites(tmp_path_factory.mktemp("data"), session)
