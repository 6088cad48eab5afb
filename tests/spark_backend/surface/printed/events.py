"""EP-SPARQL's queries, and those of CQELS with SEQ."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import Case

CASES = (
    Case(
        "004.12",
        "Who comes less than 3 s after another is with them: Darko (11) after Axel (10), Bob (15) after Carl (14), Axel"
        " (16) after both, and once more at 17 after Bob; Carl (14) comes 3 s after Darko, and Axel (17) after Carl.",
        elements="""
            s1 10 :Axel :isIn :A
            s1 11 :Darko :isIn :A
            s1 14 :Carl :isIn :A
            s1 16 :Axel :isIn :A
            s1 15 :Bob :isIn :A
            s1 16 :Axel :isIn :A
            s1 17 :Axel :isIn :A
            """,
        answers={
            11: "Axel isWith Darko, Darko isWith Axel",
            15: "Bob isWith Carl, Carl isWith Bob",
            16: "Axel isWith Bob, Bob isWith Axel, Axel isWith Carl, Carl isWith Axel",
            17: "Axel isWith Bob, Bob isWith Axel",
        },
    ),
    Case(
        "004.16",
        "Each occurrence in room1 or in room2 is a match, so that Axel's second is answered again and Carl, in both at"
        " once, twice; what comes twice with one time occurs once, and nothing binds ?person2.",
        elements="""
            S1 1 :Axel :isIn :room1
            S1 3 :Axel :isIn :room1
            S1 2 :Darko :isIn :room2
            S1 4 :Carl :isIn :room1, :room2
            S1 4 :Carl :isIn :room1
            S1 5 :Axel :isIn :room3
            """,
        answers={1: "Axel -", 2: "Darko -", 3: "Axel -", 4: "Carl -, Carl -"},
    ),
    Case(
        "004.20",
        "Both were in A by 11, though Axel is there again at 21, and in B from 20 to 22; C is level with B only. At 311"
        " all matches from A to B began 300 s ago or more, so that the one of 320 is new; at 24 and 310 none is.",
        stored="GRAPH <http://deri.org/floorplan/> { :A lv:sameLevelWith :B . :B lv:sameLevelWith :C }",
        elements="""
            S1 10 :Axel :isIn :A
            S1 11 :Darko :isIn :A
            S1 22 :Axel :isIn :B
            S1 20 :Darko :isIn :B
            S1 21 :Axel :isIn :A
            S1 24 :Darko :isIn :B
            S1 30 :Axel :isIn :C
            S1 29 :Darko :isIn :C
            S1 310 :Axel :isIn :B
            S1 311 :Darko :isIn :B
            S1 312 :Axel :isIn :A
            S1 313 :Darko :isIn :A
            S1 320 :Axel :isIn :B . :Darko :isIn :B
            """,
        answers={22: "A B", 30: "B C", 320: "A B"},
    ),
    Case(
        "004.21",
        "From A (10, 11) to B (20, 22); C and D last from 400 to 699, less than 5 min; C and E to 700, exactly as long,"
        " D and E from 500. DISTINCT: B's repetition at 24 gives nothing new.",
        elements="""
            S1 10 :Axel :isIn :A
            S1 11 :Darko :isIn :A
            S1 22 :Axel :isIn :B
            S1 20 :Darko :isIn :B
            S1 21 :Axel :isIn :A
            S1 24 :Darko :isIn :B
            S1 400 :Axel :isIn :C
            S1 401 :Darko :isIn :C
            S1 500 :Axel :isIn :D
            S1 700 :Axel :isIn :E . :Darko :isIn :E
            S1 699 :Darko :isIn :D
            """,
        answers={22: "A B", 699: "C D", 700: "D E"},
    ),
    Case(
        "004.22",
        "Both enter A at 10 and B at 20, in two messages, C at different times, and B again at 25, which follows B. A"
        " and D (309) are 299 s, A and E (310) are 300 s.",
        elements="""
            s1 10 :Axel :isIn :A . :Darko :isIn :A
            s1 20 :Axel :isIn :B
            s1 21 :Axel :isIn :C
            s1 20 :Darko :isIn :B
            s1 23 :Darko :isIn :C
            s1 25 :Axel :isIn :B . :Darko :isIn :B
            s1 310 :Axel :isIn :E . :Darko :isIn :E
            s1 309 :Axel :isIn :D . :Darko :isIn :D
            """,
        answers={20: "A B", 25: "B B", 309: "A D, B D", 310: "B E, D E"},
    ),
    Case(
        "004.24",
        "Pairs in order: AB at 20, AC and BC at 30, AD, BD and CD at 41, DD at 50; Axel alone in A at 25 makes no other"
        " pair. The window slides each second: at 610 what began in A is out of it (BC, BD, CD and DD are left), at 620"
        " what began in B.",
        elements="""
            S1 10 :Axel :isIn :A . :Darko :isIn :A
            S1 20 :Axel :isIn :B . :Darko :isIn :B
            S1 25 :Axel :isIn :A
            S1 30 :Axel :isIn :C
            S1 30 :Darko :isIn :C
            S1 41 :Axel :isIn :D
            S1 40 :Darko :isIn :D
            S1 50 :Axel :isIn :D . :Darko :isIn :D
            S1 611 :Axel :isIn :E
            S1 625 :Axel :isIn :F
            """,
        answers={41: "6", 50: "7", 610: "4"},
    ),
)
