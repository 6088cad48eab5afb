"""What a worker host is told that it lacks, and that it computes nothing until it has it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from protocol.errors import Unavailable
from spark_backend.layout import Layout
from spark_backend.spark import hosts
from spark_backend.spark.hosts import (
    PACKAGES,
    HostRequirements,
    WorkerHosts,
    file_system,
    on_fit_hosts,
    read_cores,
    write_cores,
)
from spark_backend.spark.launch.shipped_code import write_code

IMPORTED = """
import sys
from importlib import metadata
import spark_backend.evaluation.process, spark_backend.spark.task, spark_backend.spark_sql.windows.source
import spark_backend.spark_sql.translation.plans
found = {module.partition(".")[0] for module in sys.modules}
distributions = metadata.packages_distributions()
for name in {name for module in found for name in distributions.get(module, ())}:
    print(name)
print(spark_backend.spark.task.__file__)
"""
# pyspark is the cluster's own, which Spark checks; the others come with a package that has to be the same itself.
OTHERS = {"mypy_extensions", "py4j", "pyspark", "python-dateutil", "pytz", "setuptools", "six", "sparql-streams"}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.make()
    return layout


def through(rows: Iterator[Any]) -> Iterator[Any]:
    yield from rows


def test_a_host_that_sees_the_directory_and_has_the_packages_is_fit(layout: Layout) -> None:
    requirements = HostRequirements.publish(layout)
    assert requirements.problem() is None
    task = pickle.loads(pickle.dumps(on_fit_hosts(requirements, through)))
    assert list(task(iter([1, 2]))) == [1, 2]
    assert Path(requirements.root, "streams").samefile(layout.streams)


def test_a_host_with_another_directory_of_that_name_is_told_to_mount_it(layout: Layout) -> None:
    requirements = HostRequirements.publish(layout)
    # As another host sees it, where somebody has copied the directory before this start.
    requirements.withdraw()
    told = f"does not see the server's data directory {layout.root}: mount it there, at the same path"
    with pytest.raises(Unavailable, match=told):
        next(on_fit_hosts(requirements, through)(iter([1])))


def test_what_an_earlier_start_has_left_is_no_longer_seen(layout: Layout) -> None:
    before = HostRequirements.publish(layout)
    after = HostRequirements.publish(layout)
    assert before.problem() is not None
    assert after.problem() is None


def test_a_host_with_other_packages_is_told_which(layout: Layout) -> None:
    found = metadata.version("duckdb")
    requirements = HostRequirements.publish(layout)
    wanted = replace(requirements, packages=(("duckdb", "0.1"), ("a-package-of-nobody", "2.0")))
    told = f"(duckdb {found}, which has to be 0.1; no a-package-of-nobody, which has to be 2.0)"
    assert told in str(wanted.problem())


MOUNTS = r"""22 1 253:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /srv rw - tmpfs none rw
31 30 0:40 / /srv/our\040data rw,relatime shared:1 - nfs4 server:/data rw,vers=4.2
32 22 0:41 / /srv/ours rw - ceph 10.0.0.1:/ rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "ext4"), ("/srv/x", "tmpfs"), ("/srv/our data/x", "nfs4"), ("/srv/ours/x", "ceph"), ("/srv/oursx", "tmpfs")],
)
def test_the_file_system_is_that_of_the_innermost_mount(path: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    assert file_system(path, str(tmp_path / "mounts")) == kind


def test_a_host_whose_file_system_shows_what_others_write_late_is_told_so(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "file_system", lambda path: "nfs4")
    assert f"has the server's data directory {layout.root} on nfs4" in str(HostRequirements.publish(layout).problem())


def test_the_code_that_is_shipped_is_all_that_tasks_import_and_the_packages_are_all_others(tmp_path: Path) -> None:
    archive = write_code(tmp_path)
    # Away from the checkout, and without what is installed in its stead (an editable install has a finder of its own).
    script = f"import sys; sys.path.insert(0, {str(archive)!r}); exec({IMPORTED!r})"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    )
    *distributions, place = done.stdout.split()
    assert place.startswith(str(archive))
    assert {"duckdb", "pyoxigraph"} <= set(distributions) - OTHERS <= set(PACKAGES)


class ClusterContext:
    """What a look needs of Spark's context. ``executors``: those it knows, the driver's own entry among them.

    ``tasks``: what is told by those that it gives tasks to.
    """

    defaultParallelism = 2  # noqa: N815 - Spark's name

    def __init__(self) -> None:
        self.executors = ["driver", "host:1"]
        self.tasks: list[str | None] = [None]
        self.jobs = 0
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: self))

    def size(self) -> int:
        return len(self.executors)

    def keySet(self) -> ClusterContext:  # noqa: N802 - Java's name
        return self

    def mkString(self, separator: str) -> str:  # noqa: N802 - Java's name
        return separator.join(self.executors)

    def parallelize(self, elements: range, count: int) -> ClusterContext:
        return self

    def mapPartitions(self, task: Any) -> ClusterContext:  # noqa: N802 - Java's name
        return self

    def collect(self) -> list[str | None]:
        self.jobs += 1
        self.meanwhile()
        return self.tasks

    def meanwhile(self) -> None:
        """What happens while the tasks run."""


class Looks:
    """``WorkerHosts`` that look when they are told to, at the time that they are told."""

    def __init__(self, context: ClusterContext, layout: Layout) -> None:
        self._now = 1000.0
        session, requirements = SimpleNamespace(sparkContext=context), HostRequirements.publish(layout)
        self.hosts = WorkerHosts("spark://m:1", session, requirements, layout, lambda: self._now)

    def look(self, later: float) -> str | None:
        """What is said of the hosts, when it is looked so many seconds later."""
        self._now += later
        self.hosts.look()
        if self.hosts._asking is not None:
            self.hosts._asking.join()
        return self.hosts.said


def test_an_executor_that_is_known_before_it_is_given_tasks_is_asked_once_more(layout: Layout) -> None:
    context = ClusterContext()
    looks = Looks(context, layout)
    assert [looks.look(0), looks.look(11)] == [None, None]
    context.executors.append("blind:2")
    assert looks.look(1) is None
    context.tasks = [None, "the worker host blind does not see the directory"]
    assert looks.look(9) is None
    assert looks.look(2) == "the worker host blind does not see the directory"
    assert looks.hosts.fit
    # Busy, it is given no task: that nobody says so is not believed for long.
    context.tasks = [None]
    assert looks.look(11) is None
    context.tasks = [None, "the worker host blind does not see the directory"]
    assert looks.look(11) == "the worker host blind does not see the directory"
    context.executors.pop()
    context.tasks.pop()
    assert looks.look(1) is None


def test_hosts_that_are_fit_are_asked_each_minute_and_those_that_are_not_each_ten_seconds(layout: Layout) -> None:
    context = ClusterContext()
    looks = Looks(context, layout)
    for _ in range(100):
        looks.look(1)
    # At once, once more as they are new, and a minute after that.
    assert context.jobs == 3
    context.tasks = ["the worker host lost its mount"]
    assert [looks.look(40), looks.hosts.fit] == ["the worker host lost its mount", False]
    context.tasks = [None]
    assert looks.look(9) == "the worker host lost its mount"
    assert [looks.look(2), looks.hosts.fit] == [None, True]


def test_what_hosts_told_that_have_gone_meanwhile_is_not_said(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ClusterContext()
    looks = Looks(context, layout)

    def go() -> None:
        context.executors.pop()
        looks.hosts.look()

    monkeypatch.setattr(context, "meanwhile", go)
    said = "spark://m:1 gives no worker hosts: evaluations wait for one"
    assert [looks.look(0), looks.hosts.fit] == [said, False]
    monkeypatch.undo()
    context.executors.append("host:2")
    assert [looks.look(1), looks.hosts.fit] == [None, True]


class Stopping(threading.Event):
    """Is set when it was looked at so often that nobody would have waited any longer."""

    looks = 1000

    def is_set(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_whoever_waits_for_hosts_is_told_that_spark_has_ended(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    context, stopping = ClusterContext(), Stopping()
    waiting = Looks(context, layout).hosts

    def ended() -> int:
        raise ConnectionRefusedError("Spark has ended")

    monkeypatch.setattr(hosts, "_LOOK", 0.001)
    monkeypatch.setattr(context, "size", ended)
    waiting.start()
    with pytest.raises(Unavailable, match="what worker hosts there are: Spark has ended"):
        waiting.wait(stopping)
    waiting.close()


def test_the_cores_are_those_written_last(layout: Layout) -> None:
    write_cores(layout, 3)
    write_cores(layout, 200)
    assert read_cores(layout) == 200
