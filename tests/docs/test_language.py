"""What examples of docs/language.md answer is what the text around them says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from protocol.time import parse_duration
from tests.docs.pages import DOCS, page
from tests.spark_backend.stepped_backend import SteppedBackend
from tests.spark_backend.surface.asking import rows

EX = "http://example.org/"
ELEMENTS = (("PT30M", ":a :v 20 . :b :v 21"), ("P7DT30M", ":a :v 22 . :b :v 25"))


def test_the_last_hour_is_compared_with_the_same_hour_of_the_week_before(tmp_path: Path) -> None:
    (block,) = [one for one in page(DOCS / "language.md").blocks_of("sparql") if "OFFSET 7d" in one.text]
    stepped = SteppedBackend(tmp_path)
    try:
        stepped.event_stream("rooms", f"{EX}rooms")
        stepped.register("q", block.text)
        for at, triples in ELEMENTS:
            stepped.post("rooms", f"PREFIX : <{EX}> {triples} .", parse_duration(at))
        stepped.backend.advance("rooms", parse_duration("P7DT1H"))
        stepped.run()
        assert rows(stepped.answers("q")[parse_duration("P7DT1H")]) == Counter({("3",): 1})
    finally:
        stepped.close()
