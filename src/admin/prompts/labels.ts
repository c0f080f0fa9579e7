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
import type { AdminCall } from "../core/endpoint.ts";
import { listWithFixed } from "../core/fixed-entries.ts";
import { defineRecord } from "../core/record.ts";
import {
  forbid,
  readSearch,
  readTenant,
  readText,
  requireFound,
  requireId,
  requireWorkspace,
  toIso,
} from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";

function builtInLabels(organisationId: string): LabelRow[] {
  const none = { description: null, colorCode: null, createdAt: 0, lastUpdatedAt: 0 };
  return universalLabels.map(({ id, name }) => ({ id, name, organisationId, workspaceId: null, ...none }));
}

const toLabel = shownBy(Label, (row: LabelRow) => ({
  is_universal: row.workspaceId === null,
  // built-in labels have no creation time
  created_at: toIso(row.createdAt || null),
  last_updated_at: toIso(row.lastUpdatedAt || row.createdAt || null),
}));

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
async function requireOwnLabel(call: AdminCall<unknown>): Promise<LabelRow> {
  const row = await requireLabel(call);
  const { id, workspaceId } = row;
  if (universalLabels.some((label) => label.id === id)) {
    forbid(`The label ${row.name} is built in and cannot be changed`);
  }
  if (workspaceId === null && call.tenant.workspaceId !== null) {
    forbid(`The label ${row.name} belongs to the organisation and is changed with a key of it`);
  }
  return row;
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

const labels = defineRecord({
  tag: "Labels",
  path: "/v1/labels",
  param: "labelId",
  words: { one: "a label", many: "labels" },
  store: "labels",
  audit: "labels",
  access: "prompts",
  isReadByWorkspaces: true,
  find: (call, verb) => (verb === "read" ? requireLabel(call) : requireOwnLabel(call)),
});

/** Endpoints of labels. */
export const labelEndpoints: readonly AdminEndpoint[] = [
  labels.list({
    response: LabelList,
    search: ["name"],
    rows({ stores, query }, tenant, { page, ...options }) {
      const text = readSearch(query)?.toLowerCase() ?? "";
      const fixed = builtInLabels(tenant.organisationId).filter(({ name }) => name.includes(text));
      return listWithFixed(page, fixed, (own) =>
        stores.labels.list(tenant, { ...options, page: own, includeOrganisation: true }),
      );
    },
    show: (rows) => rows.map(toLabel),
  }),
  labels.create({
    body: CreateLabel,
    response: CreatedLabel,
    tenant: placeOf,
    async decide(call, { tenant, id }) {
      const { name, description, color_code: colorCode } = call.body;
      await requireFreeName(call, tenant, name);
      return { answer: { id }, columns: { name, description: description ?? null, colorCode: colorCode ?? null } };
    },
  }),
  labels.show({ response: Label, show: ({ row }) => toLabel(row) }),
  labels.change({
    body: UpdateLabel,
    response: NoContent,
    async decide(call, { tenant }) {
      const { name, description, color_code: colorCode } = call.body;
      await requireFreeName(call, tenant, name);
      return { answer: {}, columns: { name, description, colorCode } };
    },
  }),
  labels.remove({
    before: async ({ stores }, { row, tenant }) => [stores.promptLabels.remove(tenant, { labelId: row.id })],
  }),
];
