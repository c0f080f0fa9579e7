import type { PartialRow, PartialVersionRow } from "../../db/tables/prompts.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { readVersionNumber } from "../../prompts/reference.ts";
import { parseTemplate } from "../../prompts/template.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreatedPartial,
  CreatePartial,
  MakeDefault,
  PartialList,
  PartialRecord,
  PartialSummary,
  PartialVersionList,
  partialStatuses,
  UpdatedPartial,
  UpdatePartial,
} from "../../schemas/prompts.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { ChangedRecord, Found, NewPlace } from "../core/record-definitions.ts";
import { readText, refuseField, requireFound, toIso, toList } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { requireCollection } from "./collections.ts";
import {
  collectionQuery,
  defaultHead,
  firstHead,
  inCollection,
  newestFirst,
  nextHead,
  readVersionPage,
  versionQuery,
} from "./numbered-versions.ts";

/** @throws {InvalidRequestError} AB01 for a template that cannot be parsed. */
function requireText(text: string): void {
  const template = parseTemplate(text);
  if ("problem" in template) refuseField("string", template.problem);
}

const toSummary = shownBy(PartialSummary, (row: PartialRow) => ({ prompt_partial_version_id: row.versionId }));

function toRecord(row: PartialRow, version: PartialVersionRow): PartialRecord {
  return {
    ...toSummary(row),
    string: version.template,
    version: version.version,
    version_description: version.description,
    prompt_partial_version_id: version.id,
  };
}

type FoundPartial = Found<"partials">;

async function readPartial({ row, tenant }: FoundPartial, call: AdminCall<undefined>): Promise<PartialRecord> {
  const name = readText(call.query, "version") ?? "default";
  const heads = new Map([
    ["default", row.version],
    ["latest", row.latestVersion],
  ]);
  const version = heads.get(name) ?? readVersionNumber(name);
  const where = { partialId: row.id, version: requireFound(version, "version") };
  return toRecord(row, requireFound(await call.stores.partialVersions.find(tenant, where), "version"));
}

async function listVersions(
  call: AdminCall<undefined>,
  { row, tenant }: FoundPartial,
): Promise<AnswerOf<typeof PartialVersionList>> {
  const between = readVersionPage(call, row.latestVersion);
  const rows = await call.stores.partialVersions.all(tenant, { where: { partialId: row.id }, between });
  const data = newestFirst(rows).map(({ id, version, template, description, createdAt }) => ({
    prompt_partial_id: row.id,
    prompt_partial_version_id: id,
    slug: row.slug,
    version,
    string: template,
    description,
    created_at: toIso(createdAt),
    prompt_version_status: "active" as const,
    object: "partial" as const,
  }));
  return toList(data, row.latestVersion);
}

async function createPartial(call: AdminCall<CreatePartial>, { tenant, id, slug }: NewPlace<"partials">) {
  const { body, stores, now, actor } = call;
  requireText(body.string);
  const collectionId = await requireCollection(call, tenant, body.collection_id);
  const versionId = crypto.randomUUID();
  const content = { template: body.string, description: body.version_description ?? null };
  const version = { id: versionId, ...tenant, partialId: id, version: 1, ...content, ownerId: actor, createdAt: now };
  return {
    answer: { id, slug, version_id: versionId },
    columns: { name: body.name, collectionId, status: "active" as const, ...firstHead(versionId) },
    statements: [stores.partialVersions.insert(tenant, version)],
  };
}

async function updatePartial(
  call: AdminCall<UpdatePartial>,
  { row, tenant }: FoundPartial,
): Promise<ChangedRecord<"partials", AnswerOf<typeof UpdatedPartial>>> {
  const { body, stores, now, actor } = call;
  const columns = { name: body.name, status: body.status };
  if (body.string === undefined) {
    if (body.description !== undefined)
      refuseField("description", "belongs to a version and must be given with string");
    return { answer: { prompt_partial_version_id: row.latestVersionId }, columns };
  }
  requireText(body.string);
  const id = crypto.randomUUID();
  const head = nextHead(row, id);
  const content = { template: body.string, description: body.description ?? null, ownerId: actor, createdAt: now };
  const place = { id, ...tenant, partialId: row.id, version: head.latestVersion };
  return {
    answer: { prompt_partial_version_id: id },
    columns: { ...columns, ...head },
    statements: [stores.partialVersions.insert(tenant, { ...place, ...content })],
  };
}

async function makeDefault(call: AdminCall<MakeDefault>, partial: FoundPartial) {
  const where = { partialId: partial.row.id, version: call.body.version };
  const { head } = defaultHead(await call.stores.partialVersions.find(partial.tenant, where));
  return { answer: {}, statements: [partials.updating(call, partial, head)] };
}

const partials = defineRecord({
  tag: "Prompts",
  path: "/v1/prompts/partials",
  words: { one: "a partial", many: "partials" },
  store: "partials",
  audit: "prompt_partials",
  access: "prompts",
});

/** Endpoints of partials. They come before those of prompts, whose paths would match theirs. */
export const partialEndpoints: readonly AdminEndpoint[] = [
  partials.list({
    response: PartialList,
    filters: { status: { values: partialStatuses, otherwise: "active" } },
    search: ["name", "slug"],
    query: collectionQuery,
    select: inCollection,
    show: (rows) => rows.map(toSummary),
  }),
  partials.create({
    body: CreatePartial,
    response: CreatedPartial,
    slug: { prefix: "pl", letters: 10 },
    decide: createPartial,
  }),
  partials.show({
    summary: "Show a partial with a version",
    query: [{ name: "version", description: "default (if absent), latest or a number" }],
    response: PartialRecord,
    show: readPartial,
  }),
  partials.change({
    summary: "Change a partial, or create a version of it",
    body: UpdatePartial,
    response: UpdatedPartial,
    decide: updatePartial,
  }),
  partials.remove({ summary: "Delete a partial and its versions" }),
  partials.read({
    at: "/versions",
    verb: "read",
    summary: "List the versions of a partial",
    query: versionQuery,
    response: PartialVersionList,
    handle: listVersions,
  }),
  partials.write({
    method: "PUT",
    at: "/makeDefault",
    verb: "publish",
    summary: "Make a version of a partial the default",
    body: MakeDefault,
    response: NoContent,
    handle: makeDefault,
  }),
];
