import type { PromptVersionRow } from "../../db/tables/prompts.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  CreatedPrompt,
  CreatePrompt,
  PromptList,
  PromptRecord,
  UpdatedPrompt,
  UpdatePrompt,
} from "../../schemas/prompts.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import type { ChangedRecord, Found, NewPlace } from "../core/record-definitions.ts";
import { readText, refuseField, requireReferenced, requireWorkspace } from "../core/request.ts";
import { findCollection, requireCollection } from "./collections.ts";
import { readPromptLabels } from "./labels.ts";
import { collectionQuery, firstHead, inCollection, nextHead } from "./numbered-versions.ts";
import { prompts, requireTemplate, requireVersion, toPromptRecord, toPromptSummary } from "./prompt-records.ts";

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

async function createPrompt(call: AdminCall<CreatePrompt>, { tenant, id, slug }: NewPlace<"prompts">) {
  const { body, stores, now, actor } = call;
  requireTemplate(body.string);
  const collectionId = await requireCollection(call, tenant, body.collection_id);
  const virtualKey = await requireProvider(call, tenant, body.virtual_key);
  const content = withChanges(emptyContent, { ...readVersionMembers(body), virtualKey });
  const versionId = crypto.randomUUID();
  const version = { ...content, id: versionId, ...tenant, promptId: id, version: 1, ownerId: actor, createdAt: now };
  return {
    answer: { id, slug, version_id: versionId, object: "prompt" as const },
    columns: {
      name: body.name,
      collectionId,
      status: "active" as const,
      model: content.model,
      ...firstHead(versionId),
    },
    statements: [stores.promptVersions.insert(tenant, version)],
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

async function updatePrompt(
  call: AdminCall<UpdatePrompt>,
  found: Found<"prompts">,
): Promise<ChangedRecord<"prompts", AnswerOf<typeof UpdatedPrompt>>> {
  const { body, stores, now, actor } = call;
  const { row, tenant } = found;
  const isNew = makesVersion(body);
  if (body.string !== undefined) requireTemplate(body.string);
  const collectionId =
    body.collection_id === undefined ? undefined : await requireCollection(call, tenant, body.collection_id);
  const columns = { name: body.name, collectionId };
  if (!isNew) return { answer: {}, columns };
  const latest = await requireVersion(call, found, "latest");
  const virtualKey = (await requireProvider(call, tenant, body.virtual_key)) ?? latest.virtualKey;
  const content = withChanges(body.patch ? latest : emptyContent, { ...readVersionMembers(body), virtualKey });
  const id = crypto.randomUUID();
  const head = nextHead(row, id);
  const place = { id, ...tenant, promptId: row.id, version: head.latestVersion, ownerId: actor, createdAt: now };
  return {
    answer: { id: row.id, slug: row.slug, prompt_version_id: id },
    columns: { ...columns, ...head },
    statements: [stores.promptVersions.insert(tenant, { ...content, ...place })],
  };
}

/** Endpoints of prompts themselves. */
export const promptEndpoints: readonly AdminEndpoint[] = [
  prompts.list({
    response: PromptList,
    search: ["name", "slug"],
    query: collectionQuery,
    select: inCollection,
    async show(rows, call, tenant) {
      const ids = rows.map(({ id }) => id);
      const labels = await readPromptLabels(call, tenant, ids);
      return rows.map((row) => ({ ...toPromptSummary(row), prompt_labels: labels.get(row.id) ?? [] }));
    },
  }),
  prompts.create({
    body: CreatePrompt,
    response: CreatedPrompt,
    slug: { prefix: "pp", letters: 10 },
    tenant: placeOfPrompt,
    decide: createPrompt,
  }),
  prompts.show({
    summary: "Show a prompt with a version",
    query: [{ name: "version", description: "default (if absent), latest, a number or a label" }],
    response: PromptRecord,
    show: async (found, call) =>
      toPromptRecord(call, found, await requireVersion(call, found, readText(call.query, "version") ?? "default")),
  }),
  prompts.change({
    summary: "Change a prompt, or create a version of it",
    body: UpdatePrompt,
    response: UpdatedPrompt,
    decide: updatePrompt,
  }),
  prompts.remove({ summary: "Delete a prompt and its versions" }),
];
