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
  type PartialSummary,
  PartialVersionList,
  partialStatuses,
  UpdatedPartial,
  UpdatePartial,
} from "../../schemas/prompts.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  createSlug,
  readChoice,
  readPage,
  readSearch,
  readTenant,
  readText,
  refuseField,
  requireFound,
  requireReferenced,
  requireWorkspace,
  toIso,
  toList,
} from "../core/request.ts";
import { findCollection, requireCollection } from "./collections.ts";
import { type Found, readVersionPage, versionQuery } from "./prompt-records.ts";

/** @throws {InvalidRequestError} AB01 for a template that cannot be parsed. */
function requireText(text: string): void {
  const template = parseTemplate(text);
  if ("problem" in template) refuseField("string", template.problem);
}

function toSummary(row: PartialRow): PartialSummary {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    collection_id: row.collectionId,
    status: row.status,
    version: row.version,
    prompt_partial_version_id: row.versionId,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "partial",
  };
}

function toRecord(row: PartialRow, version: PartialVersionRow): PartialRecord {
  return {
    ...toSummary(row),
    string: version.template,
    version: version.version,
    version_description: version.description,
    prompt_partial_version_id: version.id,
  };
}

/** The partial a path names, and the tenant it belongs to. */
async function findPartial(call: AdminCall<unknown>): Promise<Found<PartialRow>> {
  const row = requireFound(await call.stores.partials.get(await readTenant(call), call.params.id ?? ""), "partial");
  return { row, tenant: { organisationId: row.organisationId, workspaceId: row.workspaceId } };
}

async function listPartials(call: AdminCall<undefined>): Promise<AnswerOf<typeof PartialList>> {
  const { stores, query } = call;
  const tenant = await readTenant(call);
  const text = readSearch(query);
  const search = text === undefined ? undefined : { columns: ["name", "slug"] as const, text };
  const named = readText(query, "collection_id");
  const collection = named === undefined ? undefined : ((await findCollection(call, tenant, named))?.id ?? named);
  const status = readChoice(query, "status", partialStatuses) ?? "active";
  const where = { status, ...(collection !== undefined && { collectionId: collection }) };
  const { rows, total } = await stores.partials.list(tenant, { where, search, page: readPage(query) });
  return toList(rows.map(toSummary), total);
}

async function readPartial(call: AdminCall<undefined>): Promise<PartialRecord> {
  const { row, tenant } = await findPartial(call);
  const name = readText(call.query, "version") ?? "default";
  const heads = new Map([
    ["default", row.version],
    ["latest", row.latestVersion],
  ]);
  const version = heads.get(name) ?? readVersionNumber(name);
  const where = { partialId: row.id, version: requireFound(version, "version") };
  return toRecord(row, requireFound(await call.stores.partialVersions.find(tenant, where), "version"));
}

async function listVersions(call: AdminCall<undefined>): Promise<AnswerOf<typeof PartialVersionList>> {
  const { row, tenant } = await findPartial(call);
  const between = readVersionPage(call, row.latestVersion);
  const rows = await call.stores.partialVersions.all(tenant, { where: { partialId: row.id }, between });
  const data = rows
    .toSorted((one, other) => other.version - one.version)
    .map(({ id, version, template, description, createdAt }) => ({
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

async function createPartial(call: AdminCall<CreatePartial>): Promise<Outcome<AnswerOf<typeof CreatedPartial>>> {
  const { body, stores, now, actor } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  requireText(body.string);
  const collectionId = await requireCollection(call, tenant, body.collection_id);
  const id = crypto.randomUUID();
  const versionId = crypto.randomUUID();
  const slug = createSlug(body.name, { prefix: "pl", letters: 10 });
  const partial = {
    id,
    ...tenant,
    slug,
    name: body.name,
    collectionId,
    status: "active" as const,
    version: 1,
    versionId,
    latestVersion: 1,
    latestVersionId: versionId,
    createdAt: now,
    lastUpdatedAt: now,
  };
  const version = {
    id: versionId,
    ...tenant,
    partialId: id,
    version: 1,
    template: body.string,
    description: body.version_description ?? null,
    ownerId: actor,
    createdAt: now,
  };
  return {
    answer: { id, slug, version_id: versionId },
    recordId: id,
    statements: [stores.partials.insert(tenant, partial), stores.partialVersions.insert(tenant, version)],
  };
}

async function updatePartial(call: AdminCall<UpdatePartial>): Promise<Outcome<AnswerOf<typeof UpdatedPartial>>> {
  const { body, stores, now, actor } = call;
  const { row, tenant } = await findPartial(call);
  const changes = { name: body.name, status: body.status, lastUpdatedAt: now };
  if (body.string === undefined) {
    if (body.description !== undefined)
      refuseField("description", "belongs to a version and must be given with string");
    const statements = [stores.partials.update(tenant, { id: row.id }, changes)];
    return { answer: { prompt_partial_version_id: row.latestVersionId }, recordId: row.id, statements };
  }
  requireText(body.string);
  const id = crypto.randomUUID();
  const version = row.latestVersion + 1;
  const content = { template: body.string, description: body.description ?? null, ownerId: actor, createdAt: now };
  const head = { latestVersion: version, latestVersionId: id };
  return {
    answer: { prompt_partial_version_id: id },
    recordId: row.id,
    statements: [
      stores.partialVersions.insert(tenant, { id, ...tenant, partialId: row.id, version, ...content }),
      stores.partials.update(tenant, { id: row.id }, { ...changes, ...head }),
    ],
  };
}

async function makeDefault(call: AdminCall<MakeDefault>) {
  const { body, stores, now } = call;
  const { row, tenant } = await findPartial(call);
  const where = { partialId: row.id, version: body.version };
  const { id, version } = requireReferenced(await stores.partialVersions.find(tenant, where), "version");
  const changes = { version, versionId: id, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.partials.update(tenant, { id: row.id }, changes)] };
}

async function deletePartial(call: AdminCall<undefined>) {
  const { row, tenant } = await findPartial(call);
  return { answer: {}, recordId: row.id, statements: [call.stores.partials.remove(tenant, { id: row.id })] };
}

const row = { tag: "Prompts" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`prompts.${verb}`] });
const audit = (action: string) => ({ resource: "prompt_partials", action, store: "partials" as const });
const all = "/v1/prompts/partials";
const one = `${all}/:id`;

/** Endpoints of partials. They come before those of prompts, whose paths would match theirs. */
export const partialEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List partials",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "One workspace, for keys of the organisation" },
      { name: "collection_id", description: "One collection, by id or slug" },
      { name: "status", description: "active (default) or archived" },
      { name: "search", description: "Part of the name or slug, at least 2 characters" },
      { name: "current_page", description: "Page, counted from 0" },
      { name: "page_size", description: "Rows per page; default 50, at most 1000" },
    ],
    response: PartialList,
    handle: listPartials,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Create a partial",
    access: access("create"),
    audit: audit("create"),
    body: CreatePartial,
    response: CreatedPartial,
    handle: createPartial,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a partial with a version",
    access: access("read"),
    query: [{ name: "version", description: "default (if absent), latest or a number" }],
    response: PartialRecord,
    handle: readPartial,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a partial, or create a version of it",
    access: access("update"),
    audit: audit("update"),
    body: UpdatePartial,
    response: UpdatedPartial,
    handle: updatePartial,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete a partial and its versions",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deletePartial,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: `${one}/versions`,
    summary: "List the versions of a partial",
    access: access("read"),
    query: versionQuery,
    response: PartialVersionList,
    handle: listVersions,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: `${one}/makeDefault`,
    summary: "Make a version of a partial the default",
    access: access("publish"),
    audit: audit("publish"),
    body: MakeDefault,
    response: NoContent,
    handle: makeDefault,
  }),
];
