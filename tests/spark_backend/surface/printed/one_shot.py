"""The queries that are asked of the store."""

from __future__ import annotations

from tests.spark_backend.surface.printed.case import Case

CASES = (
    Case(
        "000.2",
        "Each side of the union from the graph that FROM names; the default graph is left out.",
        stored='GRAPH <http://src.net/graph.rdf> { :a my:name "n" . :b my:power 7 } :c my:name "m" .',
        answers={0: "a n - -, - - b 7"},
    ),
    Case(
        "001.1",
        "Six sensors are in one street and five in the other: those with five or less are filtered out.",
        stored="""
            :a c:placedIn :long . :b c:placedIn :long . :c c:placedIn :long . :d c:placedIn :long .
            :e c:placedIn :long . :f c:placedIn :long, :short . :g c:placedIn :short . :h c:placedIn :short .
            :i c:placedIn :short . :j c:placedIn :short .
            """,
        answers={0: "long 6"},
    ),
    Case(
        "001.8",
        "The brokers of the graph that FROM names, and no others.",
        stored='GRAPH <http://brokerscentral.org/brokers.rdf> { :b1 b:is_from "CH" . :b2 b:is_from "IT" }'
        ' :b3 b:is_from "CH" .',
        answers={0: "b1 CH, b2 IT"},
    ),
    Case(
        "002.1",
        "Only Bob owns a.",
        stored=":bob :owns :a, :b . :eve :owns :b .",
        answers={0: "bob"},
    ),
    Case(
        "003.1",
        "Two books with a common author cite each other; only the first is cheap and has its shop.",
        stored="""
            :book1 pub:title "Cheap" ; pub:price 22 ; pub:cite :book2 ; pub:author "Unknown" ; pub:rate 6.0 ;
                pub:shop :bookshop .
            :book2 pub:title "Dear" ; pub:price 42 ; pub:cite :book1 ; pub:author "Unknown" ; pub:rate 6.0 ;
                pub:shop :bookshop .
            :book3 pub:title "Alone" ; pub:price 23 ; pub:author "Adams" ; pub:cite :book1 .
            """,
        answers={0: "Cheap Unknown bookshop, Dear Unknown -"},
    ),
)
