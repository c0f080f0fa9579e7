import { isObject, parseJson } from "../lib/json.ts";
import type { CacheEntry } from "./entry.ts";

const lineFeed = 0x0a;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const isCount = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** An entry as bytes: its facts in a line of JSON, then its body. */
export function packEntry(entry: CacheEntry): Uint8Array<ArrayBuffer> {
  const { body, ...facts } = entry;
  const head = encoder.encode(`${JSON.stringify(facts)}\n`);
  const packed = new Uint8Array(head.length + body.length);
  packed.set(head);
  packed.set(body, head.length);
  return packed;
}

/** Reads a packed entry; undefined where the facts before the body are not those of an entry. */
export function readPackedEntry(packed: Uint8Array<ArrayBuffer>): CacheEntry | undefined {
  const end = packed.indexOf(lineFeed);
  const facts = end < 0 ? undefined : parseJson(decoder.decode(packed.subarray(0, end)));
  if (!isObject(facts)) return undefined;
  const { key, dropped, cost, tokens, storedAt, expiresAt } = facts;
  if (typeof key !== "string" || !isCount(tokens) || !isCount(storedAt) || !isCount(expiresAt)) return undefined;
  const names = Array.isArray(dropped) ? dropped.filter((name) => typeof name === "string") : null;
  const price = isCount(cost) ? cost : null;
  return { key, body: packed.slice(end + 1), dropped: names, cost: price, tokens, storedAt, expiresAt };
}
