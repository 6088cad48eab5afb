"""The queries of the paper on C-SPARQL."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import HOUR, MINUTE, Case

DISTRICTS = """
    :T1 c:placedIn :street1 . :D1 c:contains :street1 .
    :T2 c:placedIn :street2 . :D2 c:contains :street2 .
    """
CARS = """
    citytollgates.trdf 1 :T1 t:registers :a
    citytollgates.trdf 4 :T2 t:registers :b
    citytollgates.trdf 3 :T1 t:registers :c
    citytollgates.trdf 6 :T1 t:registers :a
    """

CASES = (
    Case(
        "001.2",
        "Cars of the last 10 min: x at g1 until 13, since it comes again at 4, y until 12; x at g2 from 2 to 11.",
        elements="""
            citytollgates.trdf 1 :g1 t:registers :x
            citytollgates.trdf 3 :g1 t:registers :y
            citytollgates.trdf 2 :g2 t:registers :x
            citytollgates.trdf 4 :g1 t:registers :x
            """,
        unit=MINUTE,
        answers={
            1: "g1 1",
            2: "g1 1, g2 1",
            range(3, 12): "g1 2, g2 1",
            12: "g1 2",
            13: "g1 1",
        },
    ),
    Case(
        "001.3",
        "Every 5 min, a and c by D1's tollgate and b by D2's, until 30; a, which came again at 6, also at 35.",
        stored=DISTRICTS,
        elements=CARS,
        unit=MINUTE,
        answers={range(5, 31, 5): "D1 2, D2 1", 35: "D1 1"},
    ),
    Case(
        "001.4",
        "Grouped by district, tollgate and car: T1 is in two streets of D1, so that each of its cars counts 2, and"
        " their two answers are one triple.",
        stored=DISTRICTS + ":T1 c:placedIn :street3 . :D1 c:contains :street3 .",
        elements=CARS,
        unit=MINUTE,
        answers={
            range(5, 31, 5): "D1 has-entering-cars 2, D2 has-entering-cars 1",
            35: "D1 has-entering-cars 2",
        },
    ),
    Case(
        "001.5",
        "Two cars at S1's tollgate (x twice, which is once) and one at its camera are 3 > 0.8 * 3, a solution each; S2"
        " has 1 of 10. Of the next 5 min x, y, v and w are in S1, and none is at a camera.",
        stored=":S1 c:hasCapacity 3 . :S2 c:hasCapacity 10 .",
        elements="""
            citytollgates.trdf 1 :g1 t:registers :x . :g1 c:placedIn :S1
            citytollgates.trdf 3 :g1 t:registers :y
            citytollgates.trdf 2 :g1 t:registers :x
            citycameras.trdf 2 :k1 t:registers :z . :k1 c:placedAt :l1 . :l1 c:crossing :S1
            citytollgates.trdf 4 :g2 t:registers :x . :g2 c:placedIn :S2
            citytollgates.trdf 7 :g1 t:registers :y, :v, :w . :g1 c:placedIn :S1
            citytollgates.trdf 6 :g1 t:registers :x
            """,
        unit=MINUTE,
        answers={5: "S1 3, S1 3, S1 3", 10: "S1 4, S1 4, S1 4, S1 4"},
    ),
    Case(
        "001.6",
        "x is in Palm Street at 1 and in Oak Avenue at 3: until it is in Palm Street again, at 5, and when it is in Oak"
        " Avenue after that, at 7, as long as 5 is in the last 5 min; y goes the other way.",
        stored=":k1 c:monitors c:Oak-Avenue ; c:placedAt :l . :k2 c:monitors c:Palm-Street ; c:placedAt :l .",
        elements="""
            citycameras.trdf 1 :k2 t:registers :x
            citycameras.trdf 3 :k1 t:registers :x
            citycameras.trdf 2 :k1 t:registers :y
            citycameras.trdf 4 :k2 t:registers :y
            citycameras.trdf 5 :k2 t:registers :x
            citycameras.trdf 7 :k1 t:registers :x
            """,
        unit=MINUTE,
        answers={range(3, 5): "x", range(7, 10): "x"},
    ),
    Case(
        "001.7",
        "Of the Swiss only b1 is in the graph that FROM names: 10, which comes twice, and 20 on the first day, without"
        " 5; 20 on the second.",
        stored='GRAPH <http://brokerscentral.org/brokers.rdf> { :b1 b:is_from "CH" . :b2 b:is_from "IT" }'
        ' :b3 b:is_from "CH" .',
        elements="""
            market.trdf 1 :b1 x:does :t1 . :t1 x:with 10
            market.trdf 3 :b1 x:does :t2 . :t2 x:with 20
            market.trdf 2 :b1 x:does :t1 . :t1 x:with 10
            market.trdf 4 :b1 x:does :t3 . :t3 x:with 5
            market.trdf 5 :b2 x:does :t4 . :t4 x:with 50
            market.trdf 6 :b3 x:does :t5 . :t5 x:with 60
            market.trdf 26 :b1 x:does :t6 . :t6 x:with 20
            """,
        unit=HOUR,
        answers={24: "b1 30", 48: "b1 20"},
    ),
    Case(
        "001.9",
        "Sums by seller and market, the market being the stream: 10 + 20 for s1, whose first transaction comes twice,"
        " and 10 for s2; t4 belongs to the second day.",
        elements="""
            market.trdf 1 :t1 x:seller :s1 ; x:with 10
            market.trdf 3 :t2 x:seller :s1 ; x:with 20
            market.trdf 2 :t1 x:seller :s1 ; x:with 10
            market.trdf 25 :t4 x:seller :s2 ; x:with 5
            market.trdf 24 :t3 x:seller :s2 ; x:with 10
            """,
        unit=HOUR,
        answers={24: "s1 market.trdf 30, s2 market.trdf 10", 48: "s2 market.trdf 5"},
    ),
)
