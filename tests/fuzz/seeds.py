"""Valid requests of all resources, over the names that are there or may be."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote, urlencode

from tests.fuzz.values import ACCEPTS, DURATIONS, TIMES
from tests.fuzz.wire import FuzzedRequest

BASE = "http://fuzz.example"

ONE_SHOT = [
    "SELECT * { ?s ?p ?o } LIMIT 5",
    "ASK {}",
    "CONSTRUCT WHERE { ?s ?p ?o }",
    "DESCRIBE <http://ex/a>",
    "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?x { VALUES ?x { 1 'a'@en <urn:x> UNDEF } }",
    "PREFIX : <http://ex/> SELECT ?s ?o FROM <http://ex/g> FROM NAMED <urn:h> { ?s :p/:q* ?o OPTIONAL { ?s :r ?t } }",
    "SELECT ?s (SUM(?o) AS ?t) { ?s ?p ?o } GROUP BY ?s HAVING (SUM(?o) > 1) ORDER BY DESC(?t) LIMIT 3 OFFSET 1",
    "SELECT (REGEX('aaaa', '(a+)+b') AS ?x) (SUBSTR('abc', -1, 2) AS ?y) (1/0 AS ?z) (STRDT('x', <urn:d>) AS ?w) {}",
    "SELECT (NOW() AS ?n) (RAND() AS ?r) (UUID() AS ?u) (BNODE('x') AS ?b) (SHA512('x') AS ?h) {}",
    "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?q ?r MINUS { ?s ?p 1 } } }",
    "SELECT ?a { { SELECT ?a { ?a ?b ?c } } UNION { BIND(<http://ex/é> AS ?a) } } ORDER BY ?a",
    'BASE <http://ex/> SELECT * { <a> <b> """x\ny""" }',
    "SELECT (STRLANG(?s, 'e') AS ?x) { ?s ?p ?o }",
    'SELECT ("2026-01-31T12:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> AS ?t) {}',
    "SELECT (9223372036854775807 + 1 AS ?o) {}",
    "SELECT * { ?s (<urn:a>|!(<urn:b>|^<urn:c>))+ ?o }",
    "SELECT (<http://ex/f>(1) AS ?x) {}",
]
UPDATES = [
    "INSERT DATA { <http://ex/a> <http://ex/p> 1 }",
    "DELETE WHERE { ?s ?p ?o }",
    "CLEAR ALL",
    "DROP GRAPH <http://ex/none>",
    "INSERT DATA { GRAPH <http://ex/g> { <http://ex/a> <http://ex/p> 'é' , _:b , 01 , 1e400 } }",
    "CREATE GRAPH <http://ex/g>",
    "PREFIX : <http://ex/> DELETE { ?s :p ?o } INSERT { ?s :q ?o } WHERE { ?s :p ?o }",
    "COPY <http://ex/g> TO DEFAULT",
    "LOAD <http://127.0.0.1:1/x>",
    "LOAD SILENT <file:///etc/passwd>",
    "WITH <http://ex/g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "INSERT DATA { <urn:s> <urn:p> <urn:o> } ; INSERT { ?s <urn:q> ?o } USING <http://ex/g> WHERE { ?s ?p ?o }",
    "",
    "INSERT { ?s <urn:deep> ?n } WHERE { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s }",
    "MOVE <urn:no> TO <http://ex/h>",
]
WINDOWS = [
    "[RANGE 2s]",
    "[RANGE PT10S STEP PT2S]",
    "[RANGE 10 SECONDS TUMBLING]",
    "[RANGE 5 STEP 2 T0 1 REPORT NON_EMPTY_CONTENT]",
    "[RANGE 3s STEP 1s REPORT ON_CONTENT_CHANGE]",
    "[RANGE 4s REPORT ON_WINDOW_CLOSE NON_EMPTY_CONTENT]",
    "[NOW]",
    "[TRIPLES 3]",
    "[ELEMENTS 2 STEP 2]",
    "[RANGE TRIPLES 5]",
    "[LANDMARK 1970-01-01T00:00:00Z STEP 2s]",
    "[LANDMARK]",
    "[RANGE 2s REPORT PERIODIC 3s]",
    "[RANGE 0]",
    "[RANGE 1s STEP 0]",
    "[RANGE 99999999999999999999d]",
    "[TRIPLES 0]",
    "[TRIPLES 99999999999999999999]",
    "[LANDMARK 2026]",
    "[RANGE 1 STEP 1 T0 9223372036854775807]",
    "[RANGE 1s STEP 10s]",
    "[RANGE 1m T0 9999-12-31T23:59:59Z]",
    "[]",
    "[RANGE -1]",
]
PATTERNS = [
    "?s ?p ?o",
    "?s <http://ex/v> ?v FILTER(?v > 1)",
    "?s ?p ?o OPTIONAL { ?o ?q ?r }",
    "?s ?p ?o . GRAPH ?g { ?a ?b ?c }",
    "?s ?p ?o BIND(timestamp(?o) AS ?t)",
    "{ ?s ?p 1 } UNION { ?s ?p 2 }",
    "?s ?p ?o MINUS { ?s <urn:x> ?o }",
    "?s ?p/?q ?o",
    "?s <urn:p>+ ?o",
    "?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s }",
    "VALUES ?s { <http://ex/a> } ?s ?p ?o",
    "{ SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s }",
]
SELECTS = [
    "SELECT *",
    "SELECT ISTREAM ?s",
    "SELECT DSTREAM ?s ?o",
    "SELECT (COUNT(?s) AS ?n)",
    "ASK",
    "CONSTRUCT { ?s <urn:q> ?o }",
    "SELECT DISTINCT ?s (NOW() AS ?t)",
    "CONSTRUCT ISTREAM { _:b <urn:s> ?s }",
    "DESCRIBE ?s",
    "SELECT (RAND() AS ?r) (BNODE() AS ?b)",
]
TURTLE = "@prefix ex: <http://ex/> . ex:a ex:v {n} ; ex:p 'é'@fr , [ ex:q ( 1 2.5 true ) ] .\n"
N_TRIPLES = (
    '<http://ex/a> <http://ex/v> "{n}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    '_:b <http://ex/p> "a\\u00e9\\n"@en .\n'
)
TIMED = (
    '<http://ex/o{n}> <http://www.w3.org/ns/sosa/resultTime> "1970-01-01T00:00:{n:02d}Z"'
    "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
)
TRIG = (
    "@prefix ex: <http://ex/> . @prefix prov: <http://www.w3.org/ns/prov#> . "
    "ex:g{n} {{ ex:a ex:v {n} }} ex:g{n} prov:generatedAtTime {n} .\n"
)
RDF_XML = (
    '<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://ex/">'
    '<rdf:Description rdf:about="http://ex/a"><e:v>{n}</e:v><e:p rdf:parseType="Collection"><rdf:Description/></e:p>'
    "</rdf:Description></rdf:RDF>"
)


CONTEXTS: list[object] = [
    {
        "@vocab": "http://ex/",
        "id": "@id",
        "at": {"@id": "http://ex/t", "@type": "http://www.w3.org/2001/XMLSchema#dateTime"},
    },
    {"v": "http://ex/v", "@version": 1.1},
    [{"@vocab": "http://ex/"}, {"@language": "en"}],
    {"p": {"@id": "http://ex/p", "@container": "@list"}},
]
# Nothing listens at these: what is made goes on trying, and its state says so.
NOWHERE = "127.0.0.1:1"
SOURCES: list[dict[str, object]] = [
    {"type": "sse", "url": f"http://{NOWHERE}/events", "contentType": "text/turtle"},
    {"type": "websocket", "url": f"ws://{NOWHERE}/live"},
    {"type": "ldes", "url": f"http://{NOWHERE}/feed"},
    {"type": "mqtt", "url": f"mqtt://{NOWHERE}", "topics": ["a/#", "b/+/c"], "contentType": "text/turtle"},
    {"type": "mqtt", "url": f"mqtts://{NOWHERE}", "topics": ["a"], "version": "3.1.1", "tls": {"caFile": "/none"}},
    {"type": "file", "url": "file:///nowhere/in.nt"},
    {"type": "sse", "url": f"http://{NOWHERE}/", "user": "u", "passwordFile": "/none"},
]
SINKS: list[dict[str, object]] = [
    {"type": "webhook", "url": f"http://{NOWHERE}/hook", "format": "rows"},
    {
        "type": "webhook",
        "url": f"http://{NOWHERE}/",
        "format": "text",
        "template": "{s} is {v}",
        "headers": {"X-A": "b"},
    },
    {"type": "mqtt", "url": f"mqtt://{NOWHERE}", "topic": "a/b", "format": "json"},
    {"type": "file", "url": "file:///nowhere/out.jsonl", "format": "json", "maxBytes": 1000, "keep": 2},
    {"type": "webhook", "url": f"http://{NOWHERE}/", "format": "text/turtle"},
]


@dataclass
class Known:
    """Names of what was made so far, for requests that follow each other."""

    streams: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)


class Seeds:
    """Draws valid requests, those that depend on what is there among them."""

    def __init__(self, random: Random, known: Known) -> None:
        self.random = random
        self.known = known
        self._kinds: list[tuple[int, Callable[[], FuzzedRequest]]] = [
            (12, self.query),
            (5, self.update),
            (7, self.graph),
            (3, self.graph_read),
            (7, self.stream_put),
            (14, self.append),
            (5, self.watermark),
            (9, self.continuous),
            (6, self.query_put),
            (3, self.register),
            (5, self.results),
            (2, self.stream_get),
            (2, self.stream_delete),
            (1, self.query_delete),
            (2, self.query_get),
            (1, self.plan),
            (2, self.page),
            (1, self.listing),
            (4, self.fed_stream_put),
            (4, self.sink_put),
            (2, self.sink),
            (1, self.side),
        ]

    def draw(self) -> FuzzedRequest:
        weights = [weight for weight, _ in self._kinds]
        ((_, kind),) = self.random.choices(self._kinds, weights)
        return kind()

    # --- one-shot queries, updates, graphs ------------------------------------------------------

    def query(self) -> FuzzedRequest:
        return self._at_sparql(self.random.choice(ONE_SHOT), "query", self._accept())

    def _at_sparql(self, text: str, name: str, headers: tuple[tuple[str, str], ...]) -> FuzzedRequest:
        parameters = [(name, text)]
        kind = "update" if name == "update" else "query"
        if self.random.random() < 0.25:
            parameter = self.random.choice(
                ["using-graph-uri", "using-named-graph-uri"]
                if name == "update"
                else ["default-graph-uri", "named-graph-uri", "timeout"]
            )
            value = self.random.choice(["0.5", "2", "100"]) if parameter == "timeout" else "http://ex/g"
            parameters.append((parameter, value))
        encoded = urlencode(parameters)
        form = self.random.choice(["get", "form", "direct", "query"])
        if form == "get" and name != "update":
            return FuzzedRequest("GET", f"/sparql?{encoded}", headers)
        if form == "form":
            typed = (*headers, ("Content-Type", "application/x-www-form-urlencoded"))
            return FuzzedRequest("POST", "/sparql", typed, encoded.encode())
        rest = urlencode(parameters[1:])
        method = "QUERY" if form == "query" and name != "update" else "POST"
        typed = (*headers, ("Content-Type", f"application/sparql-{kind}"))
        return FuzzedRequest(method, f"/sparql?{rest}" if rest else "/sparql", typed, text.encode())

    def update(self) -> FuzzedRequest:
        return self._at_sparql(self.random.choice(UPDATES), "update", ())

    def graph(self) -> FuzzedRequest:
        target = self.random.choice(
            [
                "/graphs?default",
                "/graphs?graph=http%3A%2F%2Fex%2Fg",
                "/graphs/x",
                "/graphs/é%20y",
                "/graphs",
                "/graphs?graph=urn:h",
            ]
        ).replace("é", "%C3%A9")
        method = self.random.choice(["PUT", "POST", "POST", "DELETE"])
        if method == "DELETE":
            return FuzzedRequest("DELETE", target)
        media_type, body = self._rdf()
        if method == "POST" and self.random.random() < 0.2:
            named = 'Content-Disposition: form-data; name="f"; filename="g"'
            part = f"--x\r\n{named}\r\nContent-Type: {media_type}\r\n\r\n".encode()
            return FuzzedRequest(
                "POST", target, (("Content-Type", "multipart/form-data; boundary=x"),), part + body + b"\r\n--x--\r\n"
            )
        return FuzzedRequest(method, target, (("Content-Type", media_type),), body)

    def graph_read(self) -> FuzzedRequest:
        target = self.random.choice(
            ["/graphs?default", "/graphs?graph=http%3A%2F%2Fex%2Fg", "/graphs/x", "/graphs?graph=urn:no"]
        )
        return FuzzedRequest(self.random.choice(["GET", "GET", "HEAD"]), target, self._accept())

    def _rdf(self) -> tuple[str, bytes]:
        n = self.random.randrange(60)
        json_ld = {
            "@context": {"@vocab": "http://ex/"},
            "@id": "http://ex/a",
            "v": n,
            "p": [{"@value": "x", "@language": "en"}, {"q": None}],
        }
        return self.random.choice(
            [
                ("text/turtle", TURTLE.replace("{n}", str(n)).encode()),
                ("application/n-triples", N_TRIPLES.replace("{n}", str(n)).encode()),
                ("application/n-triples", TIMED.format(n=n).encode()),
                ("application/trig", TRIG.format(n=n).encode()),
                ("application/n-quads", N_TRIPLES.replace("{n}", str(n)).encode()),
                ("application/ld+json", json.dumps(json_ld).encode()),
                ("application/rdf+xml", RDF_XML.replace("{n}", str(n)).encode()),
                (
                    "application/n-triples; messages=rdfm",
                    b"# @message\n".join(TIMED.format(n=(n + i) % 60).encode() for i in range(3)),
                ),
                ("application/x-ndjson", (json.dumps(json_ld) + "\n" + json.dumps(json_ld)).encode()),
                ("application/trig; messages=rdfm", TRIG.format(n=n).encode() + b"# @message\n"),
            ]
        )

    # --- streams --------------------------------------------------------------------------------

    def _stream(self) -> str:
        return self.random.choice([*self.known.streams[-8:], "s", "t"])

    def _query(self) -> str:
        return self.random.choice([*self.known.queries[-8:], "q"])

    def stream_put(self) -> FuzzedRequest:
        name = self.random.choice(["s", "t", "s", "t", f"s{self.random.randrange(4)}"])
        settings: dict[str, object] = {"time": self.random.choice(["event", "event", "arrival"])}
        if self.random.random() < 0.3:
            settings["allowedLateness"] = self.random.choice(["PT1S", "PT0S", *DURATIONS])
        if self.random.random() < 0.2:
            settings[self.random.choice(["retention", "idleTimeout", "iri", "timestampPath", "unknown"])] = (
                self.random.choice(["PT1H", "http://ex/stream", ["http://ex/t"], *DURATIONS])
            )
        self.known.streams.append(name)
        return FuzzedRequest(
            "PUT", f"/streams/{name}", (("Content-Type", "application/json"),), json.dumps(settings).encode()
        )

    def fed_stream_put(self) -> FuzzedRequest:
        """A stream with settings of all kinds, a source often among them."""
        settings: dict[str, object] = {"time": "event"}
        some: dict[str, object] = {
            "source": dict(self.random.choice(SOURCES)),
            "context": self.random.choice(CONTEXTS),
            "onInvalid": self.random.choice(["reject", "divert"]),
            "maxAhead": self.random.choice(["PT1H", *DURATIONS]),
            "idleTimeout": "PT1S",
            "partitions": self.random.choice([1, 2, 5, 0, -1, 10**9]),
            "timestampPath": ["http://ex/t", "^http://ex/p"],
        }
        for name in self.random.sample(list(some), self.random.choice([1, 1, 2, 3])):
            settings[name] = some[name]
        name = f"f{self.random.randrange(4)}"
        self.known.streams.append(name)
        return FuzzedRequest(
            "PUT", f"/streams/{name}", (("Content-Type", "application/json"),), json.dumps(settings).encode()
        )

    def side(self) -> FuzzedRequest:
        side = self.random.choice(["rejected", "late"])
        return FuzzedRequest("GET", f"/streams/{self._stream()}/{side}", self._accept())

    def append(self) -> FuzzedRequest:
        media_type, body = self._rdf()
        at = self.random.choice(["", f"?at={self.random.randrange(60_000)}", "?at=1970-01-01T00%3A00%3A20Z"])
        if self.random.random() < 0.1:
            at += f"{'&' if at else '?'}partition={self.random.choice(['0', '1', '4', '', '-1', '1e3', '9' * 50])}"
        if self.random.random() < 0.05:
            at = f"?at={quote(self.random.choice(TIMES))}"
        return FuzzedRequest("POST", f"/streams/{self._stream()}{at}", (("Content-Type", media_type),), body)

    def watermark(self) -> FuzzedRequest:
        # An end, or a time that is far away, is the end of all appends: seldom.
        time = self.random.choice(TIMES) if self.random.random() < 0.15 else str(self.random.randrange(60_000))
        return FuzzedRequest("PUT", f"/streams/{self._stream()}/watermark", (), time.encode("utf-8"))

    def stream_get(self) -> FuzzedRequest:
        return FuzzedRequest(self.random.choice(["GET", "HEAD"]), f"/streams/{self._stream()}", self._accept())

    def stream_delete(self) -> FuzzedRequest:
        return FuzzedRequest("DELETE", f"/streams/{self._stream()}")

    # --- continuous queries ---------------------------------------------------------------------

    def _continuous(self, registration: str = "") -> str:
        window, pattern, select = (self.random.choice(some) for some in (WINDOWS, PATTERNS, SELECTS))
        stream = f"<{BASE}/streams/{self._stream()}>"
        where = "" if select.startswith("DESCRIBE") and self.random.random() < 0.5 else "WHERE "
        match self.random.randrange(4):
            case 0:
                return f"{registration} {select} FROM STREAM {stream} {window} {where}{{ {pattern} }}"
            case 1:
                return (
                    f"{registration} PREFIX : <http://ex/> {select} FROM NAMED WINDOW :w ON {stream} {window} "
                    f"WHERE {{ WINDOW :w {{ {pattern} }} }}"
                )
            case 2:
                return f"{registration} {select} WHERE {{ STREAM {stream} {window} {{ {pattern} }} }}"
            case _:
                return (
                    f"{registration} {select} FROM NAMED STREAM {stream} {window} WHERE {{ GRAPH ?g0 {{ {pattern} }} }}"
                )

    def continuous(self) -> FuzzedRequest:
        accept = self.random.choice(
            ["text/event-stream", "text/event-stream", "application/sparql-results+json", "text/csv", "text/turtle"]
        )
        request = self._at_sparql(self._continuous(), "query", (("Accept", accept),))
        if self.random.random() < 0.3:
            separator = "&" if "?" in request.target else "?"
            extra = self.random.choice(["since", "lastEventId"])
            value = self.random.choice(["beginning", "0", "1970-01-01T00:00:05Z", *TIMES])
            return FuzzedRequest(
                request.method, f"{request.target}{separator}{extra}={quote(value)}", request.headers, request.body
            )
        return request

    def query_put(self) -> FuzzedRequest:
        name = self.random.choice(["q", "r", "q", f"q{self.random.randrange(4)}"])
        self.known.queries.append(name)
        since = f"?since={quote(self.random.choice(['beginning', *TIMES]))}" if self.random.random() < 0.3 else ""
        typed = (("Content-Type", "application/sparql-query"),)
        return FuzzedRequest("PUT", f"/queries/{name}{since}", typed, self._continuous().encode())

    def register(self) -> FuzzedRequest:
        kind = self.random.choice(["REGISTER QUERY", "REGISTER STREAM", "REGISTER RSTREAM", "register query"])
        name = self.random.choice(["q", "r1", "<http://ex/out>", "<http://ex/>", f"n{self.random.randrange(5)}"])
        every = self.random.choice(["", "", "COMPUTED EVERY PT2S", "COMPUTED EVERY 0s"])
        typed = (("Content-Type", "application/sparql-query"),)
        return FuzzedRequest("POST", "/sparql", typed, self._continuous(f"{kind} {name} {every} AS").encode())

    def results(self) -> FuzzedRequest:
        accept = self.random.choice(["text/event-stream", *ACCEPTS])
        since = f"?{self.random.choice(['since', 'lastEventId'])}={quote(self.random.choice(['beginning', *TIMES]))}"
        if self.random.random() < 0.2:
            since += f"&until={quote(self.random.choice(TIMES))}"
        target = f"/queries/{self._query()}/results{since if self.random.random() < 0.5 else ''}"
        return FuzzedRequest("GET", target, (("Accept", accept),))

    def query_get(self) -> FuzzedRequest:
        return FuzzedRequest("GET", f"/queries/{self._query()}", self._accept())

    def query_delete(self) -> FuzzedRequest:
        return FuzzedRequest("DELETE", f"/queries/{self._query()}")

    def sink_put(self) -> FuzzedRequest:
        since = f"?since={quote(self.random.choice(['beginning', *TIMES]))}" if self.random.random() < 0.3 else ""
        return FuzzedRequest(
            "PUT",
            f"{self._sink()}{since}",
            (("Content-Type", "application/json"),),
            json.dumps(self.random.choice(SINKS)).encode(),
        )

    def sink(self) -> FuzzedRequest:
        method = self.random.choice(["GET", "GET", "HEAD", "DELETE", "DELETE"])
        target = self._sink() if self.random.random() < 0.8 else f"/queries/{self._query()}/sinks"
        return FuzzedRequest(method, target, self._accept())

    def _sink(self) -> str:
        return f"/queries/{self._query()}/sinks/k{self.random.randrange(3)}"

    def plan(self) -> FuzzedRequest:
        return FuzzedRequest("GET", f"/queries/{self._query()}/plan", self._accept())

    # --- the rest -------------------------------------------------------------------------------

    def page(self) -> FuzzedRequest:
        target = self.random.choice(
            [
                "/",
                "/page/main.js",
                "/page/../app.py",
                "/page/%2e%2e/app.py",
                "/page/",
                "/health",
                "/health/live",
                "/health/ready",
                "/health/ready?part=continuous",
                "/metrics",
                "/sparql",
                "/nothing",
                "/*",
                "//",
            ]
        )
        return FuzzedRequest(self.random.choice(["GET", "HEAD", "OPTIONS"]), target, self._accept())

    def listing(self) -> FuzzedRequest:
        return FuzzedRequest(
            "GET", self.random.choice(["/streams", "/queries", "/streams/", "/queries/"]), self._accept()
        )

    def _accept(self) -> tuple[tuple[str, str], ...]:
        return (("Accept", self.random.choice(ACCEPTS)),) if self.random.random() < 0.6 else ()
