"""The queries of the paper on C-SPARQL."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import HOUR, MINUTE, Case

CASES = (
    Case(
        "001.1",
        "Six sensors are in one street and five in the other: those with five or less are filtered out.",
        stored=":a c:placedIn :long . :b c:placedIn :long . :c c:placedIn :long . :d c:placedIn :long ."
        " :e c:placedIn :long . :f c:placedIn :long, :short . :g c:placedIn :short . :h c:placedIn :short ."
        " :i c:placedIn :short . :j c:placedIn :short .",
        answers={0: "long 6"},
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
