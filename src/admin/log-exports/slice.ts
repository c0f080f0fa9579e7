import type { Services } from "../../context.ts";
import type { Statement } from "../../db/client.ts";
import type { LogScope } from "../../db/stores/log-scope.ts";
import type { LogExportRow } from "../../db/tables/log-exports.ts";
import { giveWay } from "../../lib/pace.ts";
import { meetsTerms } from "../../logs/index/row-test.ts";
import type { ExportedField, ExportFilters } from "../../schemas/log-exports.ts";
import type { LogContent } from "../../schemas/logs.ts";
import { contentFields, toLine } from "./fields.ts";
import { readExportQuery } from "./filters.ts";

/** Rows that one step visits, and bytes that it writes unless one row has more. */
const sliceRows = 256;
const sliceBytes = 2 ** 20;
/** A file that no step continues is removed after this long; a finished one after seven days. */
const abandonedAfterMs = 24 * 60 * 60_000;
const keptForMs = 7 * abandonedAfterMs;

/** What steps use. */
type SliceServices = Pick<
  Services,
  "clock" | "control" | "files" | "logExports" | "logReader" | "logSegments" | "logStore" | "redactor"
>;

/** What a step needs besides the export. */
interface SliceParts {
  readonly services: SliceServices;
  readonly owner: string;
}

type Change = Partial<LogExportRow>;

/** Where the rows of an export are. */
function scopeOf({ organisationId, workspaceId }: LogExportRow) {
  return { organisationId, workspaceId } satisfies LogScope;
}

/** What an export is about, as it was given. */
export function readStored({ filters, requestedData }: Pick<LogExportRow, "filters" | "requestedData">) {
  // the columns only contain values that passed the schemas of these fields
  return { filters: filters as ExportFilters, fields: requestedData as unknown as ExportedField[] };
}

/** Contents of rows, batch by batch: those of one batch are read together. */
function createContentReader({ logStore }: Pick<Services, "logStore">, scope: LogScope) {
  let last = -1;
  let contents: ReadonlyMap<string, LogContent | null> = new Map();
  return async ({ seq, id }: { seq: number; id: string }): Promise<LogContent | null> => {
    if (seq !== last) {
      await giveWay();
      contents = await logStore.readContents(scope, seq);
      last = seq;
    }
    return contents.get(id) ?? null;
  };
}

/** Lines of rows that a step writes, and how far it came. */
interface Slice {
  readonly text: string;
  readonly change: Pick<LogExportRow, "cursor" | "skipped" | "written">;
  readonly isLast: boolean;
}

async function readSlice(row: LogExportRow, services: SliceServices): Promise<Slice> {
  const scope = scopeOf(row);
  const { filters, fields } = readStored(row);
  const query = readExportQuery(filters, row.userId, services.clock.now());
  const { lower, conditions, terms } = query;
  const [upper = ""] = [row.cursor, query.upper].sort();
  const wanted = { scope, lower, upper, conditions, terms, limit: sliceRows };
  const found = await services.logReader.find(wanted);
  const stored = await services.logSegments.readRows(scope, found);
  const contentOf = fields.some((field) => contentFields.has(field)) ? createContentReader(services, scope) : undefined;
  const lines: string[] = [];
  const change = { cursor: row.cursor, skipped: row.skipped, written: row.written };
  let bytes = 0;
  for (const place of found) {
    if (change.written >= query.limit || bytes >= sliceBytes) break;
    change.cursor = place.id;
    const details = stored.get(place.id);
    // a row that was removed meanwhile is left out, and one whose trace or span has the same digest
    if (!details || !meetsTerms(details, terms)) continue;
    if (change.skipped < query.offset) {
      change.skipped++;
      continue;
    }
    const line = await toLine({ details, content: (await contentOf?.(place)) ?? null }, fields, services.redactor);
    lines.push(line);
    bytes += line.length;
    change.written++;
  }
  const isVisited = found.length < sliceRows && change.cursor === (found.at(-1)?.id ?? row.cursor);
  return { text: lines.join(""), change, isLast: isVisited || change.written >= query.limit };
}

/** Removes the file of an export that is not needed any more. */
export function discardFile({ fileId, ...row }: LogExportRow, { control }: Pick<Services, "control">): Statement[] {
  const { gatewayFiles } = control.stores;
  return fileId === null
    ? []
    : [gatewayFiles.update(scopeOf({ fileId, ...row }), { id: fileId }, { status: "deleted" })];
}

/** Ends an export without a file. */
export async function failExport(row: LogExportRow, failure: string, { services, owner }: SliceParts) {
  const { store } = services.logExports;
  const change: Change = {
    status: "failed",
    failure,
    fileId: null,
    lastUpdatedAt: services.clock.now(),
    leaseUntil: 0,
  };
  await store.write([store.step(row, owner, change), ...discardFile(row, services)]);
}

/** Takes one step: begins the file, or appends some rows, with how far the export came in the same transaction. */
export async function takeSlice(row: LogExportRow, parts: SliceParts, leaseUntil: number): Promise<void> {
  const { services, owner } = parts;
  const { store } = services.logExports;
  const { files, clock } = services;
  const tenant = scopeOf(row);
  if (row.fileId === null) {
    const name = { filename: `logs-${row.id}.jsonl`, purpose: "log_export" };
    const file = await files.open(tenant, name, clock.now() + abandonedAfterMs);
    await store.write([store.step(row, owner, { fileId: file.id, leaseUntil }), ...file.statements]);
    return;
  }
  const { text, change, isLast } = await readSlice(row, services);
  const content = new TextEncoder().encode(text);
  const bytes = row.bytes + content.length;
  if (bytes > files.limits.workspaceBytes) {
    await failExport(row, "The file is larger than the workspace's file quota", parts);
    return;
  }
  const appended = content.length > 0 ? await files.append(tenant, row.fileId, content) : [];
  const ended: Change = { status: "success", total: change.written, lastUpdatedAt: clock.now(), leaseUntil: 0 };
  const next: Change = { ...change, bytes, failures: 0, leaseUntil, ...(isLast && ended) };
  const finished = isLast ? [files.finish(tenant, row.fileId, clock.now() + keptForMs, "hidden")] : [];
  await store.write([store.step(row, owner, next), ...appended, ...finished]);
}
