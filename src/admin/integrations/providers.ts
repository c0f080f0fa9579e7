import type { IntegrationRow, ProviderRow } from "../../db/tables/integrations.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  CreatedProvider,
  CreateProvider,
  ProviderList,
  type ProviderObject,
  ProviderRecord,
  UpdatedProvider,
  UpdateProvider,
} from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import {
  namedWorkspace,
  readPage,
  refuseField,
  requireFound,
  requireReferenced,
  requireWorkspace,
  toList,
} from "../core/request.ts";
import { isPartnerOnly, mayUse, removeIntegrationRows } from "./integration-records.ts";
import {
  createProviderRow,
  type JoinedProvider,
  showProviders,
  toProviderChanges,
  type WorkspaceTenant,
} from "./provider-rows.ts";

/** The integrations of some providers, whoever owns them. */
async function readIntegrations(
  { stores }: AdminCall<unknown>,
  { organisationId }: Tenant,
  rows: readonly ProviderRow[],
): Promise<Map<string, IntegrationRow>> {
  const id = [...new Set(rows.map(({ integrationId }) => integrationId))];
  const integrations = await stores.integrations.all({ organisationId, workspaceId: null }, { where: { id } });
  return new Map(integrations.map((row) => [row.id, row]));
}

/**
 * The provider a path names, with its integration.
 *
 * @throws {NotFoundError} AB08.
 */
export async function findProvider(call: AdminCall<unknown>): Promise<JoinedProvider & { tenant: WorkspaceTenant }> {
  const tenant = await requireWorkspace(call, namedWorkspace(call));
  const row = requireFound(await call.stores.providers.get(tenant, call.params.slug ?? ""), "provider");
  const integrations = await readIntegrations(call, tenant, [row]);
  return { row, tenant, integration: requireFound(integrations.get(row.integrationId), "provider") };
}

/** A list of providers, named as on the path. */
async function listProviders(call: AdminCall<undefined>, object: ProviderObject) {
  const tenant = await requireWorkspace(call);
  const { rows, total } = await call.stores.providers.list(tenant, { page: readPage(call.query) });
  const integrations = await readIntegrations(call, tenant, rows);
  const joined = rows.flatMap((row) => {
    const integration = integrations.get(row.integrationId);
    return integration ? [{ row, integration }] : [];
  });
  return toList(await showProviders(joined, object, call), total);
}

async function readProvider(call: AdminCall<undefined>, object: ProviderObject): Promise<ProviderRecord> {
  const [shown] = await showProviders([await findProvider(call)], object, call);
  return requireFound(shown, "provider");
}

async function deleteProvider(call: AdminCall<undefined>) {
  const { row, tenant, integration } = await findProvider(call);
  const credentials = integration.isPrivate ? removeIntegrationRows(call, integration) : [];
  const statements = [call.stores.providers.remove(tenant, { id: row.id }), ...credentials];
  return { answer: {}, recordId: row.id, statements };
}

async function createProvider(call: AdminCall<CreateProvider>): Promise<Outcome<AnswerOf<typeof CreatedProvider>>> {
  const { body, stores } = call;
  const tenant = await requireWorkspace(call, namedWorkspace(call));
  const found = await stores.integrations.get(tenant, body.integration_id, { includeOrganisation: true });
  const isUsable = found?.status === "active" && !found.isPrivate && (await mayUse(call, tenant, found));
  const { id: integrationId, aiProviderId } = requireReferenced(isUsable ? found : undefined, "integration_id");
  if (isPartnerOnly(call, aiProviderId))
    refuseField("integration_id", `has no models: ${aiProviderId} serves guardrails`);
  const { id, slug, statement } = createProviderRow(call, tenant, { ...body, integrationId });
  return { answer: { id, slug, object: "provider" }, recordId: id, statements: [statement] };
}

async function updateProvider(call: AdminCall<UpdateProvider>) {
  const { body, stores, now } = call;
  const { row, tenant } = await findProvider(call);
  const changes = { name: body.name, ...toProviderChanges(body, now, row), lastUpdatedAt: now };
  const statements = [stores.providers.update(tenant, { id: row.id }, changes)];
  return { answer: { id: row.id, slug: row.slug }, recordId: row.id, statements };
}

/** Scopes for providers: both families open both paths. */
export const providerAccess = (verb: string) => ({
  keys: "any" as const,
  scopes: [`providers.${verb}`, `virtual_keys.${verb}`],
});

/** Endpoints both paths have: to list, show and delete. */
export function commonProviderEndpoints(
  path: string,
  { tag, noun, object, resource }: { tag: string; noun: string; object: ProviderObject; resource: string },
): AdminEndpoint[] {
  const query = [{ name: "workspace_id", description: "Required for keys of the organisation" }];
  const one = { tag, query, path: `${path}/:slug` };
  return [
    defineRead({
      tag,
      path,
      method: "GET",
      summary: `List ${noun}s`,
      access: providerAccess("list"),
      query: [
        ...query,
        { name: "current_page", description: "Counted from 0" },
        { name: "page_size", description: "1 to 1000; default 50" },
      ],
      response: ProviderList,
      handle: (call) => listProviders(call, object),
    }),
    defineRead({
      ...one,
      method: "GET",
      summary: `Show a ${noun}`,
      access: providerAccess("read"),
      response: ProviderRecord,
      handle: (call) => readProvider(call, object),
    }),
    defineWrite({
      ...one,
      method: "DELETE",
      summary: `Delete a ${noun}`,
      access: providerAccess("delete"),
      audit: { resource, action: "delete", store: "providers" as const },
      response: NoContent,
      handle: deleteProvider,
    }),
  ];
}

const row = { tag: "Providers" };

/** Endpoints of providers: integrations as one workspace uses them. */
export const providerEndpoints: readonly AdminEndpoint[] = [
  ...commonProviderEndpoints("/v1/providers", {
    ...row,
    noun: "provider",
    object: "provider",
    resource: "providers",
  }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/providers",
    summary: "Create a provider",
    access: providerAccess("create"),
    audit: { resource: "providers", action: "create", store: "providers" as const },
    body: CreateProvider,
    response: CreatedProvider,
    handle: createProvider,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: "/v1/providers/:slug",
    summary: "Change a provider",
    access: providerAccess("update"),
    audit: { resource: "providers", action: "update", store: "providers" as const },
    body: UpdateProvider,
    response: UpdatedProvider,
    handle: updateProvider,
  }),
];
