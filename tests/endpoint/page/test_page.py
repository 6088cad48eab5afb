"""The page for people: what is served, how, and that nothing in it points elsewhere."""

from __future__ import annotations

import asyncio
import posixpath
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from endpoint.page import ASSETS, CONTENT_SECURITY_POLICY, routes

FOLDER = Path(__file__).parent
SOURCES = FOLDER.parents[2] / "endpoint" / "page"
NAMES = sorted(ASSETS)
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
NAMESPACES = {
    "http://example.org/",
    "http://www.opengis.net/ont/geosparql#wktLiteral",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/2001/XMLSchema#",
    "http://www.w3.org/ns/sosa/",
}


def url(name: str) -> str:
    return "/" if name == "index.html" else f"/page/{name}"


class Client:
    """The page's routes below ``prefix``, asked without a network."""

    def __init__(self, prefix: str) -> None:
        self.base = f"http://testserver{prefix}/"
        self.app = Starlette(routes=[Mount(prefix, routes=routes)] if prefix else routes)

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        async def answered() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=self.base) as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(answered())

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.ask("GET", path, headers)


@pytest.fixture(params=["", "/some/prefix"])
def client(request: pytest.FixtureRequest) -> Client:
    """The page at the root of a server, and mounted below a prefix."""
    return Client(request.param)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_served_with_its_type_and_the_policy(client: Client, name: str) -> None:
    response = client.get(url(name))
    assert response.status_code == 200
    assert response.content == (SOURCES / name).read_bytes()
    assert response.headers["content-type"] == TYPES[name.rpartition(".")[2]]
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-cache"


def test_the_page_has_all_the_files_it_was_written_with() -> None:
    written = {path.relative_to(SOURCES).as_posix() for path in SOURCES.rglob("*") if path.suffix[1:] in TYPES}
    assert written == set(NAMES)
    assert {"index.html", "main.js", "page.css", "icon.svg"} <= written


def test_a_copy_that_is_still_right_is_not_sent_again(client: Client) -> None:
    etag = client.get("/").headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        response = client.get("/", headers={"If-None-Match": known})
        assert (response.status_code, response.content) == (304, b"")
        assert response.headers["etag"] == etag
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200
    assert len({client.get(url(name)).headers["etag"] for name in NAMES}) == len(NAMES)


def test_head_says_what_get_would(client: Client) -> None:
    head, get = client.ask("HEAD", "/"), client.get("/")
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers} == {**get.headers}


@pytest.mark.parametrize("path", ["/page/", "/page/nothing.js", "/page/__init__.py", "/page/package.json",
                                  "/page/index.html", "/page/../__init__.py", "/page/%2e%2e/backend.py"])  # fmt: skip
def test_nothing_else_is_served(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_page_is_only_for_reading(client: Client) -> None:
    assert client.ask("POST", "/").status_code == 405
    assert client.ask("DELETE", "/page/main.js").status_code == 405


def test_the_policy_allows_own_scripts_and_styles_and_no_inline_ones() -> None:
    policy = dict(directive.split(" ", 1) for directive in CONTENT_SECURITY_POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in CONTENT_SECURITY_POLICY


class Tags(HTMLParser):
    """Tags with their attributes, and whether a script or style stands in the page itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


def page_tags() -> list[tuple[str, dict[str, str]]]:
    return Tags(ASSETS["index.html"].body.decode()).tags


def test_nothing_in_the_page_needs_more_than_the_policy_allows() -> None:
    for tag, attributes in page_tags():
        assert tag != "style"
        assert tag != "script" or attributes.get("src")
        assert not any(name == "style" or name.startswith("on") for name in attributes), (tag, attributes)


def test_all_links_of_the_page_are_relative_and_lead_to_files_that_are_there(client: Client) -> None:
    links = [attributes[name] for _, attributes in page_tags() for name in ("src", "href") if name in attributes]
    assert len(links) >= 4
    for link in links:
        parts = urlsplit(link)
        assert not parts.scheme
        assert not parts.netloc
        assert not link.startswith("/")
        if parts.path:
            assert client.get(urljoin(client.base, link)).status_code == 200


def test_all_imports_of_the_scripts_are_files_that_are_there() -> None:
    imported = set()
    for name in NAMES:
        if name.endswith(".js"):
            text = ASSETS[name].body.decode()
            found = re.findall(r"""\bfrom\s+["']([^"']+)["']|\bimport\s*\(?\s*["']([^"']+)["']""", text)
            assert all((first or second).startswith(("./", "../")) for first, second in found)
            imported |= {posixpath.normpath(posixpath.join(name, "..", first or second)) for first, second in found}
    assert imported
    assert imported <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_no_file_names_another_site_but_for_known_namespaces(name: str) -> None:
    text = ASSETS[name].body.decode()
    absolute = set(re.findall(r"https?://[^\s<>\"'`)\\]*[\w/#][^\s<>\"'`)\\]*", text))
    assert absolute <= NAMESPACES
    assert not re.search(r"""["'(]//\w""", text), "an address without a scheme leads elsewhere as well"


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".js")])
def test_no_script_makes_markup_or_code_out_of_text(name: str) -> None:
    text = ASSETS[name].body.decode()
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|createContextualFragment"
    assert not re.search(forbidden, text)


def test_every_label_and_id_the_page_refers_to_is_there() -> None:
    tags = page_tags()
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(attributes.get(name, "").split()) <= set(ids)
    used = set(re.findall(r'byId\("([\w-]+)"\)', ASSETS["main.js"].body.decode()))
    assert used
    assert used <= set(ids)


def test_scripts_read_draw_and_tell_queries_apart() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH: the page's scripts are tested with node --test")
    files = sorted(str(path) for path in FOLDER.glob("*.test.js"))
    assert len(files) == 8
    run = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
