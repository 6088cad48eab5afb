import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { heldToken, keepToken, onRefused, refusalWords, request } from "../../../endpoint/page/http/access.js";

const TOKEN = "token-0123456789";
let sent;
let answer;

beforeEach(() => {
  sent = [];
  answer = new Response("", { status: 200 });
  globalThis.fetch = async (url, options) => {
    sent.push(options.headers ?? {});
    return answer;
  };
  keepToken("");
  onRefused(() => undefined);
});

const refusal = (status, challenge) => new Response("{}", { status, headers: { "WWW-Authenticate": challenge } });

test("a token is sent with every request from when it is kept until it is forgotten", async () => {
  await request("http://e/", { headers: { Accept: "text/csv" } });
  assert.equal(keepToken(TOKEN), true);
  await request("http://e/", { headers: { Accept: "text/csv" } });
  await request("http://e/");
  keepToken("");
  await request("http://e/");
  const header = { Authorization: `Bearer ${TOKEN}` };
  assert.deepEqual(sent, [{ Accept: "text/csv" }, { Accept: "text/csv", ...header }, header, {}]);
});

test("what cannot be a token is not kept, nor put into a header", () => {
  keepToken(TOKEN);
  for (const wrong of ["a b", "a\r\nX: y", "é", '"']) assert.equal(keepToken(wrong), false);
  assert.equal(heldToken(), TOKEN);
});

test("a refusal for want of a token is told, and any other is not", async () => {
  const told = [];
  onRefused((words) => told.push(words));
  answer = refusal(401, 'Bearer realm="x", scope="read"');
  await request("http://e/");
  keepToken(TOKEN);
  answer = refusal(401, 'Bearer realm="x", error="invalid_token"');
  await request("http://e/");
  answer = refusal(403, 'Bearer realm="x", error="insufficient_scope", scope="write"');
  await request("http://e/");
  for (answer of [new Response("", { status: 403 }), refusal(401, 'Basic realm="proxy"'), new Response("", { status: 200 })]) {
    await request("http://e/");
  }
  assert.equal(told.length, 3);
  assert.match(told[0], /scope read/);
  assert.match(told[1], /does not know/);
  assert.match(told[2], /scope write/);
});

test("a token that was replaced while its request was under way is not judged any more", async () => {
  const told = [];
  onRefused((words) => told.push(words));
  keepToken(TOKEN);
  answer = refusal(401, 'Bearer realm="x", error="invalid_token"');
  const asking = request("http://e/");
  keepToken("another-0123456789");
  await asking;
  assert.deepEqual(told, []);
});

test("words are found for a challenge without a scope", () => {
  assert.equal(refusalWords(401, 'Bearer realm="x"', false), "The endpoint asks for a token.");
  assert.equal(refusalWords(401, null, false), null);
});
