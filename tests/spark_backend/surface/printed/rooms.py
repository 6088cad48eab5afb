"""Who is in which room: the queries of C-SPARQL and of CQELS without SEQ that the group's page prints side by side."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import MINUTE, Case

AXEL = """
    fb 1 :Axel :isIn :A
    fb 3 :Darko :isIn :E
    fb 2 :Axel :isIn :B
    fb 4 :Axel :isIn :A
    fb 12 :Axel :isIn :D
    fb 10 :Axel :isIn :C
    fb 16 :Axel :isIn :B
    fb 15 :Axel :isIn :A
    """
ALL = """
    fb 30 :Axel :isIn :A
    fb 41 :Darko :isIn :A
    fb 40 :Axel :isIn :A
    fb 90 :Axel :isIn :A
    fb 121 :Nobody :is :A
    fb 120 :Carl :isIn :B
    fb 130 :Darko :isIn :A
    """
FAST = """
    S1 10 :Ann :isIn :A
    S1 20 :Bob :isIn :A, :B, :C, :D
    S1 50 :Ann :isIn :B
    S1 100 :Ann :isIn :C
    S1 101 :Bob :isIn :A
    S1 100 :Ann :isIn :C
    S1 150 :Ann :isIn :D
    S1 302 :Ann :isIn :A
    S1 300 :Ann :isIn :E
    S1 305 :Ann :isIn :F
    S1 351 :Bob :isIn :A
    """
TOGETHER = """
    s1 10 :Axel :isIn :A
    s1 12 :Darko :isIn :A
    s1 11 :Carl :isIn :B
    s1 13 :Axel :isIn :A
    s1 18 :Axel :isIn :A
    s1 17 :Darko :isIn :A
    """
EITHER = """
    S1 10 :Axel :isIn :room1
    S1 30 :Darko :isIn :room2
    S1 29 :Axel :isIn :room1
    S1 401 :Eve :isIn :room2
    S1 400 :Carl :isIn :room2
    S1 401 :Eve :isIn :room2
    S1 450 :Bob :isIn :room3
    """
DOCTORS = """
    GRAPH <http://endpoint.example/profile> { :Axel :hasDegree :doctorate . :Darko :hasDegree :master }
    :Carl :hasDegree :doctorate .
    """
ROOM1 = """
    S1 10 :Axel :isIn :room1
    S1 21 :Darko :isIn :room1
    S1 20 :Darko :isIn :room1
    S1 40 :Carl :isIn :room1
    S1 41 :Axel :isIn :room1
    """
LEVEL = """
    GRAPH <http://deri.org/floorplan/> {
        :A lv:sameLevelWith :B, :C, :D . :B lv:sameLevelWith :A, :C, :D .
        :C lv:sameLevelWith :A, :B, :D . :D lv:sameLevelWith :A, :B, :C .
    }
    """

CASES = (
    Case(
        "004.1",
        "A is in the last 10 min from 1 until 13, since it came again at 4, and once more at 15; B from 2 until 11 and"
        " at 16; C from 10, D from 12.",
        elements=AXEL,
        unit=MINUTE,
        answers={
            1: "A",
            range(2, 10): "A, B",
            range(10, 12): "A, B, C",
            range(12, 14): "A, C, D",
            14: "C, D",
            15: "A, C, D",
            range(16, 20): "A, B, C, D",
            range(20, 22): "A, B, D",
            range(22, 25): "A, B",
            25: "B",
        },
    ),
    Case(
        "004.2",
        "At each element what is new since the element before: A is still there at 12, so not new at 15; B has left"
        " before 16.",
        elements=AXEL,
        unit=MINUTE,
        answers={1: "A", 2: "B", 10: "C", 12: "D", 16: "B"},
    ),
    Case(
        "004.3",
        "Minute 10 is the first window's, though it comes after 12; A is there once.",
        elements=AXEL,
        unit=MINUTE,
        answers={10: "A, B, C", 20: "A, B, D"},
    ),
    Case(
        "004.4",
        "At each element what is new in the window so far: at 4 A is not, in the second window it is again.",
        elements=AXEL,
        unit=MINUTE,
        answers={1: "A", 2: "B", 10: "C", 12: "D", 15: "A", 16: "B"},
    ),
    Case(
        "004.5",
        "The last three triples at each element; a repeated one counts among the three, and is in their set once (6).",
        elements="""
            fb 1 :Axel :isIn :A
            fb 3 :Darko :isIn :A
            fb 2 :Carl :isIn :B
            fb 4 :Axel :isIn :A
            fb 5 :Bob :isIn :A . :Eve :isIn :B
            fb 6 :Eve :isIn :B
            """,
        answers={
            1: "Axel",
            2: "Axel, Carl",
            3: "Axel, Carl, Darko",
            4: "Axel, Carl, Darko",
            5: "Axel, Bob, Eve",
            6: "Bob, Eve",
        },
    ),
    Case(
        "004.6",
        "Who was where in each minute; 120 belongs to the one that closes then.",
        elements=ALL,
        answers={60: "A Axel, A Darko", 120: "A Axel, B Carl", 180: "A Darko"},
    ),
    Case(
        "004.7",
        "What is new in the last minute at each element: at 90 Axel is still there from 40; Darko is out of it at 120"
        " and new at 130.",
        elements=ALL,
        answers={30: "A Axel", 41: "A Darko", 120: "B Carl", 130: "A Darko"},
    ),
    Case(
        "004.8",
        "Ann is in five rooms up to 300; Bob comes to A twice, and is in four.",
        elements=FAST,
        answers={300: "Ann 5"},
    ),
    Case(
        "004.9",
        "Ann's fifth room comes at 300, the sixth at 305, while A is there from 302; at 351 B (50) is out"
        " of the window.",
        elements=FAST,
        answers={300: "Ann 5", 305: "Ann 6", 351: "Ann 5"},
    ),
    Case(
        "004.10",
        "Axel is in the last 3 s until 15, Darko from 12 to 14; then Darko from 17 to 19 and Axel from 18.",
        elements=TOGETHER,
        answers={
            range(12, 15): "Axel isWith Darko, Darko isWith Axel",
            range(18, 20): "Axel isWith Darko, Darko isWith Axel",
        },
    ),
    Case(
        "004.11",
        "They are newly together at 12, and, apart at 17, at 18.",
        elements=TOGETHER,
        answers={12: "Axel isWith Darko, Darko isWith Axel", 18: "Axel isWith Darko, Darko isWith Axel"},
    ),
    Case(
        "004.13",
        "In the first window there is one in each room, in the second two in room2 and nobody in room1.",
        elements=EITHER,
        answers={300: "Axel Darko", 600: "- Carl, - Eve"},
    ),
    Case(
        "004.14",
        "Axel alone until Darko comes; both are out of the last 5 min at 400, and Eve is new at 401.",
        elements=EITHER,
        answers={10: "Axel -", 30: "Axel Darko", 400: "- Carl", 401: "- Eve"},
    ),
    Case(
        "004.15",
        "The same of two streams: who is in room2 by S1, or in room1 by S2, does not count.",
        elements="""
            S1 10 :Axel :isIn :room1
            S2 30 :Darko :isIn :room2
            S1 31 :Carl :isIn :room2
            S1 29 :Axel :isIn :room1
            S2 401 :Eve :isIn :room2
            S2 400 :Carl :isIn :room2
            S2 402 :Bob :isIn :room1
            """,
        answers={10: "Axel -", 30: "Axel Darko", 400: "- Carl", 401: "- Eve"},
    ),
    Case(
        "004.17",
        "Axel has a doctorate by the profile, Darko another degree; Carl's is in another graph.",
        elements=ROOM1,
        stored=DOCTORS,
        answers={300: "Carl, Darko"},
    ),
    Case(
        "004.18",
        "The same, each when he comes first: Darko at 20, though that is sent after 21.",
        elements=ROOM1,
        stored=DOCTORS,
        answers={20: "Darko", 40: "Carl"},
    ),
    Case(
        "004.19",
        "Together in A at 10 and in B at 20, two messages; from 100 to 119 Axel was last in A without Darko, and from"
        " 120 both were in A after B, which is in the last 5 min until 319.",
        stored=LEVEL,
        elements="""
            S1 10 :Axel :isIn :A . :Darko :isIn :A
            S1 20 :Axel :isIn :B
            S1 21 :Axel :isIn :E
            S1 20 :Darko :isIn :B
            S1 100 :Axel :isIn :A
            S1 120 :Axel :isIn :A . :Darko :isIn :A
            """,
        answers={range(20, 100): "A B", range(120, 320): "B A"},
    ),
    Case(
        "004.23",
        "Pairs in order: AB, AC, AD, BC, BD and CD at 40; from 45 to 49 Axel was last in A without Darko and three are"
        " left, from 50 A comes after the others: BC, BD, BA, CD, CA and DA, until B is 5 min old.",
        stored=LEVEL,
        elements="""
            S1 10 :Axel :isIn :A . :Darko :isIn :A
            S1 20 :Axel :isIn :B . :Darko :isIn :B
            S1 31 :Axel :isIn :E
            S1 30 :Axel :isIn :C . :Darko :isIn :C
            S1 40 :Axel :isIn :D . :Darko :isIn :D
            S1 45 :Axel :isIn :A
            S1 50 :Axel :isIn :A . :Darko :isIn :A
            """,
        answers={range(40, 45): "6", range(50, 320): "6"},
    ),
    Case(
        "004.29",
        "Two enter A in the first 3 s, Axel twice, and one leaves; nobody leaves B by 6: a room needs both counts.",
        elements="""
            fb 2 :Darko :enter :A
            fb 1 :Axel :enter :A
            fb 2 :Axel :enter :A
            fb 3 :Axel :left :A
            fb 5 :Carl :enter :B
            fb 8 :Eve :enter :B
            fb 7 :Carl :left :B
            """,
        answers={3: "A enterCount 2, A leftCount 1", 9: "B enterCount 1, B leftCount 1"},
    ),
    Case(
        "004.30",
        "4 + 3 - 1, with the first message sent twice, and 6 + 1 - 2.",
        elements="""
            fb 1 :A uc:enterCount 3 ; uc:leftCount 1 ; uc:currentCount 4
            fb 2 :A uc:enterCount 3 ; uc:leftCount 1 ; uc:currentCount 4
            fb 5 :A uc:enterCount 1
            fb 4 :A uc:leftCount 2
            fb 6 :A uc:currentCount 6
            """,
        answers={3: "A currentCount 6", 6: "A currentCount 5"},
    ),
)
