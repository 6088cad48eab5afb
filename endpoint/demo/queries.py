"""The continuous queries of the demonstration."""

from __future__ import annotations

from dataclasses import dataclass

from endpoint.demo.vocabulary import MACHINE, PREFIXES

CHARTED = "cpu-by-core"
"""The query that the page opens with: its chart has a line a core."""


@dataclass(frozen=True)
class DemoQuery:
    """A query to register. ``bytes_columns`` are shown in MB; an empty answer is shown only if ``show_empty``.

    An ``alert`` is shown so that it is noticed.
    """

    name: str
    title: str
    text: str
    bytes_columns: frozenset[str] = frozenset()
    show_empty: bool = False
    alert: bool = False


def demo_queries(stream: str, threshold: float) -> tuple[DemoQuery, ...]:
    """The queries over the stream with this IRI; an alert is given above ``threshold`` percent."""
    window = f"FROM NAMED WINDOW <{MACHINE}w> ON <{stream}>"
    return (
        DemoQuery(
            CHARTED,
            "CPU load by core, percent, over the last 10 s",
            f"""{PREFIXES}
SELECT ?core (AVG(?load) AS ?average) (MAX(?load) AS ?most)
{window} [RANGE 10s STEP 2s]
WHERE {{
  WINDOW m:w {{ ?observation sosa:madeBySensor ?sensor ; sosa:hasSimpleResult ?load }}
  # The stream says which sensor it was; that it is on a core, and which one, is known beforehand.
  ?sensor sosa:isHostedBy ?part .
  ?part a m:Core ; rdfs:label ?core .
}}
GROUP BY ?core
ORDER BY ?core
""",
        ),
        DemoQuery(
            "growing-memory",
            "Processes whose memory grew within the last 10 s",
            f"""{PREFIXES}
SELECT ?name ?process (MIN(?bytes) AS ?least) (MAX(?bytes) AS ?most) (MAX(?bytes) - MIN(?bytes) AS ?growth)
{window} [RANGE 10s STEP 2s]
WHERE {{
  WINDOW m:w {{
    ?observation sosa:observedProperty m:residentMemory ;
                 sosa:hasFeatureOfInterest ?process ;
                 sosa:hasSimpleResult ?bytes .
    ?process rdfs:label ?name .
  }}
}}
GROUP BY ?process ?name
HAVING (MAX(?bytes) > MIN(?bytes))
ORDER BY DESC(?growth) ?process
LIMIT 5
""",
            bytes_columns=frozenset({"least", "most", "growth"}),
            show_empty=True,
        ),
        DemoQuery(
            "cpu-alert",
            f"ALERT: CPU load has gone above {threshold:g} percent",
            f"""{PREFIXES}
SELECT ISTREAM ?core
{window} [RANGE 3s STEP 1s]
WHERE {{
  WINDOW m:w {{ ?observation sosa:madeBySensor ?sensor ; sosa:hasSimpleResult ?load }}
  ?sensor sosa:isHostedBy ?part .
  ?part a m:Core ; rdfs:label ?core .
}}
GROUP BY ?core
HAVING (AVG(?load) > {threshold:.1f})
ORDER BY ?core
""",
            alert=True,
        ),
    )
