"""Static patterns' triples as files that are the same as long as the triples are."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.terms import XSD, comparable_facets
from spark_backend.compiler.sql.static_pattern import StaticPattern
from spark_backend.statics.graphs import Quad
from spark_backend.statics.tables import SCHEMA, StaticTables
from tests.spark_backend.static_graphs import QuadsInMemory

P, Q, S = "<http://ex/p>", "<http://ex/q>", "<http://ex/s>"
ONE = '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'
NAN = '"NaN"^^<http://www.w3.org/2001/XMLSchema#double>'
G, H = "http://ex/g", "http://ex/h"


class Graphs(QuadsInMemory):
    def __init__(self, *quads: tuple[str, str, str, str]) -> None:
        self.version = 0
        self.all = list(quads)
        self.asked = 0

    def named_graphs(self) -> list[str]:
        return sorted({g if g.startswith("_:") else g[1:-1] for g, *_ in self.all if g})

    def quads(
        self, subject: str | None, predicate: str | None, object: str | None, graphs: Sequence[str] | None
    ) -> Iterator[tuple[str, str, str, str]]:
        self.asked += 1
        names = [""] if graphs is None else [name if name.startswith("_:") else f"<{name}>" for name in graphs]
        for g, s, p, o in self.all:
            if g in names and subject in (None, s) and predicate in (None, p) and object in (None, o):
                yield g, s, p, o


GRAPHS = (
    ("", S, P, ONE),
    ("", S, Q, '"x"'),
    (f"<{G}>", S, P, ONE),
    (f"<{G}>", S, P, NAN),
    (f"<{H}>", S, P, ONE),
    ("_:b", S, Q, S),
)


def rows(directory: Path, file: str | None) -> list[tuple[object, ...]]:
    assert file is not None
    with pa.memory_map(str(directory / file)) as source:
        table = pa.ipc.open_file(source).read_all()
    assert table.schema == SCHEMA
    return [tuple(row.values()) for row in table.to_pylist()]


def test_a_pattern_of_the_default_graph_finds_its_triples_with_their_facets(tmp_path: Path) -> None:
    tables = StaticTables(tmp_path, Graphs(*GRAPHS))
    assert rows(tmp_path, tables.file(StaticPattern("default", (), None, P, None))) == [("", S, P, ONE, 1, 1.0)]
    assert rows(tmp_path, tables.file(StaticPattern("default", (), S, None, '"x"'))) == [("", S, Q, '"x"', 8, None)]


def test_graphs_are_merged_as_a_set(tmp_path: Path) -> None:
    tables = StaticTables(tmp_path, Graphs(*GRAPHS))
    found = rows(tmp_path, tables.file(StaticPattern("merged", (G, H, "http://ex/nope"), None, P, ONE)))
    assert found == [("", S, P, ONE, 1, 1.0)]


def test_named_graphs_keep_their_names_blank_ones_too(tmp_path: Path) -> None:
    tables = StaticTables(tmp_path, Graphs(*GRAPHS))
    every = rows(tmp_path, tables.file(StaticPattern("named", None)))
    assert {row[0] for row in every} == {f"<{G}>", f"<{H}>", "_:b"}
    assert len(every) == 4
    assert {row[0] for row in rows(tmp_path, tables.file(StaticPattern("named", (G,))))} == {f"<{G}>"}


def test_the_names_of_graphs_are_a_table(tmp_path: Path) -> None:
    tables = StaticTables(tmp_path, Graphs(*GRAPHS))
    assert sorted(str(row[0]) for row in rows(tmp_path, tables.file(StaticPattern("names", None)))) == [
        f"<{G}>",
        f"<{H}>",
        "_:b",
    ]


def test_nothing_found_is_no_file(tmp_path: Path) -> None:
    tables = StaticTables(tmp_path, Graphs(*GRAPHS))
    assert tables.file(StaticPattern("default", (), None, "<http://ex/nope>", None)) is None
    assert list(tmp_path.iterdir()) == []


def test_a_change_elsewhere_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    graphs = Graphs(*GRAPHS)
    tables, pattern = StaticTables(tmp_path, graphs), StaticPattern("default", (), None, P, None)
    before = tables.file(pattern)
    graphs.all.append(("", S, Q, ONE))
    graphs.version += 1
    assert tables.file(pattern) == before
    graphs.all.append(("", Q, P, ONE))
    graphs.version += 1
    assert tables.file(pattern) not in (None, before)


def test_the_store_is_asked_once_a_version(tmp_path: Path) -> None:
    graphs = Graphs(*GRAPHS)
    tables, pattern = StaticTables(tmp_path, graphs), StaticPattern("default", (), None, P, None)
    for _ in range(3):
        tables.file(pattern)
    assert graphs.asked == 1


def test_the_same_triples_in_another_order_are_the_same_file(tmp_path: Path) -> None:
    pattern = StaticPattern("named", None)
    assert StaticTables(tmp_path, Graphs(*GRAPHS)).file(pattern) == StaticTables(
        tmp_path, Graphs(*reversed(GRAPHS))
    ).file(pattern)


def test_what_several_want_at_once_is_written_for_all_of_them(tmp_path: Path) -> None:
    together = threading.Barrier(4)

    class FoundTogether(Graphs):
        def quads(self, *asked: Any) -> Iterator[tuple[str, str, str, str]]:
            yield from list(super().quads(*asked))
            together.wait(10)

    graphs = FoundTogether(*(("", f"<http://ex/{number}>", P, ONE) for number in range(1000)))
    for version in range(10):
        graphs.version = version
        graphs.all.append(("", f"<http://ex/another{version}>", P, ONE))
        tables, pattern = StaticTables(tmp_path, graphs), StaticPattern("default", (), None, P, None)
        with ThreadPoolExecutor(together.parties) as pool:
            (file,) = set(pool.map(tables.file, [pattern] * together.parties))
        assert len(rows(tmp_path, file)) == len(graphs.all)


def test_what_is_forgotten_is_looked_up_and_written_anew(tmp_path: Path) -> None:
    graphs = Graphs(*GRAPHS)
    tables = StaticTables(tmp_path, graphs)
    one, other = StaticPattern("default", (), None, P, None), StaticPattern("default", (), None, Q, None)
    nothing, none = StaticPattern("default", (), None, S, None), StaticPattern("default", (), S, S, None)
    kept, gone = tables.file(one), tables.file(other)
    assert kept is not None
    assert gone is not None
    assert (tables.file(nothing), tables.file(none)) == (None, None)
    assert tables.files() == {kept, gone}
    tables.forget({gone}, {nothing})
    assert tables.files() == {kept}
    asked = graphs.asked
    assert [tables.file(pattern) for pattern in (one, nothing)] == [kept, None]
    assert graphs.asked == asked
    assert [tables.file(pattern) for pattern in (other, none)] == [gone, None]
    assert graphs.asked == asked + 2
    assert rows(tmp_path, gone)


OBJECTS = st.one_of(
    st.sampled_from([S, "_:b", ONE, NAN, '"x"@en', '"x"@en--ltr', f"<<( {S} {P} {ONE} )>>", f'"INF"^^<{XSD}float>']),
    st.text().map(lambda text: str(ox.Literal(text))),
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(lambda n: f'"{n}"^^<{XSD}decimal>'),
)
QUADS = st.lists(
    st.tuples(st.sampled_from(["", f"<{G}>", "_:b"]), st.sampled_from([S, "_:b"]), st.sampled_from([P, Q]), OBJECTS),
    unique=True,
)


@given(QUADS)
def test_a_file_has_each_match_once_with_the_facets_that_sql_compares(quads: list[Quad]) -> None:
    with TemporaryDirectory() as directory:
        tables = StaticTables(Path(directory), Graphs(*quads))
        for scope, matches in (
            ("named", {quad for quad in quads if quad[0]}),
            ("merged", {("", *quad[1:]) for quad in quads if quad[0]}),
            ("default", {quad for quad in quads if not quad[0]}),
        ):
            file = tables.file(StaticPattern(scope, None))
            found = [] if file is None else rows(Path(directory), file)
            assert sorted(found, key=repr) == sorted(((*one, *comparable_facets(one[3])) for one in matches), key=repr)


def test_a_large_part_of_the_store_is_taken_as_the_store_writes_it(tmp_path: Path) -> None:
    class Written(Graphs):
        def n_quads(self, *asked: Any) -> list[bytes]:
            return [f"<http://ex/{number}> {P} {ONE} .\n".encode() for number in range(1000)]

        def quads(self, *asked: Any) -> Iterator[tuple[str, str, str, str]]:
            raise AssertionError("a term at a time, other threads of the server wait for seconds")

    tables, pattern = StaticTables(tmp_path, Written()), StaticPattern("default", None)
    assert len(rows(tmp_path, tables.file(pattern))) == tables.matches(pattern) == 1000


@pytest.mark.parametrize(
    ("changed", "read"),
    [
        (("", P), {"default", "any", "graphs", "names"}),
        (("", Q), {"other", "any", "names"}),
        ((G, P), {"named", "graphs", "merged", "names"}),
        (("http://ex/new", P), {"graphs", "names"}),
        ((H, Q), {"names"}),
    ],
)
def test_what_a_change_has_not_touched_is_not_read_again(
    tmp_path: Path, changed: tuple[str, str], read: set[str]
) -> None:
    class Told(Graphs):
        """Knows what its last change was."""

        def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
            of, by = changed
            return since != self.version - 1 or ((graphs is None or of in graphs) and predicate in (None, by))

        def named_graphs(self) -> list[str]:
            self.asked += 1
            return super().named_graphs()

    graphs = Told(*GRAPHS)
    tables = StaticTables(tmp_path, graphs)
    patterns = {
        "default": StaticPattern("default", (), predicate=P),
        "other": StaticPattern("default", (), predicate=Q),
        "none": StaticPattern("default", (), predicate="<http://ex/none>"),
        "any": StaticPattern("default", ()),
        "named": StaticPattern("named", (G,), predicate=P),
        "graphs": StaticPattern("named", None, predicate=P),
        "merged": StaticPattern("merged", (G, H), predicate=P),
        "names": StaticPattern("names", None),
    }
    files = {name: tables.file(pattern) for name, pattern in patterns.items()}
    graphs.version += 1
    found = set()
    for name, pattern in patterns.items():
        asked = graphs.asked
        assert not tables.is_found(pattern)
        assert tables.file(pattern) == files[name]
        assert tables.is_found(pattern)
        if graphs.asked > asked:
            found.add(name)
    assert found == read
    # Of what was before the one before it is not known.
    graphs.version += 2
    asked = graphs.asked
    assert [tables.file(pattern) for pattern in patterns.values()] == list(files.values())
    assert graphs.asked >= asked + len(patterns)


def test_what_was_forgotten_is_read_again_whatever_was_touched(tmp_path: Path) -> None:
    class Untouched(Graphs):
        def touched(self, since: int, graphs: Collection[str] | None, predicate: str | None) -> bool:
            (file,) = tables.files()
            tables.forget({file}, ())  # meanwhile
            return False

    graphs, pattern = Untouched(*GRAPHS), StaticPattern("default", (), predicate=P)
    tables = StaticTables(tmp_path, graphs)
    before = tables.file(pattern)
    graphs.version += 1
    assert tables.file(pattern) == before
    assert rows(tmp_path, before)
