"""Spark's connector to Kafka, which pyspark does not bring along: fetched when it is first needed."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import Any

from protocol.kafka import KafkaFailed
from spark_backend.kafka.java import java_says

log = logging.getLogger(__name__)

CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.2.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
"""What it is made of, besides what pyspark has: no connector of 4.3 has been published, and Spark 4.3 runs this one."""

_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_fetching = threading.Lock()


def require_connector(session: Any, jars: Path | None) -> None:
    """Have the classes of the connector in this session and its tasks, and for the calling thread's calls to Java.

    ``jars``: a directory that has them; None: Spark fetches them from Maven Central, once for a user of a machine.
    Raises KafkaFailed, which says how to provide them.
    """
    with _fetching:
        loader = session._jsparkSession.sharedState().jarClassLoader()
        if not _has(loader, _PROVIDER):
            _add(session, jars)
        session.sparkContext._jvm.java.lang.Thread.currentThread().setContextClassLoader(loader)


def jar_names() -> list[str]:
    """The names of the connector's files, as Maven Central has them."""
    return ["-".join(coordinates.split(":")[1:]) + ".jar" for coordinates in CONNECTOR]


def _has(loader: Any, name: str) -> bool:
    resource = loader.getResource(name.replace(".", "/") + ".class")
    return resource is not None


def _add(session: Any, jars: Path | None) -> None:
    began = time.monotonic()
    for name, resource in zip(jar_names(), _resources(jars), strict=True):
        try:
            session.sql(f"ADD JAR '{resource}'")
        except Exception as error:
            raise KafkaFailed(
                f"Spark's connector to Kafka is not there ({name}: {java_says(error)}). Where the server has no "
                f"network, download {', '.join(jar_names())} from Maven Central into a directory, and start it with "
                "--kafka-jars DIRECTORY"
            ) from None
    log.info("Spark's connector to Kafka is there after %.1f s", time.monotonic() - began)


def _resources(jars: Path | None) -> list[str]:
    """The addresses of the files, for ADD JAR. Raises KafkaFailed where the directory lacks one."""
    if jars is None:
        # Each by itself: what they depend on besides, Spark has.
        return [f"ivy://{coordinates}?transitive=false" for coordinates in CONNECTOR]
    missing = [name for name in jar_names() if not (jars / name).is_file()]
    if missing:
        raise KafkaFailed(f"--kafka-jars {jars} lacks {', '.join(missing)}: download them from Maven Central")
    return [str(jars / name) for name in jar_names()]
