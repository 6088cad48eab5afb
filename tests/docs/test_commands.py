"""The commands of the documentation do what it says: each page in a folder and on an endpoint of its own, in order.

One server serves all pages, and is emptied between them. A block of ``text`` right after one of commands is what these
print, with ``…`` for what is left out. A comment right before a block says ``refused`` (its last command fails), or
``not run: …``, and why.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, Block, named, page
from tests.server.server_process import ServerProcess

BLOCKS = {path: page(path).blocks_of("sh") for path in PAGES}
RUN = {
    path: run
    for path, blocks in BLOCKS.items()
    if (run := [block for block in blocks if not block.comment.startswith("not run")])
}

_NOT_RUN = re.compile(r"not run: \S+ .+")
_ADDRESS = re.compile(r"(?:localhost|127\.0\.0\.1):8000")
_SECONDS = 60

# An error of the server is an error of the block; what a block leaves in the background ends with the page.
_BEFORE = """
set -eu
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
"""
_CURL = "fail-with-body\nsilent\nshow-error\n"


def printed(blocks: list[Block], server: ServerProcess, folder: Path) -> list[str]:
    """What each block prints, run one after the other by one shell."""
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / ".curlrc").write_text(_CURL)
    script = [_BEFORE]
    for number, block in enumerate(blocks):
        script.append(f"exec > {number}.out")
        commands = _ADDRESS.sub(f"127.0.0.1:{server.port}", block.text)
        script.append(f"if ( {commands} ); then exit 1; fi" if block.comment == "refused" else commands)
    environment = {
        **os.environ,
        "HOME": str(folder),
        "CURL_HOME": str(folder),
        "PYTHONPATH": str(ROOT),
        "SPARQL_STREAMS_SERVER": server.url,
    }
    run = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=folder, env=environment, capture_output=True, timeout=_SECONDS
    )  # fmt: skip
    out = [path.read_text() for number in range(len(blocks)) if (path := folder / f"{number}.out").exists()]
    assert run.returncode == 0, f"{blocks[len(out) - 1].place}: {out[-1]}{run.stderr.decode()}"
    return out


def told(text: str) -> list[str]:
    """The lines that are compared: of events not the heartbeats, nor ``progress``, which comes when it comes."""
    lines: list[str] = []
    for event in re.split(r"\n(?=\n)", text):
        if "event: progress" not in event:
            lines += [line for line in event.splitlines() if line and not line.startswith(":")]
    return lines


def assert_prints(output: str, shown: str) -> None:
    expected, actual = told(shown), told(output)
    assert len(actual) == len(expected), f"{output}\nis not\n{shown}"
    for line, wanted in zip(actual, expected, strict=True):
        pattern = ".*".join(map(re.escape, wanted.split("…")))
        assert re.fullmatch(pattern, line), f"{line}\nis not\n{wanted}"


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.parametrize("path", RUN, ids=named)
def test_the_commands_of_a_page_print_what_it_shows(path: Path, emptied: ServerProcess, tmp_path: Path) -> None:
    for block, output in zip(RUN[path], printed(RUN[path], emptied, tmp_path), strict=True):
        if block.shown is not None:
            assert_prints(output, block.shown)


def test_what_is_not_run_has_a_reason() -> None:
    left_out = [block for path, blocks in BLOCKS.items() for block in blocks if block not in RUN.get(path, [])]
    print(f"{len(left_out)} of {sum(map(len, BLOCKS.values()))} blocks of commands are not run:")
    for block in left_out:
        print(f"  {block.place}: {block.comment}")
        assert _NOT_RUN.fullmatch(block.comment), block.place
    assert {block.comment for blocks in RUN.values() for block in blocks} == {"", "refused"}
    assert len(left_out) <= 4, "most of what the documentation says to do is tried"


def test_the_output_of_a_page_is_compared() -> None:
    """The comparison sees a difference, and passes over what it should."""
    assert_prints(": heartbeat\n\nid: 1\ndata: {a}\n\nevent: progress\ndata: {b}\n\n", "id: 1\ndata: {…}\n")
    for other in ("id: 1\ndata: {\n", "id: 1\ndata: {a}\nx\n", "id: 2\ndata: {a}\n"):
        with pytest.raises(AssertionError):
            assert_prints(other, "id: 1\ndata: {…}\n")
    assert any(block.shown for block in BLOCKS[DOCS / "http.md"])
