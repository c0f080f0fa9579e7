import type { ExampleSetRow, ExampleVersionRow } from "../../db/tables/evals.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { finiteNumber, isObject } from "../../lib/json.ts";
import { dayMs } from "../../lib/periods.ts";
import {
  ChangedExampleSet,
  CreateExampleSet,
  CreateExampleVersion,
  type Example,
  ExamplePage,
  ExampleSet,
  ExampleSetList,
  type ExampleSource,
  ExampleVersionList,
  ExampleVersionRecord,
  SavedExampleSet,
  UpdateExampleSet,
} from "../../schemas/example-sets.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord, pageQuery } from "../core/record.ts";
import type { Found, NewPlace, RecordTenant } from "../core/record-definitions.ts";
import { readPage, readWhole, refuseField, requireFound } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { requireOrganisation } from "../core/workspace-records.ts";
import { readExamples, readUploaded, writeExamples } from "./example-files.ts";
import { readLogExamples, requireExamplesSeen } from "./log-examples.ts";
import { removeRuns } from "./remove-runs.ts";

/** Most sets of a workspace, and versions of a set. */
const maxSets = 500;
const maxVersions = 1_000;
/** A file that no version names in the end is removed after this long. */
const unusedForMs = 60 * 60_000;

type FoundSet = Found<"exampleSets">;
type SetTenant = RecordTenant<"exampleSets">;

const toSet = shownBy(ExampleSet, (_: ExampleSetRow) => ({}));
const toVersion = shownBy(ExampleVersionRecord, (_: ExampleVersionRow) => ({}));

/** Examples of a body, and how many rows of the log cannot be any. */
async function readSource(
  { examples, file_id: fileId, logs }: ExampleSource,
  tenant: SetTenant,
  { context }: AdminCall<unknown>,
): Promise<{ examples: readonly Example[]; skipped: number; param: string }> {
  if (logs) return { ...(await readLogExamples(logs, tenant, context)), param: "logs" };
  if (fileId !== undefined)
    return { examples: await readUploaded(fileId, tenant, context), skipped: 0, param: "file_id" };
  return { examples: examples ?? [], skipped: 0, param: "examples" };
}

/** Days for which requests of the log may be stored as examples: no longer than an organisation stores its rows. */
async function daysOf(call: AdminCall<unknown>, fromLogs: boolean, retentionDays: number | null) {
  const { settings } = await requireOrganisation(call);
  const ofLog = fromLogs && isObject(settings) ? finiteNumber(settings.log_retention_days) : undefined;
  const days = [ofLog, retentionDays ?? undefined].filter((one) => one !== undefined);
  return days.length === 0 ? null : Math.min(...days);
}

/** A new version: its row, and what makes its file stay. */
async function makeVersion(
  call: AdminCall<ExampleSource>,
  set: SetTenant & { id: string; version: number; retentionDays: number | null },
  former: { examples: readonly Example[]; fromLogs: boolean },
) {
  const { stores, now, actor, context } = call;
  const { organisationId, workspaceId, id: setId, version, retentionDays } = set;
  const tenant = { organisationId, workspaceId };
  const { examples: added, skipped, param } = await readSource(call.body, tenant, call);
  const examples = [...former.examples, ...added];
  const content = writeExamples(examples, param);
  const fromLogs = former.fromLogs || call.body.logs !== undefined;
  const days = await daysOf(call, fromLogs, retentionDays);
  const expiresAt = days === null ? null : now + days * dayMs;
  const file = { filename: `examples-${setId}-${version}.jsonl`, purpose: "examples" };
  const fileId = await context.services.files.store(tenant, file, content, now + unusedForMs);
  const row: ExampleVersionRow = {
    id: crypto.randomUUID(),
    ...tenant,
    setId,
    version,
    examples: examples.length,
    bytes: content.length,
    fromLogs,
    fileId,
    createdBy: actor,
    createdAt: now,
    expiresAt,
  };
  const statements = [
    stores.exampleVersions.insert(tenant, row),
    stores.gatewayFiles.update(tenant, { id: fileId }, { expiresAt }),
  ];
  return { row, statements, skipped };
}

const savedAs = ({ setId: id, version, examples }: ExampleVersionRow, slug: string, skipped: number) => ({
  id,
  object: "example_set" as const,
  slug,
  version,
  examples,
  skipped,
});

async function createSet(call: AdminCall<CreateExampleSet>, { tenant, id, slug }: NewPlace<"exampleSets">) {
  const { body, stores, actor } = call;
  if ((await stores.exampleSets.count(tenant)) >= maxSets)
    refuseField("workspace_id", `has ${maxSets} example sets already`);
  if ((await stores.exampleSets.find(tenant, { slug })) !== undefined) {
    throw new ConflictError("Cannot create this example set: the slug is taken", { code: "AB07", param: "slug" });
  }
  const retentionDays = body.retention_days ?? null;
  const { row, statements, skipped } = await makeVersion(
    call,
    { ...tenant, id, version: 1, retentionDays },
    { examples: [], fromLogs: false },
  );
  return {
    answer: savedAs(row, slug, skipped),
    columns: {
      name: body.name,
      description: body.description ?? null,
      version: 1,
      examples: row.examples,
      retentionDays,
      createdBy: actor,
    },
    statements,
  };
}

/** A version of a set: the one that is named, or the newest. */
export async function findVersion(
  { stores }: AdminCall<unknown>,
  set: ExampleSetRow,
  version = set.version,
): Promise<ExampleVersionRow> {
  const { organisationId, workspaceId, id: setId } = set;
  return requireFound(
    await stores.exampleVersions.find({ organisationId, workspaceId }, { setId, version }),
    "version",
  );
}

async function createVersion(call: AdminCall<CreateExampleVersion>, found: FoundSet) {
  const { row, tenant } = found;
  const { context, body, now } = call;
  if (row.version >= maxVersions) refuseField("id", `has ${maxVersions} versions already`);
  const newest = body.append ? await findVersion(call, row) : undefined;
  if (newest) await requireExamplesSeen(context, newest);
  const former = {
    examples: newest ? await readExamples(newest, context.services) : [],
    fromLogs: newest?.fromLogs ?? false,
  };
  const next = { ...tenant, id: row.id, version: row.version + 1, retentionDays: row.retentionDays };
  const { row: version, statements, skipped } = await makeVersion(call, next, former);
  const head = { version: version.version, examples: version.examples, lastUpdatedAt: now };
  return {
    answer: savedAs(version, row.slug, skipped),
    statements: [...statements, call.stores.exampleSets.update(tenant, { id: row.id }, head)],
  };
}

async function listVersions({ stores, query }: AdminCall<undefined>, { row, tenant }: FoundSet) {
  const page = readPage(query);
  const { rows, total } = await stores.exampleVersions.list(tenant, { where: { setId: row.id }, page });
  return { data: rows.map(toVersion), total, has_more: page.offset + rows.length < total };
}

async function listExamples(call: AdminCall<undefined>, { row }: FoundSet) {
  const { context, query } = call;
  const version = await findVersion(call, row, readWhole(query, "version", { min: 1, max: maxVersions }));
  await requireExamplesSeen(context, version);
  const all = await readExamples(version, context.services);
  const { offset, limit } = readPage(query);
  const data = all.slice(offset, offset + limit).map((example, index) => ({
    index: offset + index,
    endpoint: example.endpoint,
    body: example.body ?? null,
    variables: example.variables ?? null,
    expected: example.expected ?? null,
    metadata: example.metadata ?? {},
    log_id: example.log_id ?? null,
  }));
  return { data, total: all.length, has_more: offset + data.length < all.length };
}

/** What removes the versions and runs of a set; the cleanup removes their files. */
async function removeVersions(call: AdminCall<undefined>, { row, tenant }: FoundSet) {
  const { stores } = call;
  const runs = await stores.evalRuns.all(tenant, { where: { setId: row.id } });
  const files = stores.exampleVersions.values(tenant, "fileId", { setId: row.id });
  return [
    ...removeRuns(
      call,
      tenant,
      runs.map(({ id }) => id),
    ),
    stores.gatewayFiles.update(tenant, { id: files }, { status: "deleted" }),
    stores.exampleVersions.remove(tenant, { setId: row.id }),
  ];
}

const pages = pageQuery();

/** Sets of examples. */
const exampleSets = defineRecord({
  tag: "Evals",
  path: "/v1/example-sets",
  words: { one: "an example set", many: "example sets" },
  store: "exampleSets",
  audit: "example_sets",
  // versions of prompts are what most sets are run against
  access: "prompts",
});

/** Endpoints of example sets. */
export const exampleSetEndpoints: readonly AdminEndpoint[] = [
  exampleSets.list({ response: ExampleSetList, search: ["name"], show: (rows) => rows.map(toSet) }),
  exampleSets.create({
    body: CreateExampleSet,
    response: SavedExampleSet,
    slug: { prefix: "ex", letters: 24 },
    decide: createSet,
  }),
  exampleSets.show({ response: ExampleSet, show: ({ row }) => toSet(row) }),
  exampleSets.change({
    body: UpdateExampleSet,
    response: ChangedExampleSet,
    decide: async ({ body }, { row }) => ({
      answer: { id: row.id, object: "example_set" as const },
      columns: { name: body.name, description: body.description, retentionDays: body.retention_days },
    }),
  }),
  exampleSets.remove({ before: removeVersions }),
  exampleSets.write({
    method: "POST",
    at: "/versions",
    verb: "update",
    action: "save",
    summary: "Save examples as a new version of a set",
    body: CreateExampleVersion,
    response: SavedExampleSet,
    handle: createVersion,
  }),
  exampleSets.read({
    at: "/versions",
    verb: "read",
    summary: "List the versions of an example set, newest first",
    query: pages,
    response: ExampleVersionList,
    handle: listVersions,
  }),
  exampleSets.read({
    at: "/examples",
    verb: "read",
    summary: "List the examples of a version of a set",
    query: [{ name: "version", description: "Number of the version; default: the newest" }, ...pages],
    response: ExamplePage,
    handle: listExamples,
  }),
];
