import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, follow } from "../../../endpoint/page/http/events.js";

function parsed(...pieces) {
  const events = [];
  const parser = new EventParser((event) => events.push(event));
  for (const piece of pieces) parser.push(piece);
  return { events, parser };
}

test("an event has its type, its data lines joined, and its id", () => {
  const { events } = parsed("id: 7\nevent: progress\ndata: a\ndata:  b\ndata:c\n\n");
  assert.deepEqual(events, [{ type: "progress", data: "a\n b\nc", id: "7" }]);
});

test("all ways of cutting and ending lines give the same events", () => {
  const text = "\uFEFF: hello\nid: 1\ndata: x\u00e9\u{1F600}\n\nevent: end\ndata\n\n";
  const expected = [
    { type: "message", data: "x\u00e9\u{1F600}", id: "1" },
    { type: "end", data: "", id: "1" },
  ];
  for (const end of ["\n", "\r", "\r\n"]) {
    const all = text.replaceAll("\n", end);
    assert.deepEqual(parsed(all).events, expected);
    assert.deepEqual(parsed(...all).events, expected);
    for (let cut = 0; cut <= all.length; cut += 1) {
      assert.deepEqual(parsed(all.slice(0, cut), "", all.slice(cut)).events, expected, `cut at ${cut}`);
    }
  }
});

test("comments and unknown fields are skipped, and an event without data is none but keeps its id", () => {
  const { events, parser } = parsed(": heartbeat\n\nfoo: bar\nid: 5\n\nevent: x\n\ndata: d\n\n");
  assert.deepEqual(events, [{ type: "message", data: "d", id: "5" }]);
  assert.equal(parser.lastEventId, "5");
});

test("a comment is told, with one space behind the colon left out", () => {
  const comments = [];
  const parser = new EventParser(() => undefined, "", (text) => comments.push(text));
  parser.push(": warning: it never answers\n:\n:  x\n\n");
  assert.deepEqual(comments, ["warning: it never answers", "", " x"]);
});

test("an empty data field is an event, as an empty graph is sent", () => {
  assert.deepEqual(parsed("id: 3\ndata:\n\n").events, [{ type: "message", data: "", id: "3" }]);
});

test("an event cut off before its blank line is not dispatched and does not move the resume point", () => {
  const { events, parser } = parsed("id: 1\ndata: a\n\nid: 2\ndata: b\n");
  assert.equal(events.length, 1);
  assert.equal(parser.lastEventId, "1");
});

test("an id with a NUL is ignored, an empty id resets, retry takes digits only", () => {
  const { parser } = parsed("id: a\0b\nretry: 10x\ndata: 1\n\nretry: 250\n\n");
  assert.equal(parser.lastEventId, "");
  assert.equal(parser.retry, 250);
  assert.equal(parsed("id: 4\ndata: x\n\nid\ndata: y\n\n").parser.lastEventId, "");
});

test("an event of many megabytes in small pieces is parsed in no time", () => {
  const { events, parser } = parsed("data: ");
  const start = performance.now();
  for (let i = 0; i < 40_000; i += 1) parser.push("x".repeat(100));
  parser.push("\n\n");
  assert.equal(events[0].data.length, 4_000_000);
  assert.ok(performance.now() - start < 5000);
});

test("a listener may use another parser while it is called", () => {
  const seen = [];
  const outer = new EventParser(({ data }) => seen.push(data, ...parsed("data: in\n\n").events.map((e) => e.data)));
  outer.push("data: 1\n\ndata: 2\n\n");
  assert.deepEqual(seen, ["1", "in", "2", "in"]);
});

/** A server: answers each request with the next response, and remembers the requests. */
function server(...responses) {
  const requests = [];
  const waits = [];
  const events = [];
  const stop = new AbortController();
  const options = {
    signal: stop.signal,
    fetch: async (url, request) => {
      requests.push({ url, ...request });
      const next = responses.shift();
      if (next === undefined) {
        stop.abort();
        throw new DOMException("stopped", "AbortError");
      }
      if (next === "unreachable") throw new TypeError("fetch failed");
      return next;
    },
    sleep: async (delay) => waits.push(delay),
    onEvent: (event) => events.push(event),
  };
  return { requests, waits, events, stop, options };
}

const stream = (text) => new Response(text, { headers: { "Content-Type": "text/event-stream; charset=utf-8" } });
const problem = (status, body, headers = {}) => {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/problem+json", ...headers } });
};

test("following goes on after a lost connection, from the last event that came", async () => {
  const { requests, waits, events, options } = server(
    stream("id: 1\ndata: a\n\nid: 2\ndata: cut"),
    stream("id: 2\ndata: b\n\nevent: end\ndata: {}\n\ndata: never\n\n"),
  );
  const result = await follow("u", { ...options, method: "POST", body: "Q", headers: { "Content-Type": "q" } });
  assert.deepEqual(result, { ended: true });
  assert.deepEqual(events.map(({ type, data }) => [type, data]), [["message", "a"], ["message", "b"], ["end", "{}"]]);
  assert.equal(requests[0].headers["Last-Event-ID"], undefined);
  assert.equal(requests[0].headers.Accept, "text/event-stream");
  assert.equal(requests[1].headers["Last-Event-ID"], "1");
  assert.equal(requests[1].body, "Q");
  assert.equal(waits.length, 1);
});

test("waits grow while nothing comes, follow retry, and start over once an event came", async () => {
  const { waits, options } = server("unreachable", "unreachable", "unreachable", stream("retry: 10\nid: 1\ndata: a\n\n"), stream(""));
  await follow("u", options);
  assert.deepEqual(waits, [1000, 2000, 4000, 10, 20]);
});

test("waits start over once a connection stood for a while, though there was no news; not by its opening", async () => {
  const opened = ": heartbeat\n\n";
  const { waits, options } = server("unreachable", stream(opened), stream(opened), stream(opened + opened), stream(opened));
  await follow("u", options);
  assert.deepEqual(waits, [1000, 2000, 4000, 1000, 2000]);
});

test("a server that is not ready is asked again when it says, and a refusal is thrown as what it says", async () => {
  const said = [];
  const { waits, options } = server(
    problem(503, { title: "Not available", detail: "Spark is starting" }, { "Retry-After": "2" }),
    problem(400, { title: "Syntax error", detail: "oops", line: 3, column: 5 }),
  );
  const onWait = (delay, reason) => said.push([delay, reason.title, reason.detail]);
  await assert.rejects(follow("u", { ...options, onWait }), { name: "Problem", title: "Syntax error", line: 3, column: 5, status: 400 });
  assert.deepEqual(said, [[2000, "Not available", "Spark is starting"]]);
  assert.deepEqual(waits, [2000]);
});

test("what is not implemented is a refusal, not something to try again", async () => {
  const { requests, options } = server(problem(501, { title: "Not implemented" }));
  await assert.rejects(follow("u", options), { title: "Not implemented" });
  assert.equal(requests.length, 1);
});

test("an answer that is no event stream is handed back, and 204 means that nothing more comes", async () => {
  const table = new Response("{}", { headers: { "Content-Type": "application/sparql-results+json" } });
  assert.equal((await follow("u", server(table).options)).response, table);
  assert.deepEqual(await follow("u", server(new Response(null, { status: 204 })).options), { ended: true });
});

test("stopping ends the following, while reading as well", async () => {
  const { options, stop, events } = server(stream("data: 1\n\ndata: 2\n\n"), stream("data: 3\n\n"));
  const onEvent = (event) => {
    events.push(event);
    stop.abort();
  };
  assert.deepEqual(await follow("u", { ...options, onEvent }), { ended: false });
  assert.deepEqual(events.map(({ data }) => data), ["1"]);
});

test("a connection without even a heartbeat is given up and taken up again", async () => {
  const silent = new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode("id: 9\ndata: 1\n\n")) }), {
    headers: { "Content-Type": "text/event-stream" },
  });
  const { requests, options } = server(silent, stream("event: end\ndata: {}\n\n"));
  assert.deepEqual(await follow("u", { ...options, silence: 20 }), { ended: true });
  assert.equal(requests[1].headers["Last-Event-ID"], "9");
});

test("a connection that breaks in the middle is taken up again", async () => {
  let turn = 0;
  const pull = (controller) => {
    turn += 1;
    if (turn === 1) controller.enqueue(new TextEncoder().encode("id: 1\ndata: \u00e9\n\nid: 2\nda"));
    else controller.error(new TypeError("network error"));
  };
  const broken = new Response(new ReadableStream({ pull }), { headers: { "Content-Type": "text/event-stream" } });
  const { requests, events, options } = server(broken, stream("event: end\ndata\n\n"));
  assert.deepEqual(await follow("u", options), { ended: true });
  assert.equal(events[0].data, "\u00e9");
  assert.equal(requests[1].headers["Last-Event-ID"], "1");
});

test("a fault of the page itself is not taken for one of the network", async () => {
  const { requests, options } = server(stream("data: 1\n\n"), stream(""));
  const onEvent = () => undefined.oops;
  await assert.rejects(follow("u", { ...options, onEvent }), TypeError);
  assert.equal(requests.length, 1);
});
