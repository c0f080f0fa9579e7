import type { PromptVersionRow } from "../../db/tables/prompts.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { LabelVersion, MakeDefault, PromptRecord, PromptVersionList } from "../../schemas/prompts.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite } from "../core/endpoint.ts";
import { requireFound, requireId, requireReferenced, toIso, toList } from "../core/request.ts";
import { findLabel, readAssignedLabels } from "./labels.ts";
import { findPrompt, readVersionPage, toPromptRecord, versionQuery } from "./prompt-records.ts";

async function listVersions(call: AdminCall<undefined>): Promise<AnswerOf<typeof PromptVersionList>> {
  const { row, tenant } = await findPrompt(call);
  const labels = await readAssignedLabels(call, tenant, row.id);
  const between = readVersionPage(call, row.latestVersion);
  const rows = await call.stores.promptVersions.all(tenant, { where: { promptId: row.id }, between });
  const data = rows
    .toSorted((one, other) => other.version - one.version)
    .map((version) => ({
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

/** The prompt and the version a path names. */
async function findVersion(call: AdminCall<unknown>) {
  const found = await findPrompt(call);
  const where = { promptId: found.row.id, id: requireId(call.params, "versionId", "version") };
  const version: PromptVersionRow | undefined = await call.stores.promptVersions.find(found.tenant, where);
  return { found, version: requireFound(version, "version") };
}

async function readVersion(call: AdminCall<undefined>): Promise<AnswerOf<typeof PromptRecord>> {
  const { found, version } = await findVersion(call);
  return toPromptRecord(call, found, version);
}

async function labelVersion(call: AdminCall<LabelVersion>) {
  const { body, stores, now } = call;
  const { found, version } = await findVersion(call);
  const { row, tenant } = found;
  const labelId = body.label_id;
  const place = { ...tenant, promptId: row.id, versionId: version.id };
  if (labelId === null) {
    const { promptId, versionId } = place;
    const statements = [stores.promptLabels.remove(tenant, { promptId, versionId })];
    return { answer: {}, recordId: row.id, statements };
  }
  const { id } = requireReferenced(await findLabel(call, tenant, labelId), "label_id");
  // a label is on one version of a prompt: it is removed from the version that had it
  const statements = [stores.promptLabels.put(tenant, { ...place, labelId: id, createdAt: now })];
  return { answer: {}, recordId: row.id, statements };
}

async function makeDefault(call: AdminCall<MakeDefault>) {
  const { body, stores, now } = call;
  const { row, tenant } = await findPrompt(call);
  const where = { promptId: row.id, version: body.version };
  const { id, version, model } = requireReferenced(await stores.promptVersions.find(tenant, where), "version");
  const changes = { version, versionId: id, model, lastUpdatedAt: now };
  return { answer: {}, recordId: row.id, statements: [stores.prompts.update(tenant, { id: row.id }, changes)] };
}

const row = { tag: "Prompts" };
const access = (verb: string) => ({ keys: "any" as const, scopes: [`prompts.${verb}`] });
const audit = { resource: "prompts", action: "publish", store: "prompts" as const };
const all = "/v1/prompts/:id/versions";
const one = `${all}/:versionId`;

/** Endpoints of versions of prompts. */
export const promptVersionEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    ...row,
    method: "GET",
    path: all,
    summary: "List the versions of a prompt",
    access: access("read"),
    query: versionQuery,
    response: PromptVersionList,
    handle: listVersions,
  }),
  defineRead({
    ...row,
    method: "GET",
    path: one,
    summary: "Show a version of a prompt",
    access: access("read"),
    response: PromptRecord,
    handle: readVersion,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: one,
    summary: "Put a label on a version",
    access: access("publish"),
    audit,
    body: LabelVersion,
    response: NoContent,
    handle: labelVersion,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: "/v1/prompts/:id/makeDefault",
    summary: "Make a version the default",
    access: access("publish"),
    audit,
    body: MakeDefault,
    response: NoContent,
    handle: makeDefault,
  }),
];
