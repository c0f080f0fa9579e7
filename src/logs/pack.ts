import type { LimitCounter, LimitIncrement, LogDetails, RowMeasures } from "../schemas/logs.ts";
import { type HeldBody, isCut, toBytes } from "./body.ts";
import { packCharged } from "./charged.ts";
import { bodiesOf, type LogRecord, type RecordContent } from "./record.ts";
import type { Redactor } from "./redact.ts";

/**
 * Records of one tenant on their way to the log writer: a few strings and one buffer, because objects that are posted to
 * another thread are copied field by field. Sensitive headers are already hidden; other secrets are masked by
 * `sealBatch`.
 */
export interface PackedBatch {
  organisationId: string;
  workspaceId: string | null;
  firstId: string;
  lastId: string;
  /** JSON array of `LogDetails`. */
  details: string;
  /** JSON array of `LimitIncrement`, one for each counter; empty where the rows count in no limit. */
  counted: string;
  /** The counters of money of each row, as `packCharged` writes them. */
  charged: string;
  /** JSON array with one entry for each row: its `RowMeasures`. */
  measures: string;
  /** JSON array of `ContentHead`, null for rows without content. */
  heads: string;
  /** JSON array of `BodyLengths` in bytes, null for rows without content. */
  lengths: string;
  /** The concatenated bodies. */
  bodies: Uint8Array<ArrayBuffer>;
  secrets: PackedSecrets;
}

/** Credentials of the rows of a batch; rows usually share them. */
interface PackedSecrets {
  lists: readonly (readonly string[])[];
  /** Index into the lists, per row. */
  rows: readonly number[];
}

type Headers = Readonly<Record<string, string>>;

/** Headers of a row, which of its bodies were cut, and method and headers of a request that was sent in another form. */
type ContentHead = [
  request: Headers,
  response: Headers,
  truncated: boolean[],
  sent?: { method: string; headers: Headers },
];

/** Lengths of the bodies, in the order of `bodiesOf`; null without a body. */
export type BodyLengths = (number | null)[];

/** A record with its content head. */
interface Row {
  details: LogDetails;
  counted: readonly LimitIncrement[];
  charged: readonly LimitCounter[];
  measures: RowMeasures;
  secrets: readonly string[];
  content: RecordContent | null;
  head: ContentHead | null;
}

/** Most rows that are stored as one: a reader of one of them reads all. */
export const mostTogether = 64;

/** Groups records by tenant, in order. */
export function packRecords(
  records: readonly LogRecord[],
  redactor: Redactor,
): readonly PackedBatch[] | Promise<readonly PackedBatch[]> {
  const rows = records.map((record) => toRow(record, redactor));
  if (rows.some((row) => row instanceof Promise)) return Promise.all(rows).then(packRows);
  return packRows(rows as Row[]); // none of them is a promise
}

function toRow(
  {
    details,
    content,
    secrets = noSecrets,
    counted = noIncrements,
    charged = noCounters,
    measures = noMeasures,
  }: LogRecord,
  redactor: Redactor,
): Row | Promise<Row> {
  if (content === null) return { details, counted, charged, measures, content, secrets, head: null };
  const { sensitiveHeaders, requestHeaders, responseHeaders, phases } = content;
  const request = redactor.hide(requestHeaders, sensitiveHeaders);
  const response = redactor.hide(responseHeaders, sensitiveHeaders);
  const sent = phases?.sent && redactor.hide(phases.sent.headers, sensitiveHeaders);
  const toWhole = (hidden: [Headers, Headers], headers: Headers | null | undefined): Row => {
    const head: ContentHead = [...hidden, bodiesOf(content).map(isCut)];
    if (headers && phases?.sent) head.push({ method: phases.sent.method, headers });
    return { details, counted, charged, measures, content, secrets, head };
  };
  if (request instanceof Promise || response instanceof Promise || sent instanceof Promise) {
    return Promise.all([request, response, sent]).then(([one, other, third]) => toWhole([one, other], third));
  }
  return toWhole([request, response], sent);
}

const noSecrets: readonly string[] = [];
const noIncrements: readonly LimitIncrement[] = [];
const noCounters: readonly LimitCounter[] = [];
const noMeasures: RowMeasures = [null, null, null, null];

/** What some rows add to one counter. */
type CounterSum = { -readonly [Name in keyof LimitIncrement]: LimitIncrement[Name] };

/** The sum of what rows add to each counter, as JSON. */
function sumIncrements(rows: readonly Row[]): string {
  const sums: CounterSum[] = [];
  /** By limit: the sums of its buckets and windows. */
  const known = new Map<string, CounterSum[]>();
  for (const { counted } of rows) {
    for (const increment of counted) {
      const { limitId, bucket, windowStart, used, lease } = increment;
      const ofLimit = known.get(limitId) ?? [];
      if (ofLimit.length === 0) known.set(limitId, ofLimit);
      let sum: CounterSum | undefined;
      for (const one of ofLimit) {
        if (one.bucket === bucket && one.windowStart === windowStart && one.lease === lease) sum = one;
      }
      if (sum) {
        sum.used += used;
        continue;
      }
      const made = { ...increment };
      sums.push(made);
      ofLimit.push(made);
    }
  }
  return sums.length === 0 ? "" : JSON.stringify(sums);
}

function packSecrets(rows: readonly Row[]): PackedSecrets {
  const known = new Map<string, number>();
  const lists: (readonly string[])[] = [];
  const indexes = rows.map(({ secrets }) => {
    const name = JSON.stringify(secrets);
    const index = known.get(name) ?? lists.push(secrets) - 1;
    known.set(name, index);
    return index;
  });
  return { lists, rows: indexes };
}

function isSameTenant({ details: one }: Row, { details: other }: Row): boolean {
  return one.workspace_id === other.workspace_id && one.organisation_id === other.organisation_id;
}

function packRows(rows: readonly Row[]): PackedBatch[] {
  const tenants = new Map<string, Row[]>();
  let previous: { row: Row; list: Row[] } | undefined;
  for (const row of rows) {
    const { organisation_id, workspace_id } = row.details;
    // a tuple as JSON: no two tenants can share a key
    const tenant = () => JSON.stringify([organisation_id, workspace_id]);
    const list: Row[] = previous && isSameTenant(previous.row, row) ? previous.list : (tenants.get(tenant()) ?? []);
    if (list.length === 0) tenants.set(tenant(), list);
    list.push(row);
    previous = { row, list };
  }
  const packed: PackedBatch[] = [];
  for (const list of tenants.values()) {
    for (let first = 0; first < list.length; first += mostTogether) {
      packed.push(packTenant(list.slice(first, first + mostTogether)));
    }
  }
  return packed;
}

function packTenant(rows: readonly Row[]): PackedBatch {
  const bodies: ReturnType<typeof toBytes>[] = [];
  let length = 0;
  const hold = (body: HeldBody | null): number | null => {
    if (body === null) return null;
    const bytes = toBytes(body);
    bodies.push(bytes);
    length += bytes.length;
    return bytes.length;
  };
  const lengths = rows.map(({ content }): BodyLengths | null => content && bodiesOf(content).map(hold));
  const ids = rows.map(({ details }) => details.id).sort();
  const [sample] = rows;
  return {
    organisationId: sample?.details.organisation_id ?? "",
    workspaceId: sample?.details.workspace_id ?? null,
    firstId: ids[0] ?? "",
    lastId: ids.at(-1) ?? "",
    details: JSON.stringify(rows.map((row) => row.details)),
    counted: sumIncrements(rows),
    charged: packCharged(rows.map(({ charged }) => charged)),
    measures: JSON.stringify(rows.map(({ measures }) => measures)),
    heads: JSON.stringify(rows.map(({ head }) => head)),
    lengths: JSON.stringify(lengths),
    bodies: join(bodies, length),
    secrets: packSecrets(rows),
  };
}

function join(bodies: readonly ReturnType<typeof toBytes>[], length: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(length);
  let position = 0;
  for (const bytes of bodies) {
    if (bytes instanceof Uint8Array) joined.set(bytes, position);
    else bytes.copyTo(joined, position);
    position += bytes.length;
  }
  return joined;
}
