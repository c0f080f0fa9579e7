import { isObject, parseJson } from "../../lib/json.ts";
import type { LogContent, LogSide } from "../../schemas/logs.ts";

// The contents of a batch are one text: a JSON line with the lengths of each row's two bodies, a JSON line with each row's
// headers and which bodies are cut, then the concatenated bodies. In batches of earlier versions the first line has one
// length per row, and each row has a JSON line before its bodies.

/** A row without its bodies. */
interface Head {
  request: unknown;
  response: unknown;
  truncated: unknown;
}

/** Position of a body: its start, and its length if it exists. */
type Place = [start: number, length: unknown];

function readSide(headers: unknown, text: string, [start, length]: Place, truncated: unknown): LogSide {
  const pairs = Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => [name, String(value)]);
  const body = typeof length === "number" ? text.slice(start, start + length) : null;
  return { headers: Object.fromEntries(pairs), body, truncated: truncated === true };
}

function readSides({ request, response, truncated }: Head, text: string, start: number, lengths: unknown): LogContent {
  const [sent, answered]: unknown[] = Array.isArray(lengths) ? lengths : [];
  const [sentCut, answeredCut]: unknown[] = Array.isArray(truncated) ? truncated : [];
  return {
    request: readSide(request, text, [start, sent], sentCut),
    response: readSide(response, text, [start + toCount(sent), answered], answeredCut),
  };
}

const toCount = (length: unknown): number => (typeof length === "number" ? length : 0);

/** Characters of the bodies of a row. */
const sizeOf = (lengths: unknown): number => (Array.isArray(lengths) ? toCount(lengths[0]) + toCount(lengths[1]) : 0);

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
    const [request, response, truncated]: unknown[] = Array.isArray(head) ? head : [];
    return readSides({ request, response, truncated }, content, start, own);
  };
}
