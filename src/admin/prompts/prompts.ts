import type { PromptVersionRow } from "../../db/tables/prompts.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreatedPrompt,
  CreatePrompt,
  PromptList,
  PromptRecord,
  UpdatedPrompt,
  UpdatePrompt,
} from "../../schemas/prompts.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  createSlug,
  readPage,
  readSearch,
  readTenant,
  readText,
  refuseField,
  requireReferenced,
  requireWorkspace,
} from "../core/request.ts";
import { findCollection, requireCollection } from "./collections.ts";
import { readPromptLabels } from "./labels.ts";
import { findPrompt, requireTemplate, requireVersion, toPromptRecord, toPromptSummary } from "./prompt-records.ts";

async function listPrompts(call: AdminCall<undefined>): Promise<AnswerOf<typeof PromptList>> {
  const { stores, query } = call;
  const tenant = await readTenant(call);
  const text = readSearch(query);
  const search = text === undefined ? undefined : { columns: ["name", "slug"] as const, text };
  const named = readText(query, "collection_id");
  const collection = named === undefined ? undefined : ((await findCollection(call, tenant, named))?.id ?? named);
  const where = { status: "active" as const, ...(collection !== undefined && { collectionId: collection }) };
  const { rows, total } = await stores.prompts.list(tenant, { where, search, page: readPage(query) });
  const ids = rows.map(({ id }) => id);
  const labels = await readPromptLabels(call, tenant, ids);
  return { data: rows.map((row) => ({ ...toPromptSummary(row), prompt_labels: labels.get(row.id) ?? [] })), total };
}

async function readPrompt(call: AdminCall<undefined>): Promise<AnswerOf<typeof PromptRecord>> {
  const found = await findPrompt(call);
  const version = await requireVersion(call, found, readText(call.query, "version") ?? "default");
  return toPromptRecord(call, found, version);
}

/**
 * The stored provider a version names, without `@`.
 *
 * @throws {NotFoundError} AB02 if the workspace has no provider of this name.
 */
async function requireProvider(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  virtualKey: string | undefined,
): Promise<string | undefined> {
  const name = virtualKey?.replace(/^@/, "");
  if (name) requireReferenced(await stores.providers.get(tenant, name), "virtual_key");
  return name;
}

/** A version in a body; absent fields are undefined, null clears. */
function readVersionMembers(body: Omit<UpdatePrompt, "virtual_key">) {
  const metadata = body.template_metadata === undefined ? body.prompt_metadata : body.template_metadata;
  return {
    template: body.string,
    parameters: body.parameters,
    model: body.model,
    functions: body.functions,
    tools: body.tools,
    toolChoice: body.tool_choice,
    isRawTemplate: body.is_raw_template,
    description: body.version_description,
    metadata,
  };
}

type VersionContent = Omit<
  PromptVersionRow,
  "id" | "organisationId" | "workspaceId" | "promptId" | "version" | "ownerId" | "createdAt"
>;

const emptyContent: VersionContent = {
  template: "",
  parameters: {},
  model: null,
  virtualKey: "",
  functions: null,
  tools: null,
  toolChoice: null,
  isRawTemplate: false,
  description: null,
  metadata: null,
};

/** A content with the defined fields of `changes` in their place. */
function withChanges(
  base: VersionContent,
  changes: { [Name in keyof VersionContent]?: VersionContent[Name] | undefined },
) {
  const defined = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...base, ...Object.fromEntries(defined) };
}

/** The workspace of a new prompt: the one that is named, else that of its collection, which an id names in all of them. */
async function placeOfPrompt(call: AdminCall<CreatePrompt>): ReturnType<typeof requireWorkspace> {
  const { body, tenant, query } = call;
  const named = body.workspace_id ?? readText(query, "workspace_id");
  const { collection_id: id } = body;
  if (named != null || id == null || tenant.workspaceId !== null) return requireWorkspace(call, named);
  const collection = await findCollection(call, tenant, id);
  return requireWorkspace(call, collection?.id === id ? collection.workspaceId : undefined);
}

async function createPrompt(call: AdminCall<CreatePrompt>): Promise<Outcome<AnswerOf<typeof CreatedPrompt>>> {
  const { body, stores, now, actor } = call;
  const tenant = await placeOfPrompt(call);
  requireTemplate(body.string);
  const collectionId = await requireCollection(call, tenant, body.collection_id);
  const virtualKey = await requireProvider(call, tenant, body.virtual_key);
  const content = withChanges(emptyContent, { ...readVersionMembers(body), virtualKey });
  const id = crypto.randomUUID();
  const versionId = crypto.randomUUID();
  const slug = createSlug(body.name, { prefix: "pp", letters: 10 });
  const prompt = {
    id,
    ...tenant,
    slug,
    name: body.name,
    collectionId,
    status: "active" as const,
    model: content.model,
    version: 1,
    versionId,
    latestVersion: 1,
    latestVersionId: versionId,
    createdAt: now,
    lastUpdatedAt: now,
  };
  const version = { ...content, id: versionId, ...tenant, promptId: id, version: 1, ownerId: actor, createdAt: now };
  return {
    answer: { id, slug, version_id: versionId, object: "prompt" },
    recordId: id,
    statements: [stores.prompts.insert(tenant, prompt), stores.promptVersions.insert(tenant, version)],
  };
}

/** Fields of an update that create a version. */
const versionFields = [
  "string",
  "parameters",
  "model",
  "virtual_key",
  "version_description",
  "functions",
  "tools",
  "tool_choice",
  "is_raw_template",
  "prompt_metadata",
  "template_metadata",
];

/**
 * Whether an update creates a version. @throws {InvalidRequestError} AB01 if some of the version's fields are missing.
 */
function makesVersion(body: UpdatePrompt): boolean {
  const given = (name: string) => Reflect.get(body, name) !== undefined;
  if (!versionFields.some(given)) return false;
  const missing = ["string", "parameters", "model"].find((name) => !given(name));
  if (missing !== undefined && !body.patch) {
    refuseField(missing, "must be given with other fields of a version, or set patch: true");
  }
  return true;
}

async function updatePrompt(call: AdminCall<UpdatePrompt>): Promise<Outcome<AnswerOf<typeof UpdatedPrompt>>> {
  const { body, stores, now, actor } = call;
  const found = await findPrompt(call);
  const { row, tenant } = found;
  const isNew = makesVersion(body);
  if (body.string !== undefined) requireTemplate(body.string);
  const collectionId =
    body.collection_id === undefined ? undefined : await requireCollection(call, tenant, body.collection_id);
  const changes = { name: body.name, collectionId, lastUpdatedAt: now };
  if (!isNew) {
    return { answer: {}, recordId: row.id, statements: [stores.prompts.update(tenant, { id: row.id }, changes)] };
  }
  const latest = await requireVersion(call, found, "latest");
  const virtualKey = (await requireProvider(call, tenant, body.virtual_key)) ?? latest.virtualKey;
  const content = withChanges(body.patch ? latest : emptyContent, { ...readVersionMembers(body), virtualKey });
  const id = crypto.randomUUID();
  const version = row.latestVersion + 1;
  const place = { id, ...tenant, promptId: row.id, version, ownerId: actor, createdAt: now };
  const head = { latestVersion: version, latestVersionId: id };
  return {
    answer: { id: row.id, slug: row.slug, prompt_version_id: id },
    recordId: row.id,
    statements: [
      stores.promptVersions.insert(tenant, { ...content, ...place }),
      stores.prompts.update(tenant, { id: row.id }, { ...changes, ...head }),
    ],
  };
}

async function deletePrompt(call: AdminCall<undefined>) {
  const { row, tenant } = await findPrompt(call);
  return { answer: {}, recordId: row.id, statements: [call.stores.prompts.remove(tenant, { id: row.id })] };
}

const row = { tag: "Prompts" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`prompts.${verb}`] });
const audit = (action: string) => ({ resource: "prompts", action, store: "prompts" as const });
const all = "/v1/prompts";
const one = `${all}/:id`;

/** Endpoints of prompts themselves. */
export const promptEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List prompts",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "One workspace, for keys of the organisation" },
      { name: "collection_id", description: "One collection, by id or slug" },
      { name: "search", description: "Part of the name or slug, at least 2 characters" },
      { name: "current_page", description: "Page, counted from 0" },
      { name: "page_size", description: "Rows per page; default 50, at most 1000" },
    ],
    response: PromptList,
    handle: listPrompts,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: all,
    summary: "Create a prompt",
    access: access("create"),
    audit: audit("create"),
    body: CreatePrompt,
    response: CreatedPrompt,
    handle: createPrompt,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a prompt with a version",
    access: access("read"),
    query: [{ name: "version", description: "default (if absent), latest, a number or a label" }],
    response: PromptRecord,
    handle: readPrompt,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a prompt, or create a version of it",
    access: access("update"),
    audit: audit("update"),
    body: UpdatePrompt,
    response: UpdatedPrompt,
    handle: updatePrompt,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete a prompt and its versions",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deletePrompt,
  }),
];
