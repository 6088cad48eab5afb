"""rdflib-endpoint's own tests and example application, with one import changed, where a checkout of it is given.

``RDFLIB_ENDPOINT_CHECKOUT`` is its path. Of its tests those are run that ask over HTTP.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

CHECKOUT = os.environ.get("RDFLIB_ENDPOINT_CHECKOUT", "")

pytestmark = pytest.mark.skipif(
    not CHECKOUT,
    reason="RDFLIB_ENDPOINT_CHECKOUT names no checkout of rdflib-endpoint: the caller's choice, not a fault",
)

FAKE_BACKEND = "tests/endpoint/fake_backend.py"
DIFFERENT: dict[str, set[str]] = {
    "test_rdflib_endpoint": {
        # RDFLIB_APIKEY is read when the application is made (docs/embedding.md).
        "test_sparql_update[key-False-body_form]",
        "test_sparql_update[key-False-body_direct]",
        # They want Turtle to begin with @prefix; ours has the prefixes that it needs, here none.
        "test_concat_construct_turtle",
        "test_concat_construct_csv",
    },
    "test_oxrdflib": set(),
    "test_example_app": set(),
}


def with_one_import_changed(folder: Path) -> None:
    for file in folder.rglob("*.py"):
        text = file.read_text("utf-8")
        file.write_text(
            re.sub(r"^from rdflib_endpoint import", "from endpoint.rdflib_endpoint import", text, flags=re.M)
        )


@pytest.mark.parametrize("module", DIFFERENT)
def test_it_passes_but_for_what_is_told(module: str, tmp_path: Path) -> None:
    if module == "test_example_app":
        pytest.importorskip(
            "bioregistry", reason="their example imports bioregistry, which is none of ours", exc_type=ImportError
        )
    for name in ("tests", "example"):
        shutil.copytree(Path(CHECKOUT) / name, tmp_path / name)
        with_one_import_changed(tmp_path / name)
    ours = Path(__file__).parents[3]
    # Their folder of tests has the name of ours, so that the backend for tests is read from its file.
    (tmp_path / "conftest.py").write_text(
        "import importlib.util, sys\n"
        "import endpoint.app\n"
        f"spec = importlib.util.spec_from_file_location('fake_backend', {str(ours / FAKE_BACKEND)!r})\n"
        "sys.modules['fake_backend'] = module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "endpoint.app.spark_backend = lambda *_: module.FakeBackend()\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    report = tmp_path / "report.xml"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", f"tests/{module}.py"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ours), *filter(None, [os.environ.get("PYTHONPATH")]))),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None}
    assert len(cases) > 3, done.stdout
    assert failed == DIFFERENT[module], done.stdout[-5000:]
