"""Tables that are kept: a statement reads as many as it asks for, and what was not used for longest goes before."""

from __future__ import annotations

from pathlib import Path

from protocol.evaluations import Evaluation
from spark_backend.evaluation.kept_tables import KeptTables
from tests.spark_backend.federated_endpoints import Endpoints, store
from tests.spark_backend.stepped_backend import SteppedBackend

PREFIX = "PREFIX : <http://ex/> "


def test_room_is_made_by_dropping_what_was_not_used_for_longest() -> None:
    dropped: list[str] = []
    tables = KeptTables[int](2, dropped.append)
    for key in range(4):
        tables.keep(key, f"t{key}")
    assert [tables.get(key) for key in (0, 4)] == ["t0", None]
    assert dropped == []
    tables.make_room()
    assert dropped == ["t1", "t2"]
    tables.make_room(lambda names: names == ["t0"])
    assert dropped == ["t1", "t2", "t3"]
    tables.drop_where(lambda key: key == 0)
    assert dropped == ["t1", "t2", "t3", "t0"]
    tables.keep(0, "another")
    tables.forget()
    tables.make_room(lambda _: False)
    assert tables.get(0) is None
    assert len(dropped) == 4


def answers(stepped: SteppedBackend, elements: int = 2) -> dict[int, bytes]:
    for number in range(elements):
        stepped.post("s", f"<http://ex/a> <http://ex/p{number}> {number} .", 1000 * number + 500)
    stepped.run()
    told = [notice for notice in stepped.notices if getattr(notice, "query", None) == "q"]
    assert all(isinstance(notice, Evaluation) for notice in told), told
    return stepped.answers("q")


def test_a_query_has_as_many_windows_as_it_asks_for(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    windows = [f"FROM NAMED WINDOW :w{n} ON :s [RANGE {n + 1}s STEP 1s]" for n in range(26)]
    parts = [f"{{ WINDOW :w{n} {{ ?s ?p ?o }} }}" for n in range(26)]
    stepped.register("q", f"{PREFIX}SELECT (COUNT(*) AS ?n) {' '.join(windows)} {{ {' UNION '.join(parts)} }}")
    found = answers(stepped, elements=3)
    assert b'"value":"26"' in found[1000]
    assert b'"value":"51"' in found[2000]  # the first element is in all windows but that of a second


def test_current_reads_the_facts_of_as_many_definitions_as_there_are(tmp_path: Path) -> None:
    stepped = SteppedBackend(tmp_path)
    stepped.event_stream("s", "http://ex/s")
    for n in range(26):
        stepped.register(
            f"f{n}",
            f"{PREFIX}CONSTRUCT FACT fact{n} {{ ?s :in{n} ?o }} FROM STREAM :s UNION "
            f"(SINCE {{ ?s :p{n} ?o }}) (TILL {{ ?s :q{n} ?o }})",
        )
    stepped.register("q", f"{PREFIX}SELECT ?p {{ CURRENT {{ ?s ?p ?o }} }}")
    assert b"http://ex/in1" in answers(stepped, elements=3)[1500]


def test_a_query_asks_as_many_services_as_it_names(tmp_path: Path) -> None:
    others = {f"http://other.example/{n}": store(f":a :q{n} {n} .") for n in range(10)}
    stepped = SteppedBackend(tmp_path, endpoints=Endpoints(others))
    stepped.event_stream("s", "http://ex/s")
    asked = " ".join(f"SERVICE <{address}> {{ ?s :q{n} ?v{n} }}" for n, address in enumerate(others))
    stepped.register("q", f"{PREFIX}SELECT * FROM STREAM :s [RANGE 1s STEP 1s] {{ ?s ?p ?o . {asked} }}")
    assert b'"v9"' in answers(stepped)[1000]
