import { isObject, parseJson } from "../../lib/json.ts";
import type { LogContent, LogPhase, LogSide } from "../../schemas/logs.ts";

// The contents of a batch are one text: a JSON line with the lengths of each row's bodies, a JSON line with each row's
// headers and which bodies are cut, then the concatenated bodies. A row has two bodies, those of request and response, or
// three more: the request before and after its conversion, and the response before. In batches of earlier versions the first line has one
// length per row, and each row has a JSON line before its bodies.

/** A row without its bodies. */
interface Head {
  request: unknown;
  response: unknown;
  truncated: unknown;
  /** Method and headers of a converted request. */
  sent?: unknown;
}

/** Position of a body: its start, and its length if it exists. */
type Place = [start: number, length: unknown];

function readHeaders(headers: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => [name, String(value)]),
  );
}

function readSide(headers: unknown, text: string, [start, length]: Place, truncated: unknown): LogSide {
  const body = typeof length === "number" ? text.slice(start, start + length) : null;
  return { headers: readHeaders(headers), body, truncated: truncated === true };
}

/** A body that some rows have. */
function readPhase(text: string, [start, length]: Place, truncated: unknown): LogPhase | null {
  return typeof length === "number" ? readSide({}, text, [start, length], truncated) : null;
}

function readSides(head: Head, text: string, from: number, lengths: unknown): LogContent {
  const sizes: unknown[] = Array.isArray(lengths) ? lengths : [];
  const cuts: unknown[] = Array.isArray(head.truncated) ? head.truncated : [];
  let start = from;
  const [sent = [start, null], answered = [start, null], ...others] = sizes.map((length): Place => {
    const place: Place = [start, length];
    start += toCount(length);
    return place;
  });
  const content: LogContent = {
    request: readSide(head.request, text, sent, cuts[0]),
    response: readSide(head.response, text, answered, cuts[1]),
  };
  const [final, transformed, original] = others.map((place, index) => readPhase(text, place, cuts[index + 2]));
  if (final) content.final = final;
  if (original) content.original = original;
  const { method, headers } = isObject(head.sent) ? head.sent : {};
  if (transformed) content.sent = { ...transformed, method: String(method), headers: readHeaders(headers) };
  return content;
}

const toCount = (length: unknown): number => (typeof length === "number" ? length : 0);

/** Characters of the bodies of a row. */
const sizeOf = (lengths: unknown): number =>
  Array.isArray(lengths) ? lengths.reduce<number>((sum, length) => sum + toCount(length), 0) : 0;

/** Reads a row of an earlier version: a line of JSON, then its bodies. */
function readOwnText(text: string): LogContent {
  const end = text.indexOf("\n");
  const parsed = parseJson(text.slice(0, end));
  const { request, response, truncated, lengths } = isObject(parsed) ? parsed : {};
  return readSides({ request, response, truncated }, text, end + 1, lengths);
}

/** Reads rows of a batch by index, from the contents of the batch; null where the content was not stored. */
export function openContents(content: string | undefined): (index: number) => LogContent | null {
  if (content === undefined) return () => null;
  const end = content.indexOf("\n");
  const parsed: unknown = parseJson(content.slice(0, end));
  const lengths: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
  const isEarlier = lengths.some((length) => typeof length === "number");
  const headsEnd = isEarlier ? end : content.indexOf("\n", end + 1);
  const heads: unknown = isEarlier ? undefined : parseJson(content.slice(end + 1, headsEnd));
  const sizes = lengths.map(isEarlier ? toCount : sizeOf);
  const startOf = (index: number) => sizes.slice(0, index).reduce((sum, size) => sum + size, headsEnd + 1);
  return (index) => {
    const own = lengths[index];
    const start = startOf(index);
    if (typeof own === "number") return readOwnText(content.slice(start, start + own));
    if (own === null || own === undefined) return null;
    const head: unknown = Array.isArray(heads) ? heads[index] : undefined;
    const [request, response, truncated, sent]: unknown[] = Array.isArray(head) ? head : [];
    return readSides({ request, response, truncated, sent }, content, start, own);
  };
}
