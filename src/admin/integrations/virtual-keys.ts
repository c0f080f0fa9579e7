import type { AdminEndpoint } from "../../endpoint.ts";
import { CreateVirtualKey, UpdateVirtualKey } from "../../schemas/integrations.ts";
import { type AdminCall, defineWrite } from "../core/endpoint.ts";
import { refuseField, requireWorkspace } from "../core/request.ts";
import {
  createIntegrationRows,
  namedWorkspace,
  requireKnownProvider,
  updateIntegrationRows,
} from "./integration-records.ts";
import { createProviderRow, toProviderChanges } from "./provider-rows.ts";
import { commonProviderEndpoints, findProvider, providerAccess } from "./providers.ts";

/** Settings of a virtual key by their names in `configurations`. */
const settingNames = {
  custom_host: "custom_host",
  aws_access_key_id: "awsAccessKeyId",
  aws_secret_access_key: "awsSecretAccessKey",
  aws_region: "awsRegion",
  vertex_project_id: "vertexProjectId",
  vertex_region: "vertexRegion",
  workers_ai_account_id: "workersAiAccountId",
  azure_resource_name: "resourceName",
} as const;

/** How providers authenticate virtual keys, which do not set it themselves. */
const authenticationOf: Readonly<Record<string, Record<string, string>>> = {
  "azure-openai": { azure_auth_mode: "default" },
  bedrock: { aws_auth_type: "accessKey" },
  sagemaker: { aws_auth_type: "accessKey" },
  "vertex-ai": { vertex_auth_type: "basic" },
};

/** How messages name a configuration of a virtual key. */
function paramOf(path: string): string {
  const name = Object.hasOwn(settingNames, path) ? settingNames[path as keyof typeof settingNames] : path; // it is in the table
  return path.startsWith("azure_deployment_config") ? "deploymentConfig" : name;
}

/** Deployments as integrations have them; a virtual key may name one only. */
function readDeployments(body: UpdateVirtualKey): unknown {
  const { deploymentConfig, deploymentName, apiVersion } = body;
  const toDeployment = ({ alias, is_default, ...item }: NonNullable<typeof deploymentConfig>[number]) => ({
    alias: alias ?? item.deploymentName,
    azure_api_version: item.apiVersion,
    azure_deployment_name: item.deploymentName,
    azure_model_slug: alias ?? item.deploymentName,
    is_default: is_default ?? false,
  });
  if (deploymentConfig) return deploymentConfig.map(toDeployment);
  if (!deploymentName && !apiVersion) return undefined;
  if (!deploymentName) return refuseField("deploymentName", "must be given with apiVersion");
  if (!apiVersion) return refuseField("apiVersion", "must be given with deploymentName");
  return [toDeployment({ deploymentName, apiVersion, is_default: true })];
}

/** Settings of a virtual key, as `configurations`. */
function readSettings(body: UpdateVirtualKey): Record<string, unknown> {
  const named = Object.entries(settingNames).map(([path, name]) => [path, body[name] === "" ? null : body[name]]);
  const settings = Object.fromEntries([...named, ["azure_deployment_config", readDeployments(body)]]);
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

async function createVirtualKey(call: AdminCall<CreateVirtualKey>) {
  const { body } = call;
  const tenant = await requireWorkspace(call, namedWorkspace(call));
  const aiProviderId = requireKnownProvider(call, body.provider, "provider");
  const own = Object.hasOwn(authenticationOf, aiProviderId) ? authenticationOf[aiProviderId] : {};
  const integration = await createIntegrationRows(call, tenant, {
    name: body.name,
    slug: `private-${crypto.randomUUID()}`,
    isPrivate: true,
    aiProviderId,
    paramOf,
    key: body.key,
    configurations: { ...own, ...readSettings(body) },
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
  const settings = readSettings(body);
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
  const changes = { name: body.name, ...toProviderChanges(body, now), lastUpdatedAt: now };
  const own = integration.isPrivate ? { name: body.name, ...credentials, paramOf } : undefined;
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
    audit: { resource, action: "create" },
    body: CreateVirtualKey,
    handle: createVirtualKey,
  }),
  defineWrite({
    ...row,
    method: "PUT",
    path: "/v1/virtual-keys/:slug",
    summary: "Change a virtual key",
    access: providerAccess("update"),
    audit: { resource, action: "update" },
    body: UpdateVirtualKey,
    handle: updateVirtualKey,
  }),
];
