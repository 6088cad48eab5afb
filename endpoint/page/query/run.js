// Sends what is asked the way its kind asks for, and says how it goes. One thing runs at a time.

import { request } from "../http/access.js";
import { readAnswer } from "../answer/answer.js";
import { plural } from "../dom.js";
import { follow } from "../http/events.js";
import { Problem, at, problemOf } from "../http/http.js";
import { classify, prefixesOf } from "./query_text.js";

const RESULTS = "application/sparql-results+json";
const GRAPH = "text/turtle, application/n-triples;q=0.5";
const ACCEPT = { SELECT: RESULTS, ASK: RESULTS, CONSTRUCT: GRAPH, DESCRIBE: GRAPH };
const WARNING = "warning: ";
const QUERY = { "Content-Type": "application/sparql-query" };

const seconds = (milliseconds) => `${Math.max(1, Math.round(milliseconds / 1000))} s`;
const took = (milliseconds) => (milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`);
const described = ({ title, detail }) => (detail ? `${title}: ${detail}` : title);

/** The path of what is to start earlier than now. */
const starting = (path, since) => (since === null ? path : `${path}?since=${encodeURIComponent(since)}`);

/** The response, or a Problem: a server that cannot be reached is one as well. */
async function send(path, options) {
  let response;
  try {
    response = await request(at(path), { cache: "no-store", ...options });
  } catch (error) {
    if (options.signal.aborted) throw error;
    throw new Problem({ title: "The server cannot be reached", detail: "Is it still running?" });
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}

function read(text, contentType) {
  try {
    return readAnswer(text, contentType);
  } catch {
    throw new Problem({ title: "The answer is not the JSON it should be", detail: text.slice(0, 200) });
  }
}

export class Runner {
  #view;
  #live;
  #said;
  #current = null;
  #left = null;
  #listening = false;

  /**
   * @param {{view: AnswerView, live: LiveView, said: object}} parts `said` hears: `status(state, words)`,
   *   `notice(words)`, `problem(problem)` (null: none any more), `running(boolean)`, `resumable(boolean)`,
   *   `registered()`, `following(name)`
   */
  constructor({ view, live, said }) {
    this.#view = view;
    this.#live = live;
    this.#said = said;
  }

  stop() {
    this.#current?.abort();
  }

  /**
   * Runs a text of any kind; `since` (such as "beginning") replays a query over streams, and `live` follows one of
   * the store as the store changes.
   */
  run(text, { since = null, live = false } = {}) {
    const { kind, form, continuous } = classify(text);
    if (kind === "empty") {
      this.#said.status("idle", "There is nothing to run: write a query first.");
      return;
    }
    if (kind === "update") this.#begin((signal) => this.#update(text, signal));
    else if (kind === "registration") this.#begin((signal) => this.#register(text, since, signal));
    else if (continuous || live) this.#begin((signal) => this.#continuous(text, since, signal));
    else this.#begin((signal) => this.#once(text, form, signal));
  }

  /** Follows the results of a standing query, given its name and text. */
  followStanding({ name, text }) {
    this.#begin((signal) => this.#standing(name, text, {}, signal));
  }

  /** Goes on with what was stopped, right after the last event that came. */
  resume() {
    const left = this.#left;
    if (left === null) return;
    this.#begin((signal) => {
      this.#said.following(left.name);
      return this.#follow(left, signal);
    }, true);
  }

  async #begin(task, again = false) {
    this.stop();
    const stop = new AbortController();
    this.#current = stop;
    this.#left = null;
    this.#listening = false;
    if (!again) this.#live.clear();
    this.#said.resumable(false);
    this.#said.problem(null);
    this.#said.notice("");
    this.#said.following(null);
    this.#said.running(true);
    this.#said.status("running", "Running…");
    let ending;
    try {
      ending = await task(stop.signal);
    } catch (error) {
      ending = () => this.#failed(error);
    }
    // Another run has taken the place of this one: the page is its.
    if (this.#current !== stop) return;
    this.#current = null;
    this.#listening = false;
    this.#live.end();
    this.#said.following(null);
    this.#said.running(false);
    if (!stop.signal.aborted) {
      try {
        return ending();
      } catch (error) {
        return this.#failed(error);
      }
    }
    this.#said.resumable(this.#left !== null);
    const going = "Stopped. Resume goes on right after the last answer.";
    return this.#said.status("idle", this.#left === null ? "Stopped." : going);
  }

  #failed(error) {
    const known = error instanceof Problem;
    this.#said.status("failed", known ? error.title : "The page failed; the browser's console has more.");
    if (known) this.#said.problem(error);
    else throw error;
  }

  async #once(text, form, signal) {
    const start = performance.now();
    const accept = ACCEPT[form] ?? `${RESULTS}, ${GRAPH}`;
    const response = await send("sparql", { method: "POST", headers: { ...QUERY, Accept: accept }, body: text, signal });
    const body = await response.text();
    return this.#answered(body, response, text, performance.now() - start);
  }

  #answered(body, response, text, milliseconds) {
    const answer = read(body, response.headers.get("content-type") ?? "text/plain");
    return () => {
      this.#view.show(answer, prefixesOf(text));
      const what = { solutions: () => plural(answer.count, "solution"), boolean: () => "Answered", graph: () => "A graph" };
      this.#said.status("done", `${what[answer.kind]()} in ${took(milliseconds)}`);
    };
  }

  async #update(text, signal) {
    const start = performance.now();
    const headers = { "Content-Type": "application/sparql-update" };
    await send("sparql", { method: "POST", headers, body: text, signal });
    return () => this.#said.status("done", `The update is done, in ${took(performance.now() - start)}`);
  }

  async #register(text, since, signal) {
    const response = await send(starting("sparql", since), { method: "POST", headers: QUERY, body: text, signal });
    this.#said.registered();
    const location = response.headers.get("location");
    if (location === null) return () => this.#said.status("done", "Registered.");
    const name = decodeURIComponent(new URL(location, response.url).pathname.split("/").at(-1));
    const fresh = response.status === 201;
    this.#said.notice(`${name} is registered${fresh ? "" : " already"}. It goes on when nobody listens.`);
    return this.#standing(name, text, { since, fresh }, signal);
  }

  #continuous(text, since, signal) {
    const path = starting("sparql", since);
    return this.#follow({ path, options: { method: "POST", headers: QUERY, body: text }, text }, signal);
  }

  #standing(name, text, { since = null, fresh = false }, signal) {
    this.#said.following(name);
    const path = `queries/${encodeURIComponent(name)}/results`;
    const following = this.#follow({ path: starting(path, since), options: {}, text, name }, signal);
    if (since === null && !fresh) this.#latest(path, signal);
    return following;
  }

  /** The answer the query has now, so that there is something to see before its next evaluation. */
  async #latest(path, signal) {
    const headers = { Accept: `${RESULTS}, ${GRAPH};q=0.9` };
    // It is a courtesy: a query without an answer yet has none to show, and the followed stream says what is wrong.
    const response = await request(at(path), { headers, signal }).catch(() => null);
    if (response?.status !== 200) return;
    const body = await response.text().catch(() => "");
    if (body === "" || signal.aborted) return;
    this.#live.preview(read(body, response.headers.get("content-type") ?? "text/plain"));
    if (this.#listening) this.#sayListening();
  }

  #sayListening() {
    const none = this.#live.previewed ? "No evaluation has come since the one that is shown." : "No evaluation has come yet.";
    this.#said.status("live", this.#live.received > 0 ? "Live" : `Listening. ${none}`);
  }

  /**
   * Follows a result stream, and leaves behind what resumes it where it is stopped.
   * @param {{path: string, options: object, text: string, name?: string, lastEventId?: string}} asked
   */
  async #follow({ path, options, text, name = null, lastEventId = "" }, signal) {
    const prefixes = prefixesOf(text);
    const start = performance.now();
    let reason = "";
    let last = lastEventId;
    const warnings = new Set();
    this.#live.begin(prefixes, lastEventId !== "");
    this.#said.status("waiting", "Connecting…");
    const result = await follow(at(path), {
      ...options,
      lastEventId,
      signal,
      fetch: request,
      onOpen: () => {
        this.#listening = true;
        this.#sayListening();
      },
      onWait: (delay, problem) => {
        this.#listening = false;
        this.#said.status("waiting", `${described(problem)} – trying again in ${seconds(delay)}`);
      },
      onComment: (text) => {
        // Those of a standing query stand beside it in the list.
        if (name !== null || !text.startsWith(WARNING)) return;
        warnings.add(text.slice(WARNING.length));
        this.#said.notice([...warnings].join("\n"));
      },
      onEvent: (event) => {
        last = event.id;
        const { kind, detail, problem } = this.#live.take(event);
        if (kind === "evaluation") this.#sayListening();
        else if (kind === "error") this.#said.notice(described(problem));
        else if (kind === "reset") this.#said.notice(detail);
        else if (kind === "end") reason = detail;
      },
    });
    if (result.ended === false && this.#current?.signal === signal) this.#left = { path, options, text, name, lastEventId: last };
    if (result.response === undefined) {
      return () => this.#said.status("done", reason === "" ? "Ended." : `Ended: ${reason}`);
    }
    // The server took it for a query without streams: it knows best.
    const body = await result.response.text();
    const ending = this.#answered(body, result.response, text, performance.now() - start);
    this.#live.clear();
    return ending;
  }
}
