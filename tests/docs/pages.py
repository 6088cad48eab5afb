"""The pages of the documentation, read by the parser that the site is made with."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils.base import DocutilsRenderer
from myst_parser.parsers.mdit import create_md_parser
from myst_parser.slugs import github_slugify

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(DOCS.rglob("*.md")),
)
"""All pages, those outside of the site too."""

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.DOTALL)
_LANGUAGES = frozenset({"sh", "text", "sparql", "python", "toml", "nginx"})
"""Of code that is compared, run or read; other fences are the site's own directives."""


@dataclass(frozen=True)
class Block:
    """A block of code: its language, its text, its line, what the comment right before it says ("" without one).

    ``shown`` is the block of ``text`` that follows a block of another language, which is what that gives; None without.
    """

    page: Path
    line: int
    language: str
    text: str
    comment: str
    shown: str | None = None

    @property
    def place(self) -> str:
        """For a person."""
        return f"{named(self.page)}:{self.line}"


@dataclass(frozen=True)
class Page:
    """One page. ``anchors`` are those of its headings, ``code`` what stands in the text between backticks."""

    path: Path
    headings: tuple[str, ...]
    links: tuple[str, ...]
    code: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def anchors(self) -> set[str]:
        return {github_slugify(heading) for heading in self.headings}

    def blocks_of(self, language: str) -> list[Block]:
        return [block for block in self.blocks if block.language == language]


def named(page: Path) -> str:
    """The page's path from the root of the repository."""
    return page.relative_to(ROOT).as_posix()


@cache
def page(path: Path) -> Page:
    """Read a page."""
    tokens = create_md_parser(MdParserConfig(), DocutilsRenderer).parse(path.read_text("utf-8"))
    headings: list[str] = []
    links: list[str] = []
    code: list[str] = []
    blocks: list[Block] = []
    comment = ""
    for place, token in enumerate(tokens):
        inside = token.children or []
        if token.type == "inline":
            links += [str(one.attrs["href"]) for one in inside if one.type == "link_open"]
            links += [str(one.attrs["src"]) for one in inside if one.type == "image"]
            code += [one.content for one in inside if one.type == "code_inline"]
            if tokens[place - 1].type == "heading_open":
                headings.append("".join(one.content for one in inside if one.type in ("text", "code_inline")))
        elif token.type == "fence" and token.info in _LANGUAGES:
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            shows = token.info != "text" and following is not None and following.info == "text"
            assert token.map is not None
            blocks.append(
                Block(
                    path,
                    token.map[0] + 1,
                    token.info,
                    token.content,
                    comment,
                    following.content if shows and following is not None else None,
                )
            )
        written = _COMMENT.fullmatch(token.content.strip()) if token.type == "html_block" else None
        comment = written[1] if written else ""
    return Page(path, tuple(headings), tuple(links), tuple(code), tuple(blocks))


@cache
def symbols(module: Path) -> frozenset[str]:
    """What a Python module defines: ``name`` at its top, ``Class.name`` in a class."""
    found: set[str] = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        found.update(_defined(node))
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for inner in node.body for name in _defined(inner))
    return frozenset(found)


def _defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []
