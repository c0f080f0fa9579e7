import type { LabelRow, PromptLabelRow } from "../../db/tables/prompts.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { ConflictError } from "../../errors.ts";
import { universalLabels } from "../../prompts/labels.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  type AssignedLabel,
  CreatedLabel,
  CreateLabel,
  Label,
  LabelList,
  UpdateLabel,
  type VersionLabel,
} from "../../schemas/prompts.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { listWithFixed } from "../core/fixed-entries.ts";
import {
  forbid,
  readPage,
  readSearch,
  readTenant,
  readText,
  requireFound,
  requireId,
  requireWorkspace,
  toIso,
} from "../core/request.ts";

function builtInLabels(organisationId: string): LabelRow[] {
  const none = { description: null, colorCode: null, createdAt: 0, lastUpdatedAt: 0 };
  return universalLabels.map(({ id, name }) => ({ id, name, organisationId, workspaceId: null, ...none }));
}

function toLabel(row: LabelRow): Label {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    color_code: row.colorCode,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    is_universal: row.workspaceId === null,
    status: "active",
    // built-in labels have no creation time
    created_at: toIso(row.createdAt || null),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt || null),
  };
}

async function listLabels(call: AdminCall<undefined>): Promise<AnswerOf<typeof LabelList>> {
  const { stores, query } = call;
  const tenant = await readTenant(call);
  const text = readSearch(query);
  const fixed = builtInLabels(tenant.organisationId).filter(({ name }) => name.includes(text?.toLowerCase() ?? ""));
  const search = text === undefined ? undefined : { columns: ["name"] as const, text };
  const { rows, total } = await listWithFixed(readPage(query), fixed, (page) =>
    stores.labels.list(tenant, { search, page, includeOrganisation: true }),
  );
  return { data: rows.map(toLabel), total };
}

/**
 * The label a reference names by its id.
 *
 * @returns Undefined for an unknown or foreign one.
 */
export async function findLabel(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  id: string,
): Promise<LabelRow | undefined> {
  const builtIn = builtInLabels(tenant.organisationId).find((label) => label.id === id);
  return builtIn ?? (await stores.labels.find(tenant, { id }, { includeOrganisation: true }));
}

/** A label of a version, with its place. */
interface PlacedLabel extends AssignedLabel {
  promptId: string;
  versionId: string;
}

/** Labels of prompts, the newest assignment first; assignments of deleted labels are left out. */
async function readLabels(
  { stores }: AdminCall<unknown>,
  tenant: Tenant,
  promptId: string | string[],
): Promise<PlacedLabel[]> {
  const assigned: PromptLabelRow[] = await stores.promptLabels.all(tenant, { where: { promptId } });
  const ids = [...new Set(assigned.map(({ labelId }) => labelId))];
  const own =
    ids.length === 0 ? [] : await stores.labels.all(tenant, { where: { id: ids }, includeOrganisation: true });
  const nameOf = new Map([...universalLabels, ...own].map(({ id, name }) => [id, name]));
  return assigned.flatMap(({ labelId, versionId, promptId }) => {
    const name = nameOf.get(labelId);
    return name === undefined ? [] : [{ id: labelId, name, promptId, versionId }];
  });
}

/** Labels of the versions of a prompt, by version, the newest assignment first. */
export async function readAssignedLabels(
  call: AdminCall<unknown>,
  tenant: Tenant,
  promptId: string,
): Promise<Map<string, AssignedLabel[]>> {
  const byVersion = new Map<string, AssignedLabel[]>();
  for (const { id, name, versionId } of await readLabels(call, tenant, promptId)) {
    byVersion.set(versionId, [...(byVersion.get(versionId) ?? []), { id, name }]);
  }
  return byVersion;
}

/** Labels of prompts as lists show them: each with its version, by prompt. */
export async function readPromptLabels(call: AdminCall<unknown>, tenant: Tenant, promptIds: string[]) {
  const byPrompt = new Map<string, VersionLabel[]>();
  const found = promptIds.length === 0 ? [] : await readLabels(call, tenant, promptIds);
  for (const { id, name, promptId, versionId } of found) {
    byPrompt.set(promptId, [...(byPrompt.get(promptId) ?? []), { id, name, prompt_version_id: versionId }]);
  }
  return byPrompt;
}

async function requireLabel(call: AdminCall<unknown>): Promise<LabelRow> {
  const tenant = await readTenant(call);
  return requireFound(await findLabel(call, tenant, requireId(call.params, "labelId", "label")), "label");
}

/**
 * The label of a path, if the caller may change it.
 *
 * @throws {PermissionError} AB03 for a built-in one, and for one of the organisation if the caller belongs to a workspace.
 */
async function requireOwnLabel(call: AdminCall<unknown>): Promise<{ row: LabelRow; tenant: Tenant }> {
  const row = await requireLabel(call);
  const { id, organisationId, workspaceId } = row;
  if (universalLabels.some((label) => label.id === id)) {
    forbid(`The label ${row.name} is built in and cannot be changed`);
  }
  if (workspaceId === null && call.tenant.workspaceId !== null) {
    forbid(`The label ${row.name} belongs to the organisation and is changed with a key of it`);
  }
  return { row, tenant: { organisationId, workspaceId } };
}

/**
 * Requires that a name means one label in each workspace: a label of the organisation shares its name with none, and one of
 * a workspace with none of the organisation. The database compares those of the same place.
 *
 * @throws {ConflictError} AB07
 */
async function requireFreeName({ stores }: AdminCall<unknown>, { organisationId, workspaceId }: Tenant, name?: string) {
  if (name === undefined) return;
  const refuse = (owner: string): never => {
    throw new ConflictError(`Cannot name a label ${name}: ${owner} has this name`, { code: "AB07", param: "name" });
  };
  if (universalLabels.some((label) => label.name === name)) refuse("a built-in label");
  const everywhere = { organisationId, workspaceId: null };
  const others = await stores.labels.all(everywhere, { where: { name } });
  const other = others.find((label) => (label.workspaceId === null) !== (workspaceId === null));
  if (other) refuse(workspaceId === null ? "a label of a workspace" : "a label of the organisation");
}

/** Where a new label belongs: a key of the organisation names a workspace, or else the organisation. */
async function placeOf(call: AdminCall<CreateLabel>): Promise<Tenant> {
  const { body, tenant } = call;
  const workspace = body.workspace_id ?? readText(call.query, "workspace_id");
  const isOfOrganisation = workspace === undefined && typeof body.organisation_id === "string";
  return isOfOrganisation && tenant.workspaceId === null ? tenant : requireWorkspace(call, workspace);
}

async function createLabel(call: AdminCall<CreateLabel>): Promise<Outcome<AnswerOf<typeof CreatedLabel>>> {
  const { body, stores, now } = call;
  const tenant = await placeOf(call);
  await requireFreeName(call, tenant, body.name);
  const id = crypto.randomUUID();
  const texts = { description: body.description ?? null, colorCode: body.color_code ?? null };
  const row = { id, ...tenant, name: body.name, ...texts, createdAt: now };
  return { answer: { id }, recordId: id, statements: [stores.labels.insert(tenant, row)] };
}

async function updateLabel(call: AdminCall<UpdateLabel>) {
  const { body, stores, now } = call;
  const { row, tenant } = await requireOwnLabel(call);
  await requireFreeName(call, tenant, body.name);
  const changes = { name: body.name, description: body.description, colorCode: body.color_code, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.labels.update(tenant, { id: row.id }, changes)] };
}

async function deleteLabel(call: AdminCall<undefined>) {
  const { stores } = call;
  const { row, tenant } = await requireOwnLabel(call);
  const statements = [
    stores.promptLabels.remove(tenant, { labelId: row.id }),
    stores.labels.remove(tenant, { id: row.id }),
  ];
  return { answer: {}, recordId: row.id, statements };
}

const row = { tag: "Labels" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`prompts.${verb}`] });
const audit = (action: string) => ({ resource: "labels", action, store: "labels" as const });
const one = "/v1/labels/:labelId";

/** Endpoints of labels. */
export const labelEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: "/v1/labels",
    summary: "List labels",
    access: access("list"),
    query: [
      { name: "workspace_id", description: "One workspace, for keys of the organisation" },
      { name: "search", description: "Part of the name, at least 2 characters" },
      { name: "current_page", description: "Page, counted from 0" },
      { name: "page_size", description: "Rows per page; default 50, at most 1000" },
    ],
    response: LabelList,
    handle: listLabels,
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/labels",
    summary: "Create a label",
    access: access("create"),
    audit: audit("create"),
    body: CreateLabel,
    response: CreatedLabel,
    handle: createLabel,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a label",
    access: access("read"),
    response: Label,
    handle: async (call) => toLabel(await requireLabel(call)),
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Change a label",
    access: access("update"),
    audit: audit("update"),
    body: UpdateLabel,
    response: NoContent,
    handle: updateLabel,
  }),
  defineWrite({
    ...row,
    method: "DELETE",
    path: one,
    summary: "Delete a label",
    access: access("delete"),
    audit: audit("delete"),
    response: NoContent,
    handle: deleteLabel,
  }),
];
