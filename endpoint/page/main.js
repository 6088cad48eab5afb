// Puts the page together: the query box, the answer, the lists beside them.

import { AccessForm } from "./access_form.js";
import { AnswerView } from "./answer/answer.js";
import { byId, element, setText } from "./dom.js";
import { Editor } from "./query/editor.js";
import { ONE_SHOT, over } from "./query/examples.js";
import { at, getJson } from "./http/http.js";
import { LiveView } from "./answer/live_view.js";
import { PlanView } from "./plan/plan_view.js";
import { QueriesPanel } from "./lists/queries.js";
import { StreamsPanel } from "./lists/streams.js";
import { askedBy, followLink, queryLink } from "./query/link.js";
import { poll } from "./http/poll.js";
import { classify } from "./query/query_text.js";
import { Runner } from "./query/run.js";

const PERIOD = 2000;
const FIRST_TEXT = ONE_SHOT[0].text;
const KEPT_TEXT = `sparql-streams query ${at("").pathname}`;

/** Storage may be denied to a page: then its text is simply not kept. */
function kept(write) {
  try {
    if (write !== undefined) sessionStorage.setItem(KEPT_TEXT, write);
    return sessionStorage.getItem(KEPT_TEXT);
  } catch {
    return null;
  }
}

function setStatus(target, state, words) {
  target.dataset.state = state;
  setText(target.querySelector(".words"), words);
}

// The query

function kindWords({ kind, form, continuous }) {
  if (kind === "empty") return "";
  if (kind === "update") return "update";
  if (kind === "registration") return "registers a standing query";
  return `${continuous ? "continuous" : "one-shot"} ${form ?? "query"}`;
}

function described(text) {
  const kind = classify(text);
  const badge = byId("kind");
  setText(badge, kindWords(kind));
  badge.classList.toggle("continuous", kind.continuous);
  byId("since-label").hidden = !kind.continuous;
  byId("live-label").hidden = kind.kind !== "query" || kind.continuous;
  byId("shared").hidden = true;
}

function showProblem(problem) {
  const box = byId("problem");
  box.replaceChildren();
  editor.unmark();
  if (problem === null) return;
  box.append(element("strong", {}, problem.title));
  if (problem.line !== null && editor.mark(problem.line, problem.column)) {
    const place = `line ${problem.line}${problem.column === null ? "" : `, column ${problem.column}`}`;
    const go = element("button", { type: "button", class: "place", textContent: place, title: "Go there" });
    go.addEventListener("click", () => editor.goTo(problem.line, problem.column));
    box.append(" ", go);
  }
  if (problem.detail !== "") box.append(element("p", {}, problem.detail));
}

const editor = new Editor(byId("editor"), {
  onChange: (text) => {
    byId("problem").replaceChildren();
    kept(text);
    described(text);
  },
  onRun: () => run(),
});

const view = new AnswerView(byId("content"), byId("figure"));
const live = new LiveView({ view, facts: byId("evaluation"), history: byId("history"), pause: byId("pause") });
const runner = new Runner({
  view,
  live,
  said: {
    status: (state, words) => setStatus(byId("status"), state, words),
    notice: (words) => {
      setText(byId("notice"), words);
      byId("notice").hidden = words === "";
    },
    problem: showProblem,
    running: (running) => {
      byId("stop").hidden = !running;
    },
    resumable: (resumable) => {
      byId("resume").hidden = !resumable;
    },
    registered: () => refreshQueries(),
    following: (name) => {
      queriesPanel.follow(name);
      setText(byId("answer-title"), name === null ? "Answer" : name);
      if (name !== null) history.replaceState(null, "", followLink(name, location.href));
    },
  },
});

function run() {
  const replay = !byId("since-label").hidden && byId("since").checked;
  const live = !byId("live-label").hidden && byId("live").checked;
  leaveAddress();
  runner.run(editor.text, { since: replay ? "beginning" : null, live });
}

function edit(text) {
  editor.text = text;
  byId("editor").scrollIntoView({ block: "nearest" });
}

function stopRunning() {
  leaveAddress();
  runner.stop();
}

byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => {
  stopRunning();
  byId("run").focus();
});
byId("resume").addEventListener("click", () => {
  runner.resume();
  byId("stop").focus();
});
if (/Mac|iPhone|iPad/.test(navigator.platform)) setText(byId("run-hint").querySelector("kbd"), "⌘");

// Links

byId("share").addEventListener("click", async () => {
  const field = byId("link");
  field.value = queryLink(editor.text, location.href);
  byId("shared").hidden = false;
  field.focus();
  field.select();
  // A page that did not come over TLS may not write to the clipboard: then the link is there to be copied by hand.
  const copied = await navigator.clipboard?.writeText(field.value).then(() => true, () => false);
  setText(byId("shared").querySelector("[role=status]"), copied ? "It is copied." : "Copy it from here.");
});

let awaited = null;

/** The address of the page alone: what it asked for has been done, and a reload is not to do it again. */
function leaveAddress() {
  awaited = null;
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
}

/** Does what the fragment of the address asks for: fills the box with a query, or follows a standing one. */
function openAddress() {
  const { query, follow } = askedBy(location.hash);
  if (query !== null) {
    leaveAddress();
    editor.start(query);
  } else if (follow !== null) {
    awaited = follow;
    setStatus(byId("status"), "waiting", `Waiting for the standing query ${follow}…`);
  }
}

/** Follows the query that the address asks for, as soon as there is one of that name. */
function followAwaited(queries) {
  const query = queries.find(({ name }) => name === awaited);
  if (query === undefined) return;
  awaited = null;
  if (editor.text === FIRST_TEXT) editor.start(query.text);
  suggested = true;
  runner.followStanding(query);
  byId("answer").scrollIntoView({ block: "start" });
}

// Examples: those of the store, and those over each stream there is

const choice = byId("examples");
let offered = [];
let suggested = false;

function offerExamples(streams) {
  const signature = JSON.stringify(streams.map(({ name, iri }) => [name, iri]));
  if (choice.dataset.streams === signature) return;
  choice.dataset.streams = signature;
  const groups = [
    ...streams.slice(0, 20).map((stream) => ({ label: `Over the stream ${stream.name}`, examples: over(stream) })),
    { label: "Over the store", examples: ONE_SHOT },
  ];
  offered = groups.flatMap(({ examples }) => examples);
  let i = 0;
  const made = groups.map(({ label, examples }) => {
    const options = examples.map(({ title }) => element("option", { value: String(i++), textContent: title }));
    return element("optgroup", { label }, ...options);
  });
  choice.replaceChildren(choice.options[0], ...made);
  choice.value = "";
}

/** A first query over a stream that is alive, as long as nobody has written another. */
function suggest(streams) {
  const stream = streams.find(({ ended, elements }) => !ended && elements > 0) ?? streams[0];
  if (stream !== undefined && editor.text === FIRST_TEXT) editor.start(over(stream)[0].text);
}

choice.addEventListener("change", () => {
  const example = offered[Number(choice.value)];
  if (choice.value === "" || example === undefined) return;
  edit(example.text);
  choice.value = "";
});

// The lists

function panelNotice(panel, error) {
  const notice = panel.querySelector(".notice");
  setText(notice, error === undefined ? "" : `The list cannot be read: ${error.message}`);
  notice.hidden = error === undefined;
}

const streamsPanel = new StreamsPanel(byId("streams"), (stream) => edit(over(stream)[0].text));
const plan = new PlanView(byId("plan"));
const queriesPanel = new QueriesPanel(byId("queries"), {
  onFollow: (query) => {
    runner.followStanding(query);
    byId("answer").scrollIntoView({ block: "nearest" });
  },
  onStop: stopRunning,
  onEdit: ({ text }) => edit(text),
  onPlan: ({ name }) => plan.show(name),
});

const names = at("streams/NAME").href.replace("NAME", "rooms");
byId("first-stream").textContent =
  `curl -X PUT ${names}\n` +
  `curl -X POST -H 'Content-Type: text/turtle' \\\n  --data '<urn:room:1> <urn:temperature> 21.5 .' \\\n  ${names}`;

const refreshStreams = poll((signal) => getJson("streams", signal), PERIOD, (answer, error) => {
  panelNotice(byId("streams"), error);
  if (error !== undefined) return;
  streamsPanel.show(answer.streams);
  offerExamples(answer.streams);
  if (!suggested && awaited === null) suggest(answer.streams);
  suggested = true;
});
const refreshQueries = poll((signal) => getJson("queries", signal), PERIOD, (answer, error) => {
  panelNotice(byId("queries"), error);
  if (error !== undefined) return;
  queriesPanel.show(answer.queries);
  if (awaited !== null) followAwaited(answer.queries);
});

new AccessForm(byId("access"), () => {
  refreshStreams();
  refreshQueries();
});

const HEALTH = {
  running: "Ready",
  starting: "Spark is starting…",
  failed: "Spark has failed",
  unreachable: "The server cannot be reached",
};

async function health(signal) {
  // 503 says that it has failed: why is what is asked for here.
  const response = await fetch(at("health"), { headers: { Accept: "application/json" }, cache: "no-store", signal });
  return response.json();
}

poll(health, PERIOD, (answer, error) => {
  const { state, detail } = error === undefined ? answer.backend : { state: "unreachable", detail: error.message };
  setStatus(byId("health"), state, HEALTH[state] ?? state);
  byId("health").title = detail;
});

offerExamples([]);
editor.start(kept() || FIRST_TEXT);
openAddress();
addEventListener("hashchange", openAddress);
