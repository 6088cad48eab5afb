"""The queries of Streaming SPARQL and of SPARQLStream."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import MILLISECOND, MINUTE, Case

OTHERS = ", ".join(f":n{number}" for number in range(1500))

CASES = (
    Case(
        "000.1",
        "w1's start of 41 came again at 43 and is in the last 30 min until 72, w2's of 40 until 69. w1's stop of minute"
        " 1 is long out of them, but among the last 1500 statements until 1500 others come at 60.",
        elements=f"""
            td.rdf 1 :w1 wtur:StopCnt 3
            td.rdf 41 :w1 wtur:StrCnt 5
            td.rdf 40 :w2 wtur:StrCnt 7
            td.rdf 43 :w1 wtur:StrCnt 5
            td.rdf 60 :w3 :other {OTHERS}
            """,
        unit=MINUTE,
        answers={
            40: "w2 7 -",
            range(41, 60): "w1 5 3, w2 7 -",
            range(60, 70): "w1 5 -, w2 7 -",
            range(70, 73): "w1 5 -",
        },
    ),
    Case(
        "000.3",
        "The last 1000 ms at every ms: the name of 1, which comes again at 5, is in them to 1004, the power of 3 to"
        " 1002.",
        elements="""
            graph.rdf 1 :a my:name "n"
            graph.rdf 5 :a my:name "n"
            graph.rdf 3 :b my:power 7
            """,
        unit=MILLISECOND,
        answers={
            range(1, 3): "a n - -",
            range(3, 1003): "a n - -, - - b 7",
            range(1003, 1005): "a n - -",
        },
    ),
    Case(
        "004.32",
        "What is new in each minute, compared with the minute before: Axel in A (90) is not, Darko in A (130) is again;"
        " 120 belongs to the minute that closes then.",
        elements="""
            fb 30 :Axel :isIn :A
            fb 41 :Darko :isIn :A
            fb 40 :Axel :isIn :A
            fb 90 :Axel :isIn :A
            fb 121 :Nobody :is :A
            fb 120 :Carl :isIn :B
            fb 130 :Darko :isIn :A
            """,
        answers={60: "A Axel, A Darko", 120: "B Carl", 180: "A Darko"},
    ),
)
