import type { PromptRow, PromptVersionRow } from "../../db/tables/prompts.ts";
import { namesOfPrompt, type PromptTemplate, readPromptTemplate } from "../../prompts/prompt.ts";
import { readVersionNumber } from "../../prompts/reference.ts";
import { type AssignedLabel, type PromptRecord, PromptSummary } from "../../schemas/prompts.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found } from "../core/record-definitions.ts";
import { refuseField, requireFound } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { readAssignedLabels } from "./labels.ts";

/** Saved prompts. */
export const prompts = defineRecord({
  tag: "Prompts",
  path: "/v1/prompts",
  words: { one: "a prompt", many: "prompts" },
  store: "prompts",
  audit: "prompts",
  access: "prompts",
});

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
  { row, tenant }: Found<"prompts">,
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

async function findLabelled(call: AdminCall<unknown>, { row, tenant }: Found<"prompts">, label: string) {
  const byVersion = await readAssignedLabels(call, tenant, row.id);
  return [...byVersion].find(([, labels]) => labels.some(({ name }) => name === label))?.[0];
}

/** A prompt as lists show it. */
export const toPromptSummary = shownBy(PromptSummary, (row: PromptRow) => ({
  prompt_version: row.version,
  prompt_version_id: row.versionId,
  prompt_owning_workspace_id: row.workspaceId,
}));

const noLabels: readonly AssignedLabel[] = [];

/** A prompt with one of its versions. */
export async function toPromptRecord(
  call: AdminCall<unknown>,
  found: Found<"prompts">,
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
