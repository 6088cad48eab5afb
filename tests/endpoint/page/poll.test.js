import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { keepToken } from "../../../endpoint/page/http/access.js";
import { getJson } from "../../../endpoint/page/http/http.js";
import { poll } from "../../../endpoint/page/http/poll.js";

const PERIOD = 2000;
const TOKEN = "token-0123456789";
let asked;
let look;

/** An endpoint that asks for a token, in a page that is visible. */
beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  asked = [];
  globalThis.document = {
    visibilityState: "visible",
    addEventListener: (_, listener) => {
      look = listener;
    },
  };
  globalThis.fetch = async (url, { headers }) => {
    asked.push(headers.Authorization);
    if (headers.Authorization === `Bearer ${TOKEN}`) return Response.json({ streams: [] });
    const challenge = { "WWW-Authenticate": 'Bearer realm="x", scope="read"', "Content-Type": "application/problem+json" };
    return new Response('{"title": "A token is needed", "status": 401}', { status: 401, headers: challenge });
  };
  keepToken("");
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

async function pass(milliseconds) {
  for (let passed = 0; passed < milliseconds; passed += PERIOD / 2) {
    await settle();
    mock.timers.tick(PERIOD / 2);
  }
  await settle();
}

test("what is refused for want of a token is asked for once, and again with each other token", async () => {
  const came = [];
  const ask = poll((signal) => getJson("streams", signal), PERIOD, (answer, error) => came.push(answer ?? error.status));
  await pass(10 * PERIOD);
  assert.deepEqual(came, [401]);
  keepToken("another");
  ask();
  await pass(10 * PERIOD);
  assert.deepEqual(came, [401, 401]);
  keepToken(TOKEN);
  ask();
  await pass(2 * PERIOD);
  assert.deepEqual(came.slice(2, 4), [{ streams: [] }, { streams: [] }]);
  assert.deepEqual(asked.slice(0, 4), [undefined, "Bearer another", `Bearer ${TOKEN}`, `Bearer ${TOKEN}`]);
});

test("a token that comes while the request without it is under way is tried at once", async () => {
  const came = [];
  const ask = poll((signal) => getJson("streams", signal), PERIOD, (answer, error) => came.push(answer ?? error.status));
  keepToken(TOKEN);
  ask();
  await pass(PERIOD / 2);
  assert.deepEqual(came.slice(0, 2), [401, { streams: [] }]);
});

test("what was refused is asked for once more when somebody looks at the page anew", async () => {
  const came = [];
  poll((signal) => getJson("streams", signal), PERIOD, (_, error) => came.push(error.status));
  await pass(2 * PERIOD);
  look();
  await pass(2 * PERIOD);
  assert.deepEqual(came, [401, 401]);
});

test("what fails for another reason is asked for again", async () => {
  const came = [];
  globalThis.fetch = async () => new Response("", { status: 503 });
  poll((signal) => getJson("streams", signal), PERIOD, (_, error) => came.push(error.status));
  await pass(3 * PERIOD);
  assert.ok(came.length >= 3, `${came.length} times`);
});
