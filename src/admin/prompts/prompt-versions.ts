import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { LabelVersion, MakeDefault, PromptRecord, PromptVersionList } from "../../schemas/prompts.ts";
import type { AdminCall, AnswerOf } from "../core/endpoint.ts";
import type { Found } from "../core/record-definitions.ts";
import { requireFound, requireId, requireReferenced, toIso, toList } from "../core/request.ts";
import { findLabel, readAssignedLabels } from "./labels.ts";
import { defaultHead, newestFirst, readVersionPage, versionQuery } from "./numbered-versions.ts";
import { prompts, toPromptRecord } from "./prompt-records.ts";

type FoundPrompt = Found<"prompts">;

async function listVersions(
  call: AdminCall<undefined>,
  { row, tenant }: FoundPrompt,
): Promise<AnswerOf<typeof PromptVersionList>> {
  const labels = await readAssignedLabels(call, tenant, row.id);
  const between = readVersionPage(call, row.latestVersion);
  const rows = await call.stores.promptVersions.all(tenant, { where: { promptId: row.id }, between });
  const data = newestFirst(rows).map((version) => ({
    id: version.id,
    prompt_id: row.id,
    prompt_template: version.template,
    prompt_version: version.version,
    prompt_description: version.description,
    label_id: labels.get(version.id)?.[0]?.id ?? null,
    labels: labels.get(version.id) ?? [],
    created_at: toIso(version.createdAt),
    status: "active" as const,
    object: "prompt" as const,
  }));
  return toList(data, row.latestVersion);
}

/** The version that a path names. */
async function findVersion({ stores, params }: AdminCall<unknown>, { row, tenant }: FoundPrompt) {
  const where = { promptId: row.id, id: requireId(params, "versionId", "version") };
  return requireFound(await stores.promptVersions.find(tenant, where), "version");
}

async function labelVersion(call: AdminCall<LabelVersion>, found: FoundPrompt) {
  const { body, stores, now } = call;
  const { row, tenant } = found;
  const version = await findVersion(call, found);
  const place = { promptId: row.id, versionId: version.id };
  if (body.label_id === null) return { answer: {}, statements: [stores.promptLabels.remove(tenant, place)] };
  const { id } = requireReferenced(await findLabel(call, tenant, body.label_id), "label_id");
  // a label is on one version of a prompt: it is removed from the version that had it
  const label = { ...tenant, ...place, labelId: id, createdAt: now };
  return { answer: {}, statements: [stores.promptLabels.put(tenant, label)] };
}

async function makeDefault(call: AdminCall<MakeDefault>, prompt: FoundPrompt) {
  const where = { promptId: prompt.row.id, version: call.body.version };
  const { found, head } = defaultHead(await call.stores.promptVersions.find(prompt.tenant, where));
  return { answer: {}, statements: [prompts.updating(call, prompt, { ...head, model: found.model })] };
}

/** Endpoints of versions of prompts. */
export const promptVersionEndpoints: readonly AdminEndpoint[] = [
  prompts.read({
    at: "/versions",
    verb: "read",
    summary: "List the versions of a prompt",
    query: versionQuery,
    response: PromptVersionList,
    handle: listVersions,
  }),
  prompts.read({
    at: "/versions/:versionId",
    verb: "read",
    summary: "Show a version of a prompt",
    response: PromptRecord,
    handle: async (call, found) => toPromptRecord(call, found, await findVersion(call, found)),
  }),
  prompts.write({
    method: "PUT",
    at: "/versions/:versionId",
    verb: "publish",
    summary: "Put a label on a version",
    body: LabelVersion,
    response: NoContent,
    handle: labelVersion,
  }),
  prompts.write({
    method: "PUT",
    at: "/makeDefault",
    verb: "publish",
    summary: "Make a version the default",
    body: MakeDefault,
    response: NoContent,
    handle: makeDefault,
  }),
];
