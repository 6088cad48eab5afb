"""A real broker of Kafka's in one process (KRaft), that can be stopped, killed and started again with what it had.

Its jars are fetched from Maven Central once, by the Ivy that comes with Spark, into a cache outside the checkout.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest

from spark_backend.spark.launch.java import find_java
from tests.free_port import free_port
from tests.started import Broker

VERSION = "4.2.1"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sparql-streams-tests"
_LIBRARY = CACHE / f"kafka-{VERSION}"
_PATIENCE = 120.0
_FETCH_SECONDS = 600.0

_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners={security}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={security}://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,{security}:{security}
inter.broker.listener.name={security}
log.dirs={directory}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=500
"""

_MODULES = """\
<ivy-module version="2.0">
  <info organisation="tests" module="kafka"/>
  <dependencies>
    <dependency org="org.apache.kafka" name="kafka_2.13" rev="{version}" conf="default"/>
    <dependency org="org.apache.kafka" name="kafka-tools" rev="{version}" conf="default"/>
  </dependencies>
</ivy-module>
"""

_SCRIPTS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-console-producer.sh": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c{1}: %m%n
"""


def fetch_broker() -> Path:
    """The directory with the broker's jars, fetched if need be. Raises OSError, SubprocessError."""
    if not _LIBRARY.is_dir():
        (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as directory:
            Path(directory, "ivy.xml").write_text(_MODULES.format(version=VERSION))
            command = [
                str(java()), "-jar", str(ivy), "-cache", str(CACHE / "ivy"),
                "-ivy", f"{directory}/ivy.xml", "-types", "jar", "bundle",
                "-retrieve", f"{directory}/lib/[artifact]-[revision].[ext]",
            ]  # fmt: skip
            subprocess.run(command, check=True, capture_output=True, timeout=_FETCH_SECONDS)
            # Another process of tests may have been quicker.
            if not _LIBRARY.is_dir():
                Path(directory, "lib").rename(_LIBRARY)
    return _LIBRARY


@functools.cache
def _absent() -> str | None:
    try:
        fetch_broker()
    except (OSError, subprocess.SubprocessError) as error:
        return f"Kafka {VERSION} could not be fetched from Maven Central: this machine's network, not a fault ({error})"
    return None


@functools.cache
def java() -> Path:
    return find_java(CACHE).home / "bin" / "java"


class KafkaBroker(Broker):
    """``with`` it. ``settings`` come besides, or instead; ``security`` is the protocol that it speaks, at ``port``, or
    at a free one.

    Skips the test where there is no network to fetch it.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        security: str = "PLAINTEXT",
        port: int | None = None,
    ) -> None:
        if (reason := _absent()) is not None:
            pytest.skip(reason)
        super().__init__(directory, port or free_port())
        controller = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"kafka://{self.address}"
        text = _SETTINGS.format(port=self.port, controller=controller, directory=directory, security=security)
        text += "".join(f"{name}={value}\n" for name, value in (settings or {}).items())
        (directory / "server.properties").write_text(text)
        (directory / "log4j2.properties").write_text(_LOGGING)
        self._ask("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(self._properties))

    @property
    def _properties(self) -> Path:
        return self._directory / "server.properties"

    def start(self) -> None:
        self._run(self._command("kafka.Kafka", str(self._properties)), _PATIENCE)

    def stop(self) -> None:
        """As an operator would; does nothing the second time."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _command(self, *arguments: str) -> list[str]:
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        logging = f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}"
        return [str(java()), *options, logging, "-cp", f"{_LIBRARY}/*", *arguments]

    def _ask(self, *arguments: str) -> None:
        subprocess.run(self._command(*arguments), check=True, capture_output=True, timeout=_PATIENCE)


def write_scripts(directory: Path) -> Path:
    """Kafka's own scripts, in a directory that is made."""
    directory.mkdir()
    for name, tool in _SCRIPTS.items():
        path = directory / name
        path.write_text(f'#!/bin/sh\nexec "{java()}" -Xmx128m -cp "{_LIBRARY}/*" {tool} "$@"\n')
        path.chmod(0o700)
    return directory


if __name__ == "__main__":
    print(fetch_broker())
