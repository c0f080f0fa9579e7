import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import { ExclusionList, UpdateExclusions } from "../../schemas/organisations.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite } from "../core/endpoint.ts";
import { readTenant, toIso, toList } from "../core/request.ts";

type Direction = "input" | "output";

async function listExclusions(
  { stores, tenant }: AdminCall<undefined>,
  direction: Direction,
): Promise<AnswerOf<typeof ExclusionList>> {
  const rows = await stores.exclusions.all(tenant, { where: { direction } });
  const ids = rows.map(({ workspaceId }) => workspaceId);
  const workspaces = await stores.workspaces.all(tenant, { where: { id: ids, status: "active" } });
  const data = rows.flatMap((row) => {
    const workspace = workspaces.find(({ id }) => id === row.workspaceId);
    if (!workspace) return [];
    const { id, slug, name } = workspace;
    return [{ workspace_id: id, slug, name, excluded: true as const, created_at: toIso(row.createdAt) }];
  });
  return toList(data, data.length);
}

async function updateExclusions(call: AdminCall<UpdateExclusions>, direction: Direction) {
  const { body, stores, tenant, now } = call;
  const { organisationId } = tenant;
  const wanted = new Map<string, boolean>();
  for (const { workspace_id, excluded } of body.workspaces) {
    const { workspaceId } = await readTenant(call, workspace_id);
    wanted.set(String(workspaceId), excluded);
  }
  const named = [...wanted.keys()];
  const added = named.filter((workspaceId) => wanted.get(workspaceId));
  return {
    answer: {},
    recordId: organisationId,
    statements: [
      ...(body.override_existing
        ? [stores.exclusions.remove(tenant, { direction })]
        : named.map((workspaceId) => stores.exclusions.remove(tenant, { direction, workspaceId }))),
      ...added.map((workspaceId) =>
        stores.exclusions.put(tenant, { organisationId, workspaceId, direction, createdAt: now }),
      ),
    ],
  };
}

const access = (verb: string) => ({ keys: "admin" as const, scopes: [`organisation_exclusions.${verb}`] });

/** Endpoints of the workspaces that guardrails of the organisation do not apply to. */
export const exclusionEndpoints: readonly AdminEndpoint[] = (["input", "output"] as const).flatMap((direction) => {
  const row = { tag: "Organisation", path: `/v1/workspace-exclusions/${direction}-guardrails` };
  const guardrails = `the organisation's ${direction} guardrails`;
  return [
    defineRead({
      ...row,
      method: "GET",
      summary: `List the workspaces excluded from ${guardrails}`,
      access: access("list"),
      response: ExclusionList,
      handle: (call) => listExclusions(call, direction),
    }),
    defineWrite({
      ...row,
      method: "PUT",
      summary: `Change the workspaces excluded from ${guardrails}`,
      access: access("update"),
      audit: { resource: "workspace_exclusions", action: "update", store: null },
      body: UpdateExclusions,
      response: NoContent,
      handle: (call) => updateExclusions(call, direction),
    }),
  ];
});
