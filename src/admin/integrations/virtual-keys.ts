import type { AdminEndpoint } from "../../endpoint.ts";
import type { VirtualKeyField } from "../../providers/core/settings.ts";
import { CreatedVirtualKey, CreateVirtualKey, UpdateVirtualKey } from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import { type AdminCall, type AnswerOf, defineWrite, type Outcome } from "../core/endpoint.ts";
import { namedWorkspace, refuseField, requireWorkspace } from "../core/request.ts";
import { createIntegrationRows, requireKnownProvider, updateIntegrationRows } from "./integration-records.ts";
import { createProviderRow, toProviderChanges } from "./provider-rows.ts";
import { commonProviderEndpoints, findProvider, providerAccess } from "./providers.ts";

type Fields = ReadonlyMap<string, VirtualKeyField>;

/**
 * Fields of a virtual key by the configuration each sets. They include those of other providers: a given one is refused as
 * a setting the provider does not have.
 */
function fieldsOf(aiProviderId: string, { context: { services } }: AdminCall<unknown>): Fields {
  const own = Object.entries(services.providers.get(aiProviderId)?.virtualKeyFields ?? {});
  const ownFields = new Set(own.map(([, { field }]) => field));
  const others = [...services.providerRules.virtualKeyFields].filter(([, { field }]) => !ownFields.has(field));
  return new Map([["custom_host", { field: "custom_host" }], ...others, ...own]);
}

/** The fields of a virtual key; a single deployment becomes a list of one. */
function withDeployments(body: UpdateVirtualKey): Readonly<Record<string, unknown>> {
  const { deploymentConfig, deploymentName, apiVersion } = body;
  if (deploymentConfig || (!deploymentName && !apiVersion))
    return { ...body, deploymentConfig: deploymentConfig ?? undefined };
  if (!deploymentName) return refuseField("deploymentName", "must be given with apiVersion");
  if (!apiVersion) return refuseField("apiVersion", "must be given with deploymentName");
  return { ...body, deploymentConfig: [{ deploymentName, apiVersion, is_default: true }] };
}

/** Settings of a virtual key, as `configurations`. */
function readSettings(given: UpdateVirtualKey, fields: Fields): Record<string, unknown> {
  const body = withDeployments(given);
  const settings = Array.from(fields, ([path, { field, convert = asIs }]): [string, unknown] => {
    const value = body[field] === "" ? null : body[field];
    return [path, value === undefined || value === null ? value : convert(value)];
  });
  return Object.fromEntries(settings.filter(([, value]) => value !== undefined));
}

const asIs = (value: unknown): unknown => value;

/** How a provider authenticates virtual keys, which do not set it themselves. */
function authenticationOf(aiProviderId: string, { context: { services } }: AdminCall<unknown>): Record<string, string> {
  const { mode } = services.providers.get(aiProviderId)?.requirements ?? {};
  return mode?.ofVirtualKeys === undefined ? {} : { [mode.setting]: mode.ofVirtualKeys };
}

async function createVirtualKey(
  call: AdminCall<CreateVirtualKey>,
): Promise<Outcome<AnswerOf<typeof CreatedVirtualKey>>> {
  const { body } = call;
  const tenant = await requireWorkspace(call, namedWorkspace(call));
  const aiProviderId = requireKnownProvider(call, body.provider, "provider");
  const fields = fieldsOf(aiProviderId, call);
  const integration = await createIntegrationRows(call, tenant, {
    name: body.name,
    slug: `private-${crypto.randomUUID()}`,
    isPrivate: true,
    aiProviderId,
    paramOf: (path) => fields.get(path)?.field ?? path,
    key: body.key,
    configurations: { ...authenticationOf(aiProviderId, call), ...readSettings(body, fields) },
    secretMappings: body.secret_mappings,
  });
  const provider = createProviderRow(call, tenant, { ...body, integrationId: integration.id });
  return {
    answer: { success: true, data: { slug: provider.slug } },
    recordId: provider.id,
    statements: [...integration.statements, provider.statement],
  };
}

async function updateVirtualKey(call: AdminCall<UpdateVirtualKey>) {
  const { body, stores, now } = call;
  const { row, tenant, integration } = await findProvider(call);
  const fields = fieldsOf(integration.aiProviderId, call);
  const settings = readSettings(body, fields);
  const credentials = {
    key: body.key,
    secretMappings: body.secret_mappings,
    configurations: Object.keys(settings).length > 0 ? settings : undefined,
  };
  const [changed] = Object.entries(credentials).find(([, value]) => value !== undefined) ?? [];
  if (changed !== undefined && !integration.isPrivate) {
    refuseField(
      changed === "secretMappings" ? "secret_mappings" : changed,
      "belongs to the integration: change it there",
    );
  }
  const changes = { name: body.name, ...toProviderChanges(body, now, row), lastUpdatedAt: now };
  const own = integration.isPrivate
    ? { name: body.name, ...credentials, paramOf: (path: string) => fields.get(path)?.field ?? path }
    : undefined;
  return {
    answer: {},
    recordId: row.id,
    statements: [
      stores.providers.update(tenant, { id: row.id }, changes),
      ...(own ? await updateIntegrationRows(call, integration, own) : []),
    ],
  };
}

const row = { tag: "Virtual keys" };
const resource = "virtual_keys";

/** Endpoints of virtual keys: providers under the name older clients know, with their own credentials. */
export const virtualKeyEndpoints: readonly AdminEndpoint[] = [
  ...commonProviderEndpoints("/v1/virtual-keys", { ...row, noun: "virtual key", object: "virtual-key", resource }),
  defineWrite({
    ...row,
    method: "POST",
    path: "/v1/virtual-keys",
    summary: "Create a virtual key",
    access: providerAccess("create"),
    audit: { resource, action: "create", store: "providers" as const },
    body: CreateVirtualKey,
    response: CreatedVirtualKey,
    handle: createVirtualKey,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: "/v1/virtual-keys/:slug",
    summary: "Change a virtual key",
    access: providerAccess("update"),
    audit: { resource, action: "update", store: "providers" as const },
    body: UpdateVirtualKey,
    response: NoContent,
    handle: updateVirtualKey,
  }),
];
