"""Example 10 of the RSP-QL paper over HTTP and through Spark: two streams, static shops, a policy, three rows."""

from __future__ import annotations

import pytest

from tests.server.server_process import ServerProcess

pytestmark = [pytest.mark.spark, pytest.mark.server]

SHOPS = """
PREFIX : <http://shops.example/>
INSERT DATA { GRAPH :shops { :a a :Shop . :b a :Shop . :alice :owns :a . :bob :owns :b } }
"""
NEARBY = [("diana", "a", 2), ("eve", "b", 2), ("carl", "a", 5), ("eve", "a", 7), ("diana", "b", 12)]
OFFERS = [("alice", "10% discount on ...", 8), ("bob", "free coffee at ...", 15)]
QUERY = """
PREFIX : <http://shops.example/>
SELECT RSTREAM ?shopper ?shop ?shop_owner ?coupon
FROM :shops
FROM NAMED WINDOW :w1 ON :nearby [RANGE 5s STEP 2s T0 "1970-01-01T00:00:01Z"]
FROM NAMED WINDOW :w2 ON :coupon [RANGE 2s STEP 2s T0 0 REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT]
WHERE {
  WINDOW :w1 { ?shopper :isNearby ?shop }
  WINDOW :w2 { ?shop_owner :offers ?coupon }
  ?shop_owner :owns ?shop
}
"""


def test_the_papers_three_rows_come_at_8_and_16(server: ServerProcess) -> None:
    assert server.client.post("/sparql", data={"update": SHOPS}).status_code == 204
    for name in ("nearby", "coupon"):
        server.event_stream(name, f"http://shops.example/{name}")
    server.register("example-10", QUERY)
    prefix = "PREFIX : <http://shops.example/>\n"
    for shopper, shop, second in NEARBY:
        server.post("nearby", f"{prefix}:{shopper} :isNearby :{shop} .", second * 1000)
    for owner, coupon, second in OFFERS:
        server.post("coupon", f'{prefix}:{owner} :offers "{coupon}" .', second * 1000)
    for name in ("nearby", "coupon"):
        server.watermark(name, "end")
    documents = server.answers("/queries/example-10/results", params={"since": "beginning"})
    table = {
        document["evaluation"]["time"]: sorted(
            tuple(binding[name]["value"].rpartition("/")[2] for name in document["head"]["vars"])
            for binding in document["results"]["bindings"]
        )
        for document in documents
    }
    assert table == {
        "1970-01-01T00:00:08Z": [
            ("carl", "a", "alice", "10% discount on ..."),
            ("eve", "a", "alice", "10% discount on ..."),
        ],
        "1970-01-01T00:00:16Z": [("diana", "b", "bob", "free coffee at ...")],
    }
