// Prints what a one-shot query answers, then the rows of a standing query as they come: node rooms.mjs ENDPOINT

import { setTimeout } from "node:timers/promises";

const endpoint = process.argv[2];

/** The solutions of a one-shot query. */
async function solutions(query) {
  const headers = { "Content-Type": "application/sparql-query", Accept: "application/sparql-results+json" };
  const response = await fetch(`${endpoint}/sparql`, { method: "POST", headers, body: query });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()).results.bindings;
}

/** The events of a result stream. Where the connection is lost, it goes on behind the last event that was seen. */
async function* events(path) {
  let seen;
  for (;;) {
    const headers = { Accept: "text/event-stream", ...(seen && { "Last-Event-ID": seen }) };
    const response = await fetch(endpoint + path, { headers }).catch(() => null);
    if (response && response.status < 500) {
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
      let lost = "the connection is closed";
      try {
        for await (const event of parsed(response.body)) {
          seen = event.id ?? seen;
          if (event.data === undefined) continue;
          yield event;
          if (event.event === "end") return;
        }
      } catch (error) {
        lost = `the connection is lost: ${error.message}`;
      }
      console.error(`${lost}; asking again`);
    }
    await setTimeout(1000);
  }
}

/** Server-Sent Events, each an object of its fields. What has no data is no event, but its id counts. */
async function* parsed(body) {
  let event = {};
  for await (const line of lines(body)) {
    if (line === "") {
      yield event;
      event = {};
    } else if (!line.startsWith(":")) {
      const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
      event[field] = field === "data" && event.data !== undefined ? `${event.data}\n${value}` : value;
    }
  }
}

async function* lines(body) {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const whole = (rest + text).split(/\r?\n/);
    rest = whole.pop();
    yield* whole;
  }
}

const row = (solution) => Object.values(solution).map((term) => term.value).join(" ");

for (const solution of await solutions("SELECT ?name { ?room <http://example.org/name> ?name } ORDER BY ?name")) {
  console.log(row(solution));
}
for await (const { event, data } of events("/queries/warm/results?since=beginning")) {
  if (event === undefined) JSON.parse(data).results.bindings.forEach((solution) => console.log(row(solution)));
  else if (event === "error") console.error(JSON.parse(data).detail);
}
