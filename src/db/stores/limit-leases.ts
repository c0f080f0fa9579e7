import type { InStatement, Row } from "@libsql/client";
import type { BucketCount, BucketQuery, LeaseExchange, LeaseState, NodeSighting } from "../../schemas/limit-leases.ts";
import type { Database } from "../client.ts";

/** The clock of the database: all nodes agree on it. */
const now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";
const isNode = "EXISTS (SELECT 1 FROM gateway_nodes WHERE id = ?)";
/** Time for nodes that are late to see a window end. */
const endedForMs = 10_000;
/** Most buckets of one limit that are read. */
const mostListed = 20_000;

const keyColumns = "organisation_id, limit_id, bucket, window_start";
/** Columns of a lease in an element of `json_each`. */
const keyValues = `value ->> 'organisationId' AS organisation_id, value ->> 'limitId' AS limit_id,
  value ->> 'bucket' AS bucket, value ->> 'windowStart' AS window_start, value ->> 'windowEnd' AS window_end,
  value ->> 'number' AS number`;

/** The condition that two rows have the same key. */
const sameKey = (one: string, other: string): string =>
  keyColumns
    .split(", ")
    .map((column) => `${one}.${column} = ${other}.${column}`)
    .join(" AND ");

/** What is neither used nor held by a node, as a column of `item`. */
const free = `item.most - coalesce(counter.used, 0) - coalesce(
  (SELECT sum(max(0, held.granted - held.used)) FROM limit_leases held WHERE ${sameKey("held", "item")}), 0) AS free`;

const isOwn = `${sameKey("own", "item")} AND own.node_id = ? AND own.number = item.number`;
const joinOwn = `LEFT JOIN limit_leases own ON ${isOwn}
  LEFT JOIN limit_counters counter ON ${sameKey("counter", "item")}`;

/** Adds leases or changes what they grant. The columns of the rows are those of `keyValues`, then the following ones. */
const addLeases = `INSERT INTO limit_leases (${keyColumns}, window_end, number, node_id, granted, used, is_closed)`;
const orChange = `ON CONFLICT (${keyColumns}, node_id, number) DO UPDATE SET granted = excluded.granted`;

const setHeld = `${addLeases}
  SELECT ${keyValues}, ?, value ->> 'granted', 0, 0 FROM json_each(?) WHERE ${isNode} ${orChange}`;

const close = `UPDATE limit_leases AS own SET granted = item.granted, is_closed = 1
  FROM (SELECT ${keyValues}, value ->> 'granted' AS granted FROM json_each(?)) item WHERE ${isOwn}`;

/**
 * A node gets what it wants now, or a quarter of its part of what is free, whichever is more: few requests have to ask,
 * and little lies unused while others ask for it.
 */
const grant = `WITH known AS (
    SELECT item.*, coalesce(own.used, 0) AS used, max(coalesce(own.granted, 0), coalesce(own.used, 0)) AS base,
      4 * (SELECT count(*) FROM gateway_nodes) AS parts, ${free}
    FROM (SELECT ${keyValues}, value ->> 'most' AS most, value ->> 'least' AS least, value ->> 'wanted' AS wanted
      FROM json_each(?)) item
    ${joinOwn}
  )
  ${addLeases}
  SELECT ${keyColumns}, window_end, number, ?, base + min(free, max(wanted - base, ceil(free * 1.0 / parts))), used, 0
  FROM known WHERE free > 0 AND wanted > base AND least - base <= free AND ${isNode} ${orChange}`;

const look = `SELECT coalesce(own.granted, 0) AS granted,
    coalesce(own.used, 0) AS written, coalesce(counter.used, 0) AS counted, ${free}
  FROM (SELECT key AS position, ${keyValues}, value ->> 'most' AS most FROM json_each(?)) item
  ${joinOwn} ORDER BY item.position`;

const toState = (row: Row): LeaseState => ({
  granted: Number(row.granted),
  written: Number(row.written),
  counted: Number(row.counted),
  free: Number(row.free),
});

function toExchange(nodeId: string, { held, closed, asked, looked }: LeaseExchange): InStatement[] {
  const statements: InStatement[] = [];
  if (held.length > 0) statements.push({ sql: setHeld, args: [nodeId, JSON.stringify(held), nodeId] });
  if (closed.length > 0) statements.push({ sql: close, args: [JSON.stringify(closed), nodeId] });
  if (asked.length > 0) statements.push({ sql: grant, args: [JSON.stringify(asked), nodeId, nodeId, nodeId] });
  statements.push({ sql: look, args: [JSON.stringify([...asked, ...looked]), nodeId] });
  statements.push({ sql: `SELECT ${isNode} AS is_node`, args: [nodeId] });
  return statements;
}

/** Creates the store of leases; `LeaseDatabase` in `policies` describes its functions. */
export function createLimitLeaseStore(database: Pick<Database, "read" | "write">) {
  return {
    async register(nodeId: string): Promise<void> {
      const sql = `INSERT INTO gateway_nodes (id, seen_at) VALUES (?, ${now}) ON CONFLICT (id) DO NOTHING`;
      await database.write([{ sql, args: [nodeId] }]);
    },
    async beat(nodeId: string) {
      const [, found] = await database.write([
        { sql: `UPDATE gateway_nodes SET seen_at = ${now} WHERE id = ?`, args: [nodeId] },
        `SELECT time.now, id, seen_at FROM (SELECT ${now} AS now) time LEFT JOIN gateway_nodes`,
      ]);
      const rows = found?.rows ?? [];
      const nodes = rows.flatMap((row) => (row.id === null ? [] : { id: String(row.id), seenAt: Number(row.seen_at) }));
      return { now: Number(rows[0]?.now), nodes };
    },
    async clean(nodeId: string, dead: readonly NodeSighting[]): Promise<void> {
      await database.write([
        ...dead.flatMap(({ id, seenAt }): InStatement[] => [
          { sql: "DELETE FROM gateway_nodes WHERE id = ? AND seen_at = ?", args: [id, seenAt] },
          { sql: `DELETE FROM limit_leases WHERE node_id = ? AND NOT ${isNode}`, args: [id, id] },
        ]),
        { sql: `DELETE FROM limit_leases WHERE window_end <= ${now} - ?`, args: [endedForMs] },
        // sums of fractions depend on their order
        {
          sql: "DELETE FROM limit_leases WHERE node_id = ? AND is_closed = 1 AND used >= granted - 0.001",
          args: [nodeId],
        },
      ]);
    },
    async exchange(nodeId: string, exchange: LeaseExchange): Promise<LeaseState[] | undefined> {
      const [node, states] = (await database.write(toExchange(nodeId, exchange))).reverse();
      return Number(node?.rows[0]?.is_node) === 1 ? states?.rows.map(toState) : undefined;
    },
    async count(nodeId: string, { organisationId, limitId, windowStart, bucket }: BucketQuery): Promise<BucketCount[]> {
      const one = bucket === undefined ? "" : "AND counter.bucket = ?";
      const { rows } = await database.read({
        sql: `SELECT counter.bucket, counter.used AS counted, coalesce((SELECT sum(own.used) FROM limit_leases own
            WHERE ${sameKey("own", "counter")} AND own.node_id = ? AND own.is_closed = 0), 0) AS written,
          coalesce((SELECT sum(max(0, held.granted - held.used)) FROM limit_leases held
            WHERE ${sameKey("held", "counter")} AND held.node_id <> ?), 0) AS held
          FROM limit_counters counter WHERE counter.organisation_id = ? AND counter.limit_id = ? AND counter.window_start = ? ${one} LIMIT ?`,
        args: [
          nodeId,
          nodeId,
          organisationId,
          limitId,
          windowStart,
          ...(bucket === undefined ? [] : [bucket]),
          mostListed,
        ],
      });
      return rows.map((row) => ({
        bucket: String(row.bucket),
        counted: Number(row.counted),
        written: Number(row.written),
        held: Number(row.held),
      }));
    },
    async leave(nodeId: string): Promise<void> {
      await database.write([
        { sql: "DELETE FROM limit_leases WHERE node_id = ?", args: [nodeId] },
        { sql: "DELETE FROM gateway_nodes WHERE id = ?", args: [nodeId] },
      ]);
    },
  };
}
