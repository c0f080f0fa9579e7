import { isObject, parseJson } from "../../lib/json.ts";
import type { LogContent, LogSide } from "../../schemas/logs.ts";

// The contents of a batch are one text: a line of JSON with the lengths of each row's two bodies, a line with its headers and
// which bodies are cut, then the bodies one after the other, as they are. In batches of earlier versions the first line holds
// one length for each row, and each row has a line of its own before its bodies.

/** What is kept of a row besides its bodies. */
interface Head {
  request: unknown;
  response: unknown;
  truncated: unknown;
}

/** Where a body stands: its beginning, and its length if there is one. */
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

/** A row of an earlier version: its own line of JSON, then its bodies. */
function readOwnText(text: string): LogContent {
  const end = text.indexOf("\n");
  const parsed = parseJson(text.slice(0, end));
  const { request, response, truncated, lengths } = isObject(parsed) ? parsed : {};
  return readSides({ request, response, truncated }, text, end + 1, lengths);
}

/** The content of the row at `index` of a batch, from the contents of all its rows; null where it was not kept. */
export function readContentAt(content: string | undefined, index: number): LogContent | null {
  if (content === undefined) return null;
  const end = content.indexOf("\n");
  const lengths: unknown = parseJson(content.slice(0, end));
  const own: unknown = Array.isArray(lengths) ? lengths[index] : undefined;
  if (!Array.isArray(lengths) || own === null || own === undefined) return null;
  const before = lengths.slice(0, index);
  if (typeof own === "number") {
    const start = before.reduce<number>((sum, length) => sum + toCount(length), end + 1);
    return readOwnText(content.slice(start, start + own));
  }
  const headsEnd = content.indexOf("\n", end + 1);
  const heads: unknown = parseJson(content.slice(end + 1, headsEnd));
  const head: unknown = Array.isArray(heads) ? heads[index] : undefined;
  const [request, response, truncated]: unknown[] = Array.isArray(head) ? head : [];
  const start = before.reduce<number>((sum, row) => sum + sizeOf(row), headsEnd + 1);
  return readSides({ request, response, truncated }, content, start, own);
}
