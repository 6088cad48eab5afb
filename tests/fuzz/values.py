"""Values that programs stumble over."""

from __future__ import annotations

TIMES = [
    "0", "-1", "1", "8000", "1.5", "1e3", "+5", "00012", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "253402300799999", "253402300800000", "-62135596800000", "-62135596800001",
    "4503599627370496", "9" * 5000, "-" + "9" * 30, "", " ", "end", "END", '"end"', "beginning", "NaN", "inf",
    "null", "true", "0x10", "１２３", "२", "1_000", "²", "2026-01-31T12:00:00Z", "2026-01-31T24:00:00Z",
    "9999-12-31T24:00:00Z", "9999-12-31T23:59:59.999-14:00", "0001-01-01T00:00:00+14:00", "0000-01-01T00:00:00Z",
    "-0001-01-01T00:00:00Z", "12026-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-31T12:00:60Z",
    "2026-01-31T12:00:00.0000000001Z", "2026-01-31T12:00:00+99:99", "2026-01-31", "12:00:00Z", "2026-W01",
    "２０２６-01-31T12:00:00Z", "now", "\ufeff8000", "8000\n9000", "8000\x00",
]  # fmt: skip
DURATIONS = [
    "PT0S", "PT1S", "P1D", "P1Y", "P", "PT", "-PT1S", "PT0.0001S", "PT" + "9" * 400 + "S", "P" + "9" * 18 + "D",
    "10", "0", "-1", "1.5s", "10 SECONDS", "10 parsecs", "", " ", "9" * 5000, "１0s", 5, 5.5, True, None, [], {},
    10**40, -1, "PT5S\n",
]  # fmt: skip
NAMES = [
    "s", "t", "a.b", "-", "_", "~", ".", "..", "...", "%2e%2e", "%2E", "a/b", "a%2Fb", "%00", "a%00b", "%0A",
    "a%0d%0aX: y", "%ff", "%C3%A9", "é", "%zz", "%", "x" * 200, "x" * 201, "x" * 8000, "live-" + "0" * 32,
    "watermark", "results", "plan", "%20", "+", "a b", "a;b", "a?b", "a%3Fb", "%F0%9F%98%80", "%ED%A0%80", "con",
    "nul", "$(id)", "'", '"', "<x>", "__proto__", "%25", "%252F", "1",
]  # fmt: skip
IRIS = [
    "http://ex/g", "urn:g", "", " ", "g", "http://", "http://ex/ g", "http://ex/<g>", "http://ex/\x00",
    "http://[::1", "http://ex/\n", "javascript:alert(1)", "file:///etc/passwd", "_:b", "http://ex/é",
    "http://ex/%zz", "http://ex/%00", "x" * 9000 + ":y", "http://ex/" + "a" * 20000, "//ex/g", "#", "?",
    "http://ex/\ud800", "http://ex/\ufffe", "http://ex/}{", "http://ex/a|b^c`d\\",
]  # fmt: skip
MEDIA_TYPES = [
    "text/turtle", "application/trig", "application/n-triples", "application/n-quads", "application/ld+json",
    "application/rdf+xml", "application/sparql-query", "application/sparql-update",
    "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x",
    'multipart/form-data; boundary=""', "multipart/form-data; boundary=" + "y" * 500, "application/json",
    "application/x-ndjson", "text/plain", "text/plain; charset=latin-1", "text/turtle; charset=utf-16",
    "text/turtle; charset=", "text/turtle;charset=\"utf-8", "text/turtle; charset=nonsense",
    "application/n-triples; messages=rdfm", "application/n-quads; messages=rdfm", "text/turtle; messages=rdfm",
    "application/trig; messages=rdfm", "application/n-triples; messages=other", "application/ld+json; messages=rdfm",
    "application/ld+json; profile=\"x\"", "a", "/", "a/", "/b", "a/b/c", "", " ", ";", "text/turtle;;;",
    "TEXT/TURTLE", "text/turtle, text/plain", "application/sparql-query; charset=utf-16",
    "application/x-www-form-urlencoded; charset=utf-16", "text/tur\ttle", "image/png", "é/é", "*/*",
    "application/xml", "x" * 3000,
]  # fmt: skip
ACCEPTS = [
    "*/*", "*", "text/html", "text/event-stream", "application/json", "application/sparql-results+json",
    "application/sparql-results+xml", "text/csv", "text/tab-separated-values", "text/turtle", "application/n-triples",
    "application/ld+json", "application/rdf+xml", "application/trig", "application/n-quads", "application/xml",
    "text/xml", "text/plain", "image/png", "text/*", "application/*;q=0.5, text/csv;q=0", "*/*;q=0", "text/csv;q=2",
    "text/csv;q=abc", "text/csv;q=", ";", ",", ", ,", "a", "/", "text/", "/csv", '"', 'text/csv;x="a,b"',
    'text/csv;x="', "text/csv;q=0.0001", "x" * 5000, ",".join(["a/b"] * 500),
    "text/turtle;q=0.3, text/csv;q=0.3, application/rdf+xml;q=0.31", "é", "text/html, application/xhtml+xml, */*;q=0.8",
]  # fmt: skip
HEADERS = [
    ("Content-Encoding", "gzip"), ("Content-Encoding", "deflate"), ("Content-Encoding", "br"), ("Content-Encoding",
    "gzip, gzip"), ("Content-Encoding", "identity"), ("Content-Encoding", ""), ("Content-Encoding", "GZIP "),
    ("Range", "bytes=0-10"), ("Range", "bytes=-1"), ("Range", "bytes=9999999999-"), ("Range", "lines=1-2"),
    ("If-Match", "*"), ("If-Match", '"x"'), ("If-None-Match", "*"), ("If-None-Match", 'W/"x", "y"'),
    ("If-Modified-Since", "yesterday"), ("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT"), ("If-Range", '"x"'),
    ("If-Unmodified-Since", "0"), ("Last-Event-ID", "0"), ("Last-Event-ID", "x"), ("Last-Event-ID", ""),
    ("Last-Event-ID", "9" * 400), ("Last-Event-ID", "-1"), ("Last-Event-ID", "00000000000000000000"),
    ("Last-Event-ID", "é"), ("Origin", "http://evil.example"), ("Origin", "null"), ("Origin", ""), ("Authorization",
    "Bearer x"), ("Authorization", "Basic !!!"), ("Authorization", ""), ("Cookie", "a=b; ;=;"), ("Connection",
    "close"), ("Connection", "keep-alive, Upgrade"), ("Upgrade", "h2c"), ("Expect", "100-continue"), ("Expect",
    "200-ok"), ("TE", "trailers"), ("X-Forwarded-For", "é, 1"), ("X-Forwarded-Proto", "gopher"), ("Accept-Encoding",
    "gzip;q=x"), ("Accept-Charset", "utf-16"), ("Accept-Language", "*"), ("Access-Control-Request-Method", "TRACE"),
    ("Access-Control-Request-Method", "PUT"), ("Access-Control-Request-Headers", "x, é"), ("Content-Language", "xx"),
    ("Slug", "../x"), ("Content-Type", "text/turtle"), ("Accept", "text/csv"), ("X" * 300, "y" * 300), ("Via",
    "1.1 x"), ("Pragma", "no-cache"), ("Forwarded", "for=x"), ("X-HTTP-Method-Override", "DELETE"), ("Prefer",
    "return=minimal"), ("Content-Location", "/x"), ("Access-Control-Request-Private-Network", "true"),
    ("Sec-Fetch-Site", "cross-site"), ("Max-Forwards", "-1"), ("Date", "x"),
]  # fmt: skip
METHODS = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "QUERY",
    "TRACE",
    "PROPFIND",
    "FOO",
    "get",
    "M" * 60,
]
TEXTS = ["", "\x00", "\ufeff", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "é", "\u2028",
"\U0001f600", "'", '"', "\\", "\r\n",
         "%s%n", "{{7*7}}", "../../etc/passwd", "<script>", "9" * 400, "x" * 20000, "\x7f", "\x85", "1e999", "-0",
         "NaN"]  # fmt: skip
HOSTS = [
    "fuzz.example", "FUZZ.example.:80", "localhost", "127.0.0.1:1", "[::1]:8000", "evil.example", "127.0.0.1.evil.ex",
    "", ":1", "*", "a,b", "%00", "xn--e1afmkfd", "x" * 5000,
]  # fmt: skip
SITES = [
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
    {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"}, {"Sec-Fetch-Site": "nonsense"},
    {"Origin": "http://fuzz.example", "Sec-Fetch-Site": "same-origin"}, {"Origin": "http://fuzz.example.evil"},
    {"Origin": "//"}, {"Origin": "x" * 3000},
]  # fmt: skip
ENCODINGS = ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp037", "utf-7", "shift_jis", "utf-8-sig"]
BROKEN_UTF_8 = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xef\xbb\xbf", b"\x80"]
LITERALS = [
    '"1"^^<urn:d>', '"{}"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON>', '"<a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral>',
    '"x"@en-us-x-y-z', '"x"@1', '"x"@' + "a" * 3000, '"\\uD800"', '"\\U00110000"', '"\\u0000"', '"9999999999-13-40"^^<http://www.w3.org/2001/XMLSchema#date>',
    '"1e99999"^^<http://www.w3.org/2001/XMLSchema#double>', '"' + "9" * 5000 + '"^^<http://www.w3.org/2001/XMLSchema#integer>',
    '"-INF"^^<http://www.w3.org/2001/XMLSchema#float>', '"P1Y9999999999999999999D"^^<http://www.w3.org/2001/XMLSchema#duration>',
    '"""\n"""', "'", '"' + "x" * 50_000 + '"', "<urn:" + "y" * 20_000 + ">", '"x"^^<' + "z" * 20_000 + ":d>",
]  # fmt: skip
JSON_VALUES: list[object] = [
    None, True, False, 0, -1, 1.5, 10**40, 1e308, float("inf"), float("nan"), "", "\ud800", "a\udfffb", "\x00",
    "a\r\nb", [], {}, [[]], [{}], {"\ud800": 1}, {"": ""}, ["\ud800"], [None], "x" * 100_000, ["a"] * 5000,
    {str(n): n for n in range(3000)}, "PT1S", "file:///etc/passwd", "http://127.0.0.1:1/x", "mqtt://u:p@127.0.0.1:1",
    "../../x", "#", "a/#", "+/\ud800", "{", "{{", "{x}", "{x!r:>9}", "%s",
]  # fmt: skip
