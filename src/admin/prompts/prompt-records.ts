import type { PromptRow, PromptVersionRow } from "../../db/tables/prompts.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { namesOfPrompt, type PromptTemplate, readPromptTemplate } from "../../prompts/prompt.ts";
import { readVersionNumber } from "../../prompts/reference.ts";
import type { AssignedLabel, PromptRecord, PromptSummary } from "../../schemas/prompts.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { type Page, readPage, readTenant, refuseField, requireFound, toIso } from "../core/request.ts";
import { readAssignedLabels } from "./labels.ts";

/** A record of one workspace and the tenant it belongs to. */
export interface Found<Row> {
  row: Row;
  tenant: Tenant & { workspaceId: string };
}

/** The prompt a path names by id or slug. @throws {NotFoundError} AB08. */
export async function findPrompt(call: AdminCall<unknown>): Promise<Found<PromptRow>> {
  const row = requireFound(await call.stores.prompts.get(await readTenant(call), call.params.id ?? ""), "prompt");
  return { row, tenant: { organisationId: row.organisationId, workspaceId: row.workspaceId } };
}

/** @throws {InvalidRequestError} AB01 for a template that cannot be parsed. */
export function requireTemplate(text: string): PromptTemplate {
  const template = readPromptTemplate(text);
  return "problem" in template ? refuseField("string", template.problem) : template;
}

/**
 * The version with this name: `default`, `latest`, a number or a label.
 *
 * @throws {NotFoundError} AB08.
 */
export async function requireVersion(
  call: AdminCall<unknown>,
  { row, tenant }: Found<PromptRow>,
  name: string,
): Promise<PromptVersionRow> {
  const { promptVersions } = call.stores;
  const number = readVersionNumber(name);
  if (number !== undefined) {
    return requireFound(await promptVersions.find(tenant, { promptId: row.id, version: number }), "version");
  }
  const heads = new Map([
    ["default", row.versionId],
    ["latest", row.latestVersionId],
  ]);
  const id = heads.get(name) ?? (await findLabelled(call, { row, tenant }, name));
  return requireFound(id === undefined ? undefined : await promptVersions.find(tenant, { id }), "version");
}

async function findLabelled(call: AdminCall<unknown>, { row, tenant }: Found<PromptRow>, label: string) {
  const byVersion = await readAssignedLabels(call, tenant, row.id);
  return [...byVersion].find(([, labels]) => labels.some(({ name }) => name === label))?.[0];
}

/** A prompt as lists show it. */
export function toPromptSummary(row: PromptRow): PromptSummary {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    collection_id: row.collectionId,
    model: row.model,
    status: row.status,
    prompt_version: row.version,
    prompt_version_id: row.versionId,
    prompt_owning_workspace_id: row.workspaceId,
    allow_all_workspaces: 0,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "prompt",
  };
}

const noLabels: readonly AssignedLabel[] = [];

/** A prompt with one of its versions. */
export async function toPromptRecord(
  call: AdminCall<unknown>,
  found: Found<PromptRow>,
  version: PromptVersionRow,
): Promise<AnswerOf<typeof PromptRecord>> {
  const { row, tenant } = found;
  const labels = (await readAssignedLabels(call, tenant, row.id)).get(version.id) ?? noLabels;
  const [label] = labels;
  const template = readPromptTemplate(version.template);
  const names = "problem" in template ? undefined : namesOfPrompt(template);
  return {
    ...toPromptSummary(row),
    string: version.template,
    parameters: version.parameters,
    model: version.model,
    virtual_key: version.virtualKey,
    functions: version.functions,
    tools: version.tools,
    tool_choice: version.toolChoice,
    template_metadata: version.metadata,
    is_raw_template: version.isRawTemplate ? 1 : 0,
    is_default: version.id === row.versionId ? 1 : 0,
    prompt_version: version.version,
    prompt_version_id: version.id,
    prompt_version_status: "active",
    prompt_version_description: version.description,
    prompt_version_label_id: label?.id ?? null,
    prompt_version_label_name: label?.name ?? null,
    prompt_version_labels: labels,
    // a tag that names its partial by a variable is not valid in this template language
    variable_components: names && { ...names, variablePartials: [] },
  };
}

/** Most versions of a page, and its default size: versions are long. */
const versionsOfPage = 100;

/** A page of versions, newest first. Versions are numbered without gaps, so a page is a range of numbers. */
export function readVersionPage(
  { query }: AdminCall<unknown>,
  latestVersion: number,
): { column: "version"; from: number; to: number } {
  const page: Page = readPage(query, { size: versionsOfPage, max: versionsOfPage });
  const to = Math.max(1, latestVersion - page.offset + 1);
  return { column: "version", from: Math.max(1, to - page.limit), to };
}

/** Query parameters of lists of versions. */
export const versionQuery = [
  { name: "current_page", description: "Page, counted from 0" },
  { name: "page_size", description: "Versions per page; default and maximum 100" },
];
