"""Queries that the passes change, each in a dataset of windows and graphs in which a wrong change shows."""

from __future__ import annotations

from tests.spark_backend.compiler.one_shot import Content

TRIPLES = """
:a :p 1, 2.5, "s", "t"@en, :b, true ; :q "abc", "a b" ; :t :b . :b :p 5 ; :q "xyz" ; :r :a . :c :p 7, 8 . :d :r :b .
:e :v 1.25e0 ; :t :f . :f :v 2.5e0 ; :t :g . :g :v 3.0e0 ; :w 2 ; :t :e . :h :w 4 . _:x :n _:y . _:y :m 4 .
"""
KNOWLEDGE = """
:a :in :r1 . :b :in :r1 . :c :in :r2 . :g :in :r2 . :r1 :label "one" ; :part :f1 . :r2 :label "two", "deux" .
:r2 :part :f1 . :f1 :part :h1 . :h1 :part :h2 . :a :kind :k . :b :kind :k . :c :kind :l .
"""
ONE = Content({None: TRIPLES})
APART = Content({"http://ex/w1": TRIPLES, "http://ex/w2": ":a :p 3 . :r1 :p :b ."}, {None: KNOWLEDGE})
NAMED = Content(
    {"http://ex/w1": TRIPLES},
    {None: KNOWLEDGE, "http://ex/g1": ":a :p 1 . :r1 :area 20 . :r2 :area 30 .", "http://ex/g2": ":a :q :c ."},
)
MERGED = Content({None: TRIPLES}, {None: KNOWLEDGE, "http://ex/g1": ":a :p 99 ."})

ALIKE = Content(
    {"http://ex/w1": ":a :p :b ; :q :k ."}, {None: ':a :p "one" ; :r "one" ; :t 1 .', "http://ex/g1": ':a :p "one" .'}
)

IN_ONE = (
    # OPTIONAL and its filters
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} FILTER(!BOUND(?o))}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} FILTER(?o = :a || ?v > 6)}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} FILTER(?v > 4)}",
    "SELECT * {?s :p ?v OPTIONAL {?s :q ?o FILTER(STRLEN(?o) > 3)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :q ?o FILTER(STRLEN(?o) > 3 && ?v > 4)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(?v > 4)}}",
    "SELECT * {?s :p ?v OPTIONAL {?x :v ?v OPTIONAL {?s :r ?y} FILTER(!BOUND(?y))}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(1 < 2)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(2 < 1)}}",
    "SELECT * {OPTIONAL {?s :r ?o} ?s :q ?x FILTER(?o = :a)}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} {?y :r ?o} FILTER(?o != :a)}",
    # One step or none, and one term for several variables
    "SELECT * {?s :p? ?x . ?x :r ?o}",
    "SELECT * {?s (:r|:t)?/:r ?o}",
    "SELECT * {?s :r/(:r|:t)? ?o}",
    "SELECT * {?s :r? ?o . ?s :r ?o}",
    "SELECT * {?s :p ?v . ?s :r? :a}",
    "SELECT ?o {?s :r?/:p? ?o . ?s :q ?w}",
    "SELECT (COUNT(*) AS ?n) {?s ^:r?/:r ?o}",
    # What one pattern keeps from being a solution
    "SELECT * {?s :p ?v . ?s :r ?o FILTER NOT EXISTS {?o :p ?v}}",
    "SELECT * {?s :p ?v . ?x :v ?w FILTER NOT EXISTS {?s :p 5}}",
    "SELECT * {?s :p ?v . ?x :v ?w MINUS {?s :p 7}}",
    "SELECT * {?s :p ?v MINUS {?x :r ?s}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o} MINUS {?s :r ?o}}",
    "SELECT * {{?s :p ?v} UNION {?s :q ?v} FILTER NOT EXISTS {?s :r ?o}}",
    "SELECT * {?s :p ?v . ?s :q ?w FILTER(NOT EXISTS {?s :r ?o} && ?v > 1)}",
    "SELECT * {?s :p ?v FILTER EXISTS {?s :q ?w FILTER NOT EXISTS {?s :p 5}}}",
    "SELECT * {?s :p ?v FILTER EXISTS {?x :r ?s FILTER NOT EXISTS {?x :q ?v}}}",
    "SELECT * {{SELECT ?s {?s :p ?v FILTER NOT EXISTS {?s :r ?o}}} UNION {?s :p ?v}}",
    "SELECT * {{SELECT ?s {?s :p ?v . ?s :q ?w MINUS {?x :r ?s}}} {SELECT ?s {?x :r ?s}}}",
    # Conditions on what nothing binds
    "SELECT * {?s :p ?v FILTER(?x != ?v)}",
    "SELECT * {?s :p ?v FILTER(!BOUND(?x))}",
    "SELECT * {?s :p ?v FILTER(?x > 1 || ?v > 6)}",
    "SELECT * {?s :p ?v FILTER(COALESCE(?x, ?v) = 5)}",
    "SELECT * {?s :p ?v FILTER(IF(BOUND(?x), ?v > 6, ?v < 6))}",
    "SELECT * {?s :p ?v {SELECT ?s {?s :r ?o FILTER(?v != ?o)}}}",
    "SELECT * {?s :p ?v {SELECT DISTINCT ?s {?s :r ?o} } FILTER(?o != ?v)}",
    "SELECT * {?s :p ?v FILTER EXISTS {?s :r ?o FILTER(?v = 5)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(?x = 5)}}",
    "SELECT * {?s :p ?v OPTIONAL {{?s :r ?o FILTER(?v = 5)}}}",
    "SELECT * {?s :p ?v FILTER EXISTS {?s :r ?o} FILTER(?x IN (1, 2))}",
    # Inside of EXISTS their ends have values from outside
    "SELECT * {?s :p ?v FILTER EXISTS {?s :r?/:q ?w}}",
    "SELECT * {?s :p ?v FILTER EXISTS {?x :r/:t? ?s}}",
    "SELECT * {?s :p ?v FILTER NOT EXISTS {?s (:r|:t)?/:q ?w FILTER(?v > 2)}}",
    "SELECT * {?s :p ?v . ?x :q ?w FILTER EXISTS {?s :r? ?x . ?x :q ?z}}",
    "SELECT * {?s :p ?v FILTER (EXISTS {?s :r? ?o . ?o :q ?w} || ?v > 6)}",
    "SELECT * {?s :p ?v OPTIONAL {?x :q ?w FILTER EXISTS {?s ^:r?/:q ?w}}}",
    "SELECT * {?s :r ?o . ?x :r ?y FILTER(?o = ?x)}",
    "SELECT * {?s :r ?o . ?x :p ?v FILTER(sameTerm(?o, ?x) && ?v > 2)}",
    "SELECT * {?s :p ?v . ?x :v ?w FILTER(sameTerm(?v, ?w))}",
    "SELECT * {?s :r ?o . ?x :p ?v FILTER(?o = ?x) FILTER EXISTS {?x :q ?w}}",
    "SELECT * {?s :r ?o . ?x :p ?v {?x :q ?w} UNION {?s :q ?w} FILTER(?o = ?x)}",
    "SELECT * {?s :r ?o . ?x :p ?v OPTIONAL {?s :q ?w} FILTER(?s = ?x)}",
    "SELECT * {{?s :p ?v . ?s :r ?o} UNION {?s :p ?v . ?s :q ?w . ?s :r ?o} ?s :v ?z}",
    "SELECT * {{SELECT ?s {?s :r ?o . ?o :p ?v}} UNION {SELECT ?s {?s :r ?o . ?o :p ?v . ?o :q ?w}} ?s :p ?v}",
    "SELECT * {?s :p ?v FILTER(EXISTS {?s :r ?o . ?x :q ?v} || NOT EXISTS {?s :q ?w . ?y :r ?z})}",
    "SELECT * {?s :p ?v FILTER(EXISTS {?x :r ?y} || ?v > 100)}",
    "SELECT * {?s :p ?v FILTER(NOT EXISTS {?x :nope ?y} && (EXISTS {?x :r ?y FILTER(?y = ?v)} || ?v > 2))}",
    "SELECT * {?s :p ?v BIND(EXISTS {?x :r ?y} AS ?b)}",
    # What has no solution
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(?s < ?o)}}",
    "SELECT * {{?s :p ?v} UNION {?s :r ?o FILTER(?s > ?o)}}",
    "SELECT * {?s :p ?v . ?s :r ?o FILTER(2 < 1)}",
    "SELECT * {?s :p ?v MINUS {?s :r ?o FILTER(1/0)}}",
    "SELECT (COUNT(*) AS ?n) (SAMPLE(?o) AS ?x) {?s :r ?o FILTER(?s < ?o)}",
    "SELECT ?s (COUNT(*) AS ?n) {?s :r ?o FILTER(?s < ?o)} GROUP BY ?s",
    "SELECT * {?s :p ?v FILTER(EXISTS {} && ?v > 4)}",
    "SELECT * {?s :p ?v FILTER(EXISTS {?s :r ?o FILTER(false)} || ?v > 4)}",
    "SELECT * {?s :p ?v BIND(EXISTS {?s :r ?o FILTER(false)} AS ?b) BIND(NOT EXISTS {} AS ?c)}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?o FILTER(?v > 4 && NOT EXISTS {})}}",
    # MINUS, UNION
    "SELECT * {?s :p ?v MINUS {?s :r ?o} FILTER(?v > 4)}",
    "SELECT * {?s :p ?v MINUS {?s :p ?v FILTER(?v > 4)}}",
    "SELECT * {?s :p ?v MINUS {?s :r ?v BIND(?v AS ?o)}}",
    "SELECT * {{?s :p ?v} UNION {?s :r ?o} UNION {{?o :t ?s} UNION {?o :v ?v}} FILTER(?v > 4 || BOUND(?o))}",
    "SELECT * {{?s :p ?v} UNION {?s :r ?o} FILTER(!BOUND(?v))}",
    "SELECT ?s {{?s :p ?v} UNION {?s :q ?w OPTIONAL {?s :r ?v}}}",
    # BIND, VALUES, sub-selects
    "SELECT * {?s :v ?v BIND(?v * 2 AS ?d) FILTER(?v > 2) FILTER(?d < 6)}",
    "SELECT ?s {?s :v ?v BIND(CONCAT(STR(?v), 'x') AS ?d) BIND(?d AS ?e)}",
    "SELECT * {BIND(1 AS ?x) {?s :p ?v FILTER(!BOUND(?x))}}",
    "SELECT * {VALUES (?s ?v) {(:a UNDEF) (UNDEF 5)} ?s :p ?v FILTER(?v < 3)}",
    "SELECT * {{SELECT ?s {?s :p ?v} } FILTER(!BOUND(?v))}",
    "SELECT * {{SELECT ?s ?v {?s :p ?v} ORDER BY DESC(?v) LIMIT 4} FILTER(?v > 5)}",
    "SELECT * {{SELECT DISTINCT ?s {?s :p ?v}} ?s :q ?w FILTER(?s != :a)}",
    "SELECT ?s {{SELECT ?s ?v {?s :p ?v} LIMIT 3} ?s :q ?w}",
    "SELECT * {{{SELECT * {?s :p ?v}}}}",
    "SELECT DISTINCT ?s {SELECT DISTINCT ?s ?v {?s :p ?v}}",
    "SELECT * {{?s :p ?v {} } {?s :q ?w} {}}",
    "SELECT * {?s :p ?v {?s :q ?w FILTER(BOUND(?v))}}",
    # Groups
    "SELECT ?s (COUNT(*) AS ?n) {?s :p ?v} GROUP BY ?s HAVING(?s != :a && ?n > 1)",
    "SELECT ?s (COUNT(*) AS ?n) {?s :p ?v OPTIONAL {?s :q ?w}} GROUP BY ?s",
    "SELECT (COUNT(DISTINCT *) AS ?n) {?s :p ?v BIND(1 AS ?one)}",
    "SELECT (COUNT(*) AS ?n) {?s :nope ?v} HAVING(1 = 2)",
    "SELECT ?o (SUM(?v) AS ?n) (COUNT(1 + 1) AS ?m) {?s :v ?v OPTIONAL {?s :t ?o}} GROUP BY ?o HAVING(BOUND(?o))",
    "SELECT (COUNT(1/0) AS ?n) (SUM(1/0) AS ?m) {?s :p ?v}",
    # Order
    "SELECT ?s {?s :p ?v . ?x :q ?y} ORDER BY ?y LIMIT 7",
    "SELECT ?s {?s :p ?v BIND(STR(?v) AS ?unread)} LIMIT 4",
    # Constants, errors among them
    "SELECT * {?s :v ?v FILTER(true && ?v > 2 && (1 = 1 || 1/0))}",
    "SELECT * {?s :v ?v FILTER(1/0 || ?v > 2)}",
    "SELECT * {?s :v ?v FILTER(!(1/0 && ?v > 2))}",
    "SELECT * {?s :v ?v FILTER(1/0 > 1)}",
    "SELECT * {?s :v ?v FILTER(COALESCE(1/0, ?v, 7) > 2)}",
    "SELECT * {?s :v ?v BIND(COALESCE(1/0, 3 + 4, ?v) AS ?c) BIND(1/0 AS ?d) BIND(IF(1 > 2, ?v, 'no') AS ?e)}",
    "SELECT * {?s :v ?v BIND(IF(1/0, ?v, 'no') AS ?c) BIND(1.5e0 + 1 AS ?d) BIND(2.50 * 2 AS ?e) BIND(1/3 AS ?f)}",
    "SELECT * {?s :v ?v BIND(UCASE(CONCAT('a', 'b')) AS ?c) BIND(xsd:dateTime('2020-01-01T00:00:00Z') AS ?d)}",
    "SELECT * {?s :v ?v BIND(NOW() AS ?n) FILTER(YEAR(NOW()) = 1970) FILTER('abc' IN ('x', 'abc'))}",
    "SELECT * {?s :v ?v FILTER(IF(1 = 1, ?v > 2, 1/0)) FILTER('x') FILTER(!('')) FILTER(!(0))}",
    "SELECT ?s (RAND() AS ?r) (UUID() AS ?u) {?s :p ?v . ?s :q ?w OPTIONAL {?s :r ?o} FILTER(RAND() < 0.7)}",
    # EXISTS
    "SELECT * {?s :p ?v FILTER EXISTS {?s :q ?w FILTER(?v > 4)} FILTER(?s != :c)}",
    "SELECT * {?s :p ?v FILTER NOT EXISTS {{?s :q ?w} UNION {?x :r ?s FILTER(?v > 4)} FILTER(?v != 1)}}",
    "SELECT * {?s :p ?v FILTER EXISTS {{} {SELECT ?s {?s :q ?w}} FILTER(?v > 4)}}",
    "SELECT * {?s :p ?v BIND(EXISTS {?s :r ?o} AS ?e) FILTER(?v > 1)}",
    "SELECT ?s {?s :p ?v BIND(EXISTS {?s :r ?o} AS ?e)}",
    "SELECT * {?s :p ?v OPTIONAL {?s :q ?w FILTER EXISTS {?x :r ?s FILTER(?v > 4)} FILTER(STRLEN(?w) > 2)}}",
    # EXISTS and MINUS of what meets only outside
    "SELECT * {?s :p ?v . ?x :t ?y FILTER EXISTS {?s :q ?w . ?y :v ?z FILTER(?z > 1)} FILTER(?v != 1)}",
    "SELECT * {?s :p ?v . ?x :t ?y FILTER NOT EXISTS {?s :r ?w . ?y :w ?z}}",
    "SELECT * {?s :p ?v . ?x :t ?y FILTER(?v > 6 || NOT EXISTS {?s :r ?w . ?y :w ?z . :e :v ?one FILTER(?v > 4)})}",
    "SELECT * {?s :p ?v . ?x :t ?y FILTER(EXISTS {?s :q ?w . ?y :w ?z} && NOT EXISTS {?x :w ?k . ?s :r ?o})}",
    "SELECT * {?s :q ?w OPTIONAL {?s :p ?v . ?x :p ?v} FILTER EXISTS {?s :p ?one . ?x :r ?o}}",
    "SELECT * {?s :p ?v . ?x :t ?y MINUS {?s :q ?w . ?y :v ?z FILTER(?z > 2)}}",
    "SELECT * {?s :p ?v . ?x :t ?y MINUS {?s :q ?w . :e :t ?z FILTER(?v > 2)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?y} MINUS {?s :q ?w . ?y :p ?z}}",
    "SELECT * {?s :p ?v MINUS {?a :t ?b . ?c :v ?d}}",
    "SELECT * {?s :p ?v FILTER EXISTS {:e :t ?z} FILTER NOT EXISTS {:a :t :e} FILTER(?v > 1)}",
    "SELECT * {?s :p ?v MINUS {?s :q ?w . :e :t ?z} FILTER NOT EXISTS {:e :t ?z . ?z :v ?n FILTER(?n > 1)}}",
    "SELECT * {?s :p ?v OPTIONAL {?s :r ?x} FILTER NOT EXISTS {?x :no ?z} FILTER EXISTS {?y :w ?z FILTER(!BOUND(?v))}}",
    "SELECT ?s (EXISTS {?s :q ?w . ?y :w ?z} AS ?e) {?s :p ?v . ?x :t ?y}",
    "SELECT * {?s :p ?v FILTER EXISTS {?s :q ?w . ?x :t ?y MINUS {?s :r ?o . ?y :w ?z}}}",
    # Sub-selects of what nothing joins
    "SELECT * {?s :p ?v {SELECT DISTINCT ?s ?x {?s :q ?w . ?x :t ?y}} FILTER(?v > 1)}",
    "SELECT * {?s :v ?v {SELECT ?s {?s :t ?y . ?a :r ?b . :e :v ?n FILTER(?n < 2)}}}",
    "SELECT * {?s :v ?v {SELECT (?y AS ?z) ?a {?s :t ?y . ?a :r ?b}}}",
    "SELECT * {?s :v ?v OPTIONAL {{SELECT * {?s :w ?k . ?q :w ?l}} ?q :v ?m}}",
    # Paths that are joined
    "SELECT * {?s :p ?y . ?y :r+ ?z}",
    "SELECT * {?s :r ?y . ?z :t+ ?y}",
    "SELECT * {?s :t ?y . ?y (:t|:w)* ?z FILTER(?z != :e)}",
    "SELECT * {?s :t ?y . ?y :t? ?z . ?z :v ?v}",
    "SELECT * {VALUES ?y {:e :nowhere} ?y :t* ?z}",
    "SELECT * {?s :t ?y {SELECT ?x {?x :p ?y}} ?y :t* ?z . ?y (:t|:w)? ?k}",
    "SELECT * {BIND(:nowhere AS ?y) {SELECT ?x {?x :t ?y}} ?y :t* ?z}",
    "SELECT * {?s :v ?v . ?s :t+ ?s}",
    "SELECT * {?s :v ?v . ?s :t+ ?z OPTIONAL {?z :t* ?u FILTER(?u != :g)} MINUS {?z :t+ ?z . ?z :w ?w}}",
    "SELECT * {?s :w ?w OPTIONAL {?s :t+ ?z}}",
    "SELECT * {?s :v ?v MINUS {?s :t+ :e}}",
    "SELECT * {?s :v ?v MINUS {?y :t+ ?s}}",
    "SELECT * {?a :t+ ?b . ?b :t+ ?c . ?c :t ?a}",
    "SELECT * {?s :p ?v FILTER EXISTS {?s :q ?w . ?s :r* ?z}}",
    "SELECT * {?s :v ?v FILTER EXISTS {?s :t+ ?z FILTER(?z != :e)}}",
    "SELECT * {?s :v ?v . ?s :t+ ?u FILTER NOT EXISTS {?y :t+ ?s FILTER(?v > 2)}}",
    "SELECT * {?s :p ?v BIND(EXISTS {?s :r+ ?z} AS ?e)}",
    "SELECT (COUNT(?z) AS ?n) ?s {?s :t ?y . ?y :t+ ?z} GROUP BY ?s",
    "ASK {?s :t ?y . ?y :t+ ?z FILTER(?z = :g)}",
    "CONSTRUCT {?s :near ?z} WHERE {?s :t ?y . ?y :t+ ?z}",
    "DESCRIBE ?s {?s :v ?v FILTER(?v > 2)}",
)
IN_APART = (
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?r :label ?l}",
    "SELECT * {?s :in ?r GRAPH :w1 {?s :p ?v} ?r :label ?l FILTER(?v > 2 && ?l != 'one')}",
    "SELECT ?s ?l {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?r :label ?l . ?r :part ?f}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in/:part+ ?f}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?r :part+ ?f . ?f :part ?g}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?s :t ?a} ?s :part* ?f GRAPH :w1 {?a :t* ?b . ?s :t? ?c}}",
    "SELECT * {?r :label ?l GRAPH :w1 {?s :p ?v . ?r :t* ?b}}",
    "SELECT * {?s :in ?r GRAPH :w1 {?s :t* ?b . ?s :p ?v . ?b (:v|:w) ?n}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :kind ?k . ?o :kind ?k . ?o :in ?r . ?r :label ?l}",
    "SELECT * {GRAPH :w1 {?s :p ?v} OPTIONAL {?s :in ?r . ?r :label ?l}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} MINUS {?s :in ?r . ?r :label 'one'}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} {?s :in :r1} UNION {?s :in ?r . ?r :label 'deux'}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} {SELECT ?r (COUNT(*) AS ?n) {?s :in ?r} GROUP BY ?r} ?s :in ?r}",
    "SELECT * {GRAPH :w1 {?s :p ?v} FILTER EXISTS {?s :in ?r . ?r :label ?l FILTER(?l = 'one')}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} FILTER EXISTS {?s :in ?r . ?r :part* ?f FILTER(?v > 2)}}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?x :q ?w} FILTER EXISTS {?s :in ?r . ?x :in ?k GRAPH :w1 {?s :q ?a . ?x :t ?b}}}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?x :q ?w} MINUS {?s :in ?r . ?x :kind ?k}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} FILTER NOT EXISTS {:a :kind :l} FILTER EXISTS {?r :part ?f . ?f :part ?h}}",
    "SELECT ?s {GRAPH :w1 {?s :p ?v} FILTER NOT EXISTS {:a :kind :k}}",
    "SELECT * {?s :in ?r . ?r :label ?l} ORDER BY DESC(?l) ?s",
    "SELECT * {?s :in ?r . ?r :label ?l FILTER(?l > 'n') BIND(NOW() AS ?n)}",
    "SELECT (COUNT(*) AS ?n) (SUM(1.5) AS ?m) {?s :in ?r . ?r :label ?l}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?x :q ?w} FILTER(?s = ?x)}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?x :q ?w} FILTER(?s != ?x || ?s < ?v) BIND(?x <= ?v AS ?y)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} OPTIONAL {?x :in ?r FILTER(?x >= ?s && ?r != ?s)}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r FILTER(?r = ?v) FILTER(!(?s > ?r))}",
    "SELECT * {GRAPH :w1 {?s :p ?v} OPTIONAL {?s :in ?r . ?r :label ?l FILTER(?s < ?r)}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in?/:label ?l}",
    "SELECT * {GRAPH :w1 {?s :p ?v . ?x :q ?w} ?s :in ?r . ?x :in? ?r FILTER(?s = ?x)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} GRAPH :w2 {?x :p ?w} ?s :in ?r . ?x :in ?y FILTER(sameTerm(?r, ?y) && ?v < ?w)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} {?s :in ?r . ?r :label ?l} UNION {?s :in ?r . ?r :label ?l . ?s :p ?w}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?v :in ?v . ?v :label ?l}",
    "SELECT * {GRAPH ?g {?s :p ?v FILTER(?g > ?v)}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} {?s :in ?r FILTER(false)} UNION {?s :q ?w}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} GRAPH :w1 {?s :q ?w} GRAPH :w2 {?r :p ?b} ?b :in ?r . ?r :label ?l}",
    "SELECT * {GRAPH ?g {?s :p ?v} ?s :in ?r . ?r :label ?l FILTER(?g != :w2 && ?v > 0)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?r :label ?l FILTER(?s = :a)}",
    "SELECT * {?s :in ?r . ?r :label ?l . ?s :kind ?k GRAPH :w2 {?s :p ?v}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?r :nope ?l}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s ?any ?r . ?r :label ?l BIND(CONCAT(?l, '!') AS ?x)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} {?r :label ?l . ?s :in ?x} UNION {?s :in ?r . ?r :label ?l}}",
    "SELECT * {{?r :label ?l . ?s :kind ?k} UNION {?s :in ?r . ?x :kind ?k} UNION {?r :part ?f} ?s :in ?r}",
    "SELECT ?s ?l {{?r :label ?l . ?s :kind ?k} UNION {?s :in ?r} ?s :in ?r . ?x :label ?l FILTER(?l > 'n')}",
    "SELECT * {?s :in ?r {SELECT DISTINCT ?r {?x :in ?r . ?y :in ?r . ?r :label ?l FILTER(?l > 'm')}}}",
    "SELECT DISTINCT ?s {GRAPH :w1 {?s :p ?v} ?s :in ?r . ?x :in ?r . ?y :in ?r GRAPH :w2 {?z ?any ?b}}",
)
# One triple pattern in a window and in the store
IN_ALIKE = (
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {GRAPH :w1 {?s :p ?o} MINUS {?s :p ?o . ?s :t ?n}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {GRAPH :w1 {?s :p ?o} MINUS {?s :p ?o FILTER(BOUND(?o))}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {GRAPH :w1 {?s :p ?o} MINUS {?s :p/:none? ?o}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {GRAPH :w1 {?s :p ?o} MINUS {{?s :p ?o} UNION {?s :r ?o}}}}",
    "SELECT * {GRAPH :w1 {?s :p ?o} FILTER EXISTS {?s :t ?n FILTER NOT EXISTS {?s :p ?o}}}",
    "SELECT * {GRAPH :w1 {?s :p ?o} FILTER EXISTS {?s :t ?n FILTER NOT EXISTS {?s :p ?o FILTER(isIRI(?o))}}}",
    "SELECT * {GRAPH :w1 {?s :p ?o} FILTER EXISTS {?s :t ?n FILTER EXISTS {?s :p ?o . ?s :t ?n}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {?s :p ?o . ?s :t ?n MINUS {GRAPH :w1 {?s :p ?o}}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k} FILTER EXISTS {GRAPH ?g {?s :p ?o} MINUS {?s :p ?o FILTER(isIRI(?o))}}}",
    "SELECT * {GRAPH :w1 {?s :q ?k OPTIONAL {?s :p ?o}} FILTER NOT EXISTS {?s :p ?o . ?s :t ?n}}",
)
IN_NAMED = (
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r FILTER NOT EXISTS {?s :kind :k}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r MINUS {GRAPH :g1 {?s :p ?v}}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r MINUS {GRAPH ?g {?s :p ?v}}}",
    "SELECT * {GRAPH ?g {?s :p ?v FILTER NOT EXISTS {?s :q ?c}}}",
    "SELECT * {GRAPH :w1 {?s :p ?v} ?s :in ?r GRAPH :g1 {?r :area ?m} FILTER(?m > 20)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} GRAPH :g1 {?s :p ?v . ?r :area ?m} GRAPH :g2 {?s :q ?c}}",
    "SELECT * {GRAPH ?g {?s :p ?v} GRAPH ?h {?s :q ?c} FILTER(?g = ?h || ?h = :g2)}",
    "SELECT * {GRAPH :w1 {?s :p ?v} GRAPH :nowhere {} }",
    "SELECT * FROM <http://ex/g1> FROM NAMED <http://ex/g2> {?s :p ?v GRAPH ?g {?s :q ?c}}",
)
IN_MERGED = (
    "SELECT * {?s :p ?v . ?s :in ?r . ?r :label ?l}",
    "SELECT * {?s :p ?v GRAPH :g1 {?s :p ?w . ?s :p ?x} FILTER(?v < ?w)}",
    "SELECT * {?s :in ?r . ?r :part+ ?f}",
)

CORPUS = [
    (text, content)
    for content, texts in ((ONE, IN_ONE), (APART, IN_APART), (NAMED, IN_NAMED), (MERGED, IN_MERGED), (ALIKE, IN_ALIKE))
    for text in texts
]
