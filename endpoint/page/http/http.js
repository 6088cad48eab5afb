// Where the endpoint is, and what it says when it refuses.

import { request } from "./access.js";

/** The folder the endpoint is mounted at, whatever the prefix: these scripts are in its folder `page`. */
export const ROOT = new URL("../../", import.meta.url);

/** A URL of the endpoint, from a path relative to where it is mounted. */
export const at = (path) => new URL(path, ROOT);

/** A refusal or failure, as a person is to read it. `line` and `column` count from 1, where the server gave them. */
export class Problem extends Error {
  constructor({ title, detail = "", status = 0, line = null, column = null }) {
    super(detail || title);
    this.name = "Problem";
    Object.assign(this, { title, detail, status, line, column });
  }
}

const LONGEST_TEXT = 2000;

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The Problem in a problem document (RFC 9457), or in any text where there is none. */
export function problemFrom(text, status = 0, fallback = "The request failed") {
  let document = null;
  try {
    document = JSON.parse(text);
  } catch {
    // Not JSON (a proxy's page, say): the text itself is all there is to show.
  }
  if (!isObject(document)) {
    return new Problem({ title: fallback, detail: text.trim().slice(0, LONGEST_TEXT), status });
  }
  const place = (value) => (Number.isInteger(value) ? value : null);
  return new Problem({
    title: String(document.title ?? fallback),
    detail: String(document.detail ?? document.message ?? ""),
    status: place(document.status) ?? status,
    line: place(document.line),
    column: place(document.column),
  });
}

/** The Problem in an answer that is not `ok`. */
export async function problemOf(response) {
  const type = response.headers.get("content-type") ?? "";
  const text = type.includes("html") ? "" : await response.text();
  return problemFrom(text, response.status, `HTTP ${response.status} ${response.statusText}`.trim());
}

/** The JSON of a GET on the endpoint. Throws Problem, or TypeError where the server cannot be reached. */
export async function getJson(path, signal) {
  const response = await request(at(path), { headers: { Accept: "application/json" }, signal });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}
