"""What is known of the store's graphs for patterns under a regime."""

from __future__ import annotations

from spark_backend.statics.entailed_matches import _OfGraphs
from tests.spark_backend.stepped_backend import Graphs


def test_what_is_found_in_graphs_is_known_until_the_store_changes_and_no_longer() -> None:
    graphs, asked = Graphs(), 0

    def found(store: object, names: object) -> list[tuple[str, str, str, str]]:
        nonlocal asked
        asked += 1
        return [("", "s", "p", "o")]

    known = _OfGraphs(graphs, found)
    for version in range(3):
        for _ in range(2):
            for names in (None, [f"http://ex/{version}"], ["http://ex/g"]):
                assert known(names) == {"": {("s", "p", "o")}}
        assert asked == 3 * (version + 1)
        assert len(known._known) == 3
        graphs.set([])
