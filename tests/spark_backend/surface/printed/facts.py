"""TEF-SPARQL's queries: both read the same stream."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import Case

ELEMENTS = """
    fb 1 :Axel :enter :A
    fb 3 :Darko :enter :A
    fb 2 :Carl :enter :B
    fb 4 :Axel :enter :A
    fb 6 :Axel :leave :A
    fb 5 :Darko :leave :B
    fb 8 :Axel :leave :A
    fb 9 :Axel :enter :B . :Carl :leave :B
    fb 10 :Axel :leave :B
    fb 11 :Darko :enter :A . :Darko :leave :A
    """

CASES = (
    Case(
        "004.26",
        "A fact holds from entering until leaving the same room: entering again (4), leaving again (8) and leaving"
        " where one is not (5) change nothing; leaving and entering at once (11) ends it and begins it anew.",
        elements=ELEMENTS,
        answers={
            1: "Axel isIn A",
            2: "Axel isIn A, Carl isIn B",
            3: "Axel isIn A, Carl isIn B, Darko isIn A",
            6: "Carl isIn B, Darko isIn A",
            9: "Axel isIn B, Darko isIn A",
            10: "Darko isIn A",
            11: "Darko isIn A",
        },
    ),
    Case(
        "004.27",
        "Counted every 3 s up to the first instant after the last change (11): Axel is in A until 6 and not at 6, and"
        " in B from 9, when Carl leaves it, to 10.",
        elements=ELEMENTS,
        answers={3: "A 2, B 1", 6: "A 1, B 1", 9: "A 1, B 1", 12: "A 1"},
    ),
)
