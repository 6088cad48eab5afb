"""What the documentation points to is there, and so is what the code says of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, Block, named, page, symbols

_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:")
_PATH = re.compile(
    r"((?:endpoint|protocol|spark_backend|conformance|tests|docs|\.ci)/[\w./-]*|[A-Z]+\.md|Makefile|pyproject\.toml)"
    r"(?::([A-Za-z_][\w.]*))?"
)
_NAME = re.compile(r"_?[A-Z][a-z]+[A-Z]\w+|_?[a-z]+(?:_[a-z]+)+")
_WORD = re.compile(r"\w+")
_MAKE = re.compile(r"^make ([a-z-]+)", re.MULTILINE)
_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
_FILE_OF_QUOTE = re.compile(r"# ([\w/]+\.py)")
_CITATION = re.compile(r'docs/([\w/-]+\.md)((?:(?:,|\s+and)?[\s#/]+"[^"]+")*)')
_CODE = ("endpoint", "protocol", "spark_backend", "conformance", "tests")

every_page = pytest.mark.parametrize("path", PAGES, ids=named)


def sources() -> Iterator[Path]:
    """All code that may cite a page, but this test."""
    for folder in _CODE:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".js", ".toml") and "node_modules" not in path.parts and path != Path(__file__):
                yield path


@cache
def words() -> frozenset[str]:
    """All words of the code."""
    return frozenset(word for path in sources() for word in _WORD.findall(path.read_text("utf-8")))


@every_page
def test_every_link_leads_somewhere(path: Path) -> None:
    lost = []
    for link in page(path).links:
        if _EXTERNAL.match(link):
            continue
        target, _, anchor = link.partition("#")
        file = (path.parent / target).resolve() if target else path
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            lost.append(link)
    assert not lost


def _anchors(file: Path) -> set[str]:
    # The first page of the site has the README in it.
    included = page(ROOT / "README.md").anchors if file == DOCS / "index.md" else set()
    return page(file).anchors | included


@every_page
def test_headings_can_be_told_apart(path: Path) -> None:
    if path.name != "CHANGELOG.md":  # each of its versions has the same
        assert len(page(path).anchors) == len(page(path).headings)


@every_page
def test_every_path_and_every_name_in_it_is_there(path: Path) -> None:
    lost = []
    for code in page(path).code:
        found = _PATH.fullmatch(code)
        if found is None:
            continue
        file = ROOT / found[1]
        if not file.exists() or (found[2] and found[2] not in symbols(file)):
            lost.append(code)
    assert not lost


def test_paths_are_recognised() -> None:
    """The check above sees what it is there for."""
    named_paths = [code for path in PAGES for code in page(path).code if _PATH.fullmatch(code)]
    assert len(named_paths) > 100
    assert "StreamLog.append" in symbols(ROOT / "spark_backend/log/writer.py")
    assert "StreamLog.prepend" not in symbols(ROOT / "spark_backend/log/writer.py")


@every_page
def test_every_name_of_the_code_is_there(path: Path) -> None:
    """Names of classes and functions that stand without a path: somewhere they have to be."""
    names = {code for code in page(path).code if _NAME.fullmatch(code)}
    assert names <= words()


@every_page
def test_every_make_target_is_there(path: Path) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    said = {target for code in page(path).code for target in _MAKE.findall(code)}
    said |= {target for block in page(path).blocks_of("sh") for target in _MAKE.findall(block.text)}
    assert said <= targets


QUOTES = [block for path in PAGES for block in page(path).blocks_of("python") if block.text.startswith("# ")]


@pytest.mark.parametrize("quote", QUOTES, ids=lambda block: block.place)
def test_quoted_code_is_the_code(quote: Block) -> None:
    """A block that begins with a comment that names a file is from that file, its lines in that order."""
    first, *lines = quote.text.splitlines()
    file = _FILE_OF_QUOTE.fullmatch(first)
    assert file is not None
    code = (ROOT / file[1]).read_text("utf-8").splitlines()
    start = 0
    for line in lines:
        assert line in code[start:], f"{file[1]} has no line {line!r} there"
        start = code.index(line, start) + 1


def test_what_the_code_cites_is_there() -> None:
    lost = []
    for path in sources():
        for name, headings in citations(path.read_text("utf-8")):
            cited = DOCS / name
            if not cited.is_file() or not set(headings) <= set(page(cited).headings):
                lost.append((named(path), name, headings))
    assert not lost


def citations(text: str) -> list[tuple[str, list[str]]]:
    """The pages that a source cites, with their headings, which lines may break."""
    return [
        (name, [re.sub(r"[\s#]+", " ", heading) for heading in re.findall(r'"([^"]+)"', headings)])
        for name, headings in _CITATION.findall(text)
    ]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ('(docs/model.md, "Windows").', [("model.md", ["Windows"])]),
        (
            'docs/http.md, "Standing queries" and "Result\n    streams"',
            [("http.md", ["Standing queries", "Result streams"])],
        ),
        ('# docs/model.md,\n# "The dataset"; docs/http.md', [("model.md", ["The dataset"]), ("http.md", [])]),
    ],
)
def test_citations_are_recognised(text: str, cited: list[tuple[str, list[str]]]) -> None:
    assert citations(text) == cited
