import { sha256Hex } from "../../lib/hash.ts";
import type { LogDetails, TracedRequest } from "../../schemas/logs.ts";

/** Ids of the spans of a request, in hexadecimal digits. */
export interface SpanIds {
  traceId: string;
  /** Of the request. */
  root: string;
  parent: string | null;
  /** Of what happened within the request, by its index, which may be negative. */
  child(index: number): string;
}

/** An id of so many hexadecimal digits: the text without hyphens if it is one, else the beginning of its digest. */
async function toHexId(text: string, length: 16 | 32): Promise<string> {
  const bare = text.replaceAll("-", "").toLowerCase();
  if (bare.length === length && /^[0-9a-f]+$/.test(bare) && !/^0+$/.test(bare)) return bare;
  return (await sha256Hex(text)).slice(0, length);
}

/** The id of a request's span that follows from the id of its row. */
const ownIdIn = (digest: string): string => digest.slice(32, 48);

/** What the ids of spans follow from. */
type TracedIds = Pick<TracedRequest, "id" | "trace_id" | "span_id" | "parent_span_id"> & Pick<LogDetails, "part_of">;

/** Ids of the spans of a row. The same row always has the same ids, so that spans that are sent twice are recognised. */
export async function spanIdsOf(row: TracedIds): Promise<SpanIds> {
  const { id, trace_id, span_id, parent_span_id, part_of } = row;
  const digest = await sha256Hex(id);
  const traceId = await toHexId(trace_id, 32);
  const first = BigInt(`0x${digest.slice(48, 64)}`);
  const child = (index: number) =>
    BigInt.asUintN(64, first + BigInt(index))
      .toString(16)
      .padStart(16, "0");
  const sent = span_id === null ? null : await toHexId(span_id, 16);
  if (part_of !== undefined) {
    return { traceId, root: ownIdIn(digest), parent: sent ?? ownIdIn(await sha256Hex(part_of)), child };
  }
  const parent = parent_span_id === null ? null : await toHexId(parent_span_id, 16);
  return { traceId, root: sent ?? ownIdIn(digest), parent, child };
}
