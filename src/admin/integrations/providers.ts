import type { IntegrationRow, ProviderRow } from "../../db/tables/integrations.ts";
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
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord, workspaceQuery } from "../core/record.ts";
import type { Found, NewPlace, RecordDeclaration } from "../core/record-definitions.ts";
import { namedWorkspace, refuseField, requireFound, requireReferenced, requireWorkspace } from "../core/request.ts";
import { isPartnerOnly, mayUse, ownOf, removeSecrets, tenantOf } from "./integration-records.ts";
import { type JoinedProvider, showProviders, toNewProvider, toProviderChanges } from "./provider-rows.ts";

/**
 * The provider a path names.
 *
 * @throws {NotFoundError} AB08.
 */
export async function findProvider(call: AdminCall<unknown>): Promise<ProviderRow> {
  const tenant = await requireWorkspace(call, namedWorkspace(call));
  return requireFound(await call.stores.providers.get(tenant, call.params.slug ?? ""), "provider");
}

/** Providers of one organisation with their integrations, whoever owns these. */
async function joinIntegrations(call: AdminCall<unknown>, rows: readonly ProviderRow[]): Promise<JoinedProvider[]> {
  const { organisationId } = call.tenant;
  const id = [...new Set(rows.map(({ integrationId }) => integrationId))];
  const found = await call.stores.integrations.all({ organisationId, workspaceId: null }, { where: { id } });
  const integrations = new Map(found.map((row) => [row.id, row]));
  return rows.flatMap((row) => {
    const integration = integrations.get(row.integrationId);
    return integration ? [{ row, integration }] : [];
  });
}

/** The integration of a provider. */
export async function integrationOf(call: AdminCall<unknown>, row: ProviderRow): Promise<IntegrationRow> {
  const [joined] = await joinIntegrations(call, [row]);
  return requireFound(joined, "provider").integration;
}

/** Scopes for providers: both families open both paths. */
export const providerAccess = (verb: string) => ({
  keys: "any" as const,
  scopes: [`providers.${verb}`, `virtual_keys.${verb}`],
});

/** A kind of record on the table of providers: each of its paths names all of them. */
export function defineProviderKind(kind: Pick<RecordDeclaration<"providers">, "tag" | "path" | "words" | "audit">) {
  return defineRecord({ ...kind, param: "slug", store: "providers", access: providerAccess, find: findProvider });
}

const query = [{ ...workspaceQuery, description: "Required for keys of the organisation" }];

/** Endpoints both paths have: to list, show and delete. */
export function commonProviderEndpoints(
  kind: ReturnType<typeof defineProviderKind>,
  object: ProviderObject,
): AdminEndpoint[] {
  return [
    kind.list({
      response: ProviderList,
      ofWorkspaces: "Required for keys of the organisation",
      tenant: requireWorkspace,
      show: async (rows, call) => showProviders(await joinIntegrations(call, rows), object, call),
    }),
    kind.show({
      query,
      response: ProviderRecord,
      async show({ row }, call) {
        const [shown] = await showProviders(await joinIntegrations(call, [row]), object, call);
        return requireFound(shown, "provider");
      },
    }),
    kind.remove({
      query,
      async after(call, { row }) {
        const own = await integrationOf(call, row);
        if (!own.isPrivate) return [];
        return [removeSecrets(call, own), call.stores.integrations.remove(tenantOf(own), ownOf(own))];
      },
    }),
  ];
}

async function createProvider(call: AdminCall<CreateProvider>, { tenant, id, slug }: NewPlace<"providers">) {
  const { body, stores, now } = call;
  const found = await stores.integrations.get(tenant, body.integration_id, { includeOrganisation: true });
  const isUsable = found?.status === "active" && !found.isPrivate && (await mayUse(call, tenant, found));
  const { id: integrationId, aiProviderId } = requireReferenced(isUsable ? found : undefined, "integration_id");
  if (isPartnerOnly(call, aiProviderId))
    refuseField("integration_id", `has no models: ${aiProviderId} serves guardrails`);
  const columns = toNewProvider({ ...body, integrationId }, now);
  return { answer: { id, slug, object: "provider" as const }, columns };
}

async function updateProvider({ body, now }: AdminCall<UpdateProvider>, { row }: Found<"providers">) {
  const columns = { name: body.name, ...toProviderChanges(body, now, row) };
  return { answer: { id: row.id, slug: row.slug }, columns };
}

const providers = defineProviderKind({
  tag: "Providers",
  path: "/v1/providers",
  words: { one: "a provider", many: "providers" },
  audit: "providers",
});

/** Endpoints of providers: integrations as one workspace uses them. */
export const providerEndpoints: readonly AdminEndpoint[] = [
  ...commonProviderEndpoints(providers, "provider"),
  providers.create({
    body: CreateProvider,
    response: CreatedProvider,
    slug: { letters: 24 },
    decide: createProvider,
  }),
  providers.change({ body: UpdateProvider, response: UpdatedProvider, decide: updateProvider }),
];
