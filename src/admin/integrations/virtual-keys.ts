import type { AdminEndpoint } from "../../endpoint.ts";
import type { VirtualKeyField } from "../../providers/core/settings.ts";
import { CreatedVirtualKey, CreateVirtualKey, UpdateVirtualKey } from "../../schemas/integrations.ts";
import { NoContent } from "../../schemas/objects.ts";
import type { AdminCall } from "../core/endpoint.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { refuseField } from "../core/request.ts";
import { createIntegrationRows, requireKnownProvider, updateIntegrationRows } from "./integration-records.ts";
import { toNewProvider, toProviderChanges } from "./provider-rows.ts";
import { commonProviderEndpoints, defineProviderKind, integrationOf } from "./providers.ts";

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

async function createVirtualKey(call: AdminCall<CreateVirtualKey>, { tenant, slug }: NewPlace<"providers">) {
  const { body, now } = call;
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
  return {
    answer: { success: true as const, data: { slug } },
    before: integration.statements,
    columns: toNewProvider({ ...body, integrationId: integration.id }, now),
  };
}

async function updateVirtualKey(call: AdminCall<UpdateVirtualKey>, { row }: Found<"providers">) {
  const { body, now } = call;
  const integration = await integrationOf(call, row);
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
  const own = integration.isPrivate
    ? { name: body.name, ...credentials, paramOf: (path: string) => fields.get(path)?.field ?? path }
    : undefined;
  return {
    answer: {},
    columns: { name: body.name, ...toProviderChanges(body, now, row) },
    statements: own ? await updateIntegrationRows(call, integration, own) : [],
  };
}

const virtualKeys = defineProviderKind({
  tag: "Virtual keys",
  path: "/v1/virtual-keys",
  words: { one: "a virtual key", many: "virtual keys" },
  audit: "virtual_keys",
});

/** Endpoints of virtual keys: providers under the name older clients know, with their own credentials. */
export const virtualKeyEndpoints: readonly AdminEndpoint[] = [
  ...commonProviderEndpoints(virtualKeys, "virtual-key"),
  virtualKeys.create({
    body: CreateVirtualKey,
    response: CreatedVirtualKey,
    slug: { letters: 24 },
    decide: createVirtualKey,
  }),
  virtualKeys.change({ body: UpdateVirtualKey, response: NoContent, decide: updateVirtualKey }),
];
