import { memoizeText } from "./bounded-map.ts";
import { isObject, parseJson } from "./json.ts";

/** Longest key or value; the rest is cut off. */
const maxLength = 128;
const maxPairs = 64;

/** Metadata that a caller attaches to a request. */
export type Metadata = Readonly<Record<string, string>>;

/** Parses JSON of an object, also with single quotes. */
function parseLenient(text: string): unknown {
  return parseJson(text) ?? (text.includes('"') ? undefined : parseJson(text.replaceAll("'", '"')));
}

/** Metadata from a header; undefined unless it is a JSON object of plain values. */
export const readMetadata: (text: string) => Metadata | undefined = memoizeText(1_000, (text) => {
  const value = parseLenient(text);
  return isObject(value) ? toMetadata(value) : undefined;
});

/** Metadata from an object; undefined if it has too many pairs, or values that are not plain. */
export function toMetadata(value: Readonly<Record<string, unknown>>): Metadata | undefined {
  const pairs = Object.entries(value);
  if (pairs.length > maxPairs) return undefined;
  const metadata: Record<string, string> = Object.create(null);
  for (const [key, entry] of pairs) {
    if (entry === null || entry === undefined) continue;
    if (typeof entry === "object" || `${key}${entry}`.includes("\0")) return undefined;
    metadata[key.slice(0, maxLength)] = String(entry).slice(0, maxLength);
  }
  return metadata;
}

/** Entries of a W3C `baggage` header; malformed ones are left out. */
export function readBaggage(text: string): Metadata {
  const metadata: Record<string, string> = Object.create(null);
  for (const member of text.split(",").slice(0, maxPairs)) {
    const [pair = ""] = member.split(";");
    const [key = "", value = ""] = pair.split("=").map((part) => part.trim());
    try {
      const decoded = decodeURIComponent(value);
      if (key !== "" && !decoded.includes("\0")) metadata[key.slice(0, maxLength)] = decoded.slice(0, maxLength);
    } catch {
      // a malformed percent sign: the entry is ignored
    }
  }
  return metadata;
}

/** Trace and parent span of a W3C `traceparent` header; undefined if malformed or all zero. */
export function readTraceparent(text: string): { traceId: string; parentSpanId: string } | undefined {
  const [, traceId, parentSpanId] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/.exec(text) ?? [];
  if (traceId === undefined || parentSpanId === undefined) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(parentSpanId) ? undefined : { traceId, parentSpanId };
}
