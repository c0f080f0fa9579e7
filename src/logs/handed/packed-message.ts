import { joinBytes } from "../../lib/bytes.ts";
import { packCharged, readCharged } from "../charged.ts";
import type { PackedBatch } from "../pack.ts";

/** The strings of a batch, in the order in which they are sent. */
const strings = ["details", "counted", "charged", "measures", "heads", "lengths"] as const;

/** A batch without what is sent as bytes. */
interface Head extends Pick<PackedBatch, "organisationId" | "workspaceId" | "firstId" | "lastId" | "secrets"> {
  /** Bytes of each string. */
  readonly sizes: readonly number[];
}

/** A batch as it is sent to another process. */
export interface PackedMessage {
  readonly head: Head;
  readonly bytes: Uint8Array;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Its strings go as bytes: as JSON, each of their quotes would be escaped. */
export function toMessage(batch: PackedBatch): PackedMessage {
  const { organisationId, workspaceId, firstId, lastId, secrets } = batch;
  const pieces = strings.map((name) => encoder.encode(batch[name]));
  const sizes = pieces.map(({ length }) => length);
  const head = { organisationId, workspaceId, firstId, lastId, secrets, sizes };
  return { head, bytes: joinBytes([...pieces, batch.bodies]) };
}

/** The batch of a message. */
export function fromMessage({ head: { sizes, ...head }, bytes }: PackedMessage): PackedBatch {
  let position = 0;
  const read = (index: number): string => {
    const start = position;
    position += sizes[index] ?? 0;
    return decoder.decode(bytes.subarray(start, position));
  };
  const [details = "", counted = "", charged = "", measures = "", heads = "", lengths = ""] = strings.map((_, index) =>
    read(index),
  );
  // a copy: the memory of the message holds others too
  return { ...head, details, counted, charged, measures, heads, lengths, bodies: bytes.slice(position) };
}

/** Number of rows of a batch. */
export const rowsOf = ({ secrets }: Pick<PackedBatch, "secrets">): number => secrets.rows.length;

/** Several JSON arrays as one. */
function joinArrays(arrays: readonly string[]): string {
  return `[${arrays
    .map((text) => text.slice(1, -1))
    .filter((items) => items !== "")
    .join(",")}]`;
}

function joinCharged(batches: readonly PackedBatch[]): string {
  if (batches.every(({ charged }) => charged === "")) return "";
  const rows = batches.flatMap((batch) => {
    const read = readCharged(batch.charged);
    return read.length > 0 ? read : Array.from({ length: rowsOf(batch) }, () => []);
  });
  return packCharged(rows);
}

function joinSecrets(batches: readonly PackedBatch[]): PackedBatch["secrets"] {
  const lists: PackedBatch["secrets"]["lists"][number][] = [];
  const rows: number[] = [];
  for (const { secrets } of batches) {
    const offset = lists.length;
    lists.push(...secrets.lists);
    for (const row of secrets.rows) rows.push(row + offset);
  }
  return { lists, rows };
}

/** Batches of one tenant as one. */
export function joinPacked(batches: readonly [PackedBatch, ...PackedBatch[]]): PackedBatch {
  const [first, ...others] = batches;
  if (others.length === 0) return first;
  const firstIds = batches.map(({ firstId }) => firstId).sort();
  const lastIds = batches.map(({ lastId }) => lastId).sort();
  const counted = batches.map((batch) => batch.counted).filter((text) => text !== "");
  return {
    organisationId: first.organisationId,
    workspaceId: first.workspaceId,
    firstId: firstIds[0] ?? first.firstId,
    lastId: lastIds.at(-1) ?? first.lastId,
    details: joinArrays(batches.map(({ details }) => details)),
    counted: counted.length === 0 ? "" : joinArrays(counted),
    charged: joinCharged(batches),
    measures: joinArrays(batches.map(({ measures }) => measures)),
    heads: joinArrays(batches.map(({ heads }) => heads)),
    lengths: joinArrays(batches.map(({ lengths }) => lengths)),
    bodies: joinBytes(batches.map(({ bodies }) => bodies)) as PackedBatch["bodies"], // made of such, or one of them
    secrets: joinSecrets(batches),
  };
}
