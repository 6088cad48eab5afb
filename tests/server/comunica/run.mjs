// Runs the Comunica requests that come on standard input, a list in JSON a line: one after another, and prints their
// answers likewise. A request: {"kind": "bindings" | "boolean" | "quads" | "update", "query": …, "sources": […], "destination": …}

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

// The packages are installed outside of the checkout, in the folder named by the first argument.
const require = createRequire(join(process.argv[2], "package.json"));
const { QueryEngine } = require("@comunica/query-sparql");
const { termToString } = require("rdf-string");

const engine = new QueryEngine();

async function answer({ kind, query, sources, destination }) {
  const context = { sources, ...(destination === undefined ? {} : { destination }) };
  switch (kind) {
    case "bindings":
      return (await (await engine.queryBindings(query, context)).toArray()).map((bindings) =>
        Object.fromEntries([...bindings].map(([variable, term]) => [variable.value, termToString(term)])),
      );
    case "boolean":
      return engine.queryBoolean(query, context);
    case "quads":
      return (await (await engine.queryQuads(query, context)).toArray()).map((quad) =>
        [quad.subject, quad.predicate, quad.object, quad.graph].map(termToString),
      );
    case "update":
      await engine.queryVoid(query, context);
      return null;
    default:
      throw new Error(`there is no kind of request ${kind}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const answers = [];
  for (const request of JSON.parse(line)) {
    answers.push(await answer(request));
    // What one request wrote, the next one must see.
    await engine.invalidateHttpCache();
  }
  console.log(JSON.stringify(answers));
}
