import * as v from "valibot";
import { type Refuse, refuseWith } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { bearer } from "../core/headers.ts";
import { addressSetting, placeSetting, type Requirements, secretSetting } from "../core/settings.ts";
import { requestToken, type TokenRequest } from "../core/token-request.ts";
import type { AuthTools, SignableRequest } from "../core/types.ts";
import { isSwitchedOn, requireIdentity } from "./identity.ts";

/** An Entra tenant's id or domain, or an application id; none of them can change a path. */
const Identifier = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9.-]{0,254}$/, "must be an id or a domain name"));
const identifier = v.optional(Identifier);
/** The tenant is part of the token URL. */
const tenant = v.optional(addressSetting(Identifier));
const scope = v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,500}$/, "must be one scope")));

/** Settings that select the identity for Azure. */
export const azureAuthEntries = {
  ad_token: v.optional(secretSetting(v.string())),
  auth_mode: v.optional(
    v.picklist(
      ["default", "entra", "managed", "workload", "entraFederated"],
      "must be default, entra, managed, workload or entraFederated",
    ),
  ),
  entra_tenant_id: tenant,
  entra_client_id: identifier,
  entra_client_secret: v.optional(secretSetting(v.string())),
  entra_scope: scope,
  managed_client_id: identifier,
  workload_client_id: identifier,
  workload_tenant_id: tenant,
};

/** What is needed of them. */
export const azureRequirements: Pick<Requirements, "credentials" | "mode"> = {
  mode: {
    setting: "azure_auth_mode",
    integrations: {
      default: ["key"],
      entra: ["azure_entra_tenant_id", "azure_entra_client_id", "azure_entra_client_secret"],
    },
    keyless: ["entra", "managed", "workload", "entraFederated"],
    ofVirtualKeys: "default",
  },
  credentials: [["azure_ad_token"]],
};

/** Members of configs and integrations that were made for other gateways. */
export const unreadAzureMembers = {
  azure_region: placeSetting(v.unknown()),
  azure_deployment_type: v.unknown(),
  azure_endpoint_name: placeSetting(v.unknown()),
};

export type AzureAuthSettings = v.InferOutput<v.ObjectSchema<typeof azureAuthEntries, undefined>>;

const defaultScope = "https://cognitiveservices.azure.com/.default";
const defaultAuthority = "https://login.microsoftonline.com/";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Azure's own hosts: the gateway's identity is sent to no other host. */
const serviceHosts = /\.(?:openai\.azure|cognitiveservices\.azure|services\.ai\.azure)\.(?:com|us|cn)$/;

const refuse: Refuse = refuseWith("invalid_header");

function requireSetting(value: string | undefined, name: string, mode: string): string {
  return value || refuse(`Cannot use azure_auth_mode ${mode}: set azure_${name}`, `x-gateway-azure-${dashed(name)}`);
}

function dashed(name: string): string {
  return name.replaceAll("_", "-");
}

/** Rejects other hosts for the operator's identity: they could steal its tokens. */
function requireServiceHost({ url }: SignableRequest, mode: string): void {
  const host = URL.parse(url)?.hostname ?? "";
  if (url.startsWith("https://") && serviceHosts.test(host)) return;
  refuse(`Cannot use azure_auth_mode ${mode} here: ${host} is not an Azure host`, "x-gateway-azure-auth-mode");
}

function tokenUrl(tenant: string, authority = defaultAuthority): string {
  return `${authority.replace(/\/*$/, "/")}${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
}

/** Client credentials of an application (https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow). */
async function entraToken(settings: AzureAuthSettings, tools: AuthTools): Promise<string> {
  const tenant = requireSetting(settings.entra_tenant_id, "entra_tenant_id", "entra");
  const client = requireSetting(settings.entra_client_id, "entra_client_id", "entra");
  const secret = requireSetting(settings.entra_client_secret, "entra_client_secret", "entra");
  const wanted = settings.entra_scope ?? defaultScope;
  const key = [...tools.tenant, "entra", tenant, client, await sha256Hex(secret), wanted];
  const fields = { grant_type: "client_credentials", client_id: client, client_secret: secret, scope: wanted };
  const url = tokenUrl(tenant, tools.environment.AZURE_AUTHORITY_HOST);
  const request: TokenRequest = { url, origin: "fixed", fields, param: "azure_entra_tenant_id" };
  return tools.tokens.get(key, () => requestToken(request, tools));
}

/** The application and tenant a platform token is exchanged for, each with its setting. */
function federatedClient(mode: "workload" | "entraFederated", settings: AzureAuthSettings, tools: AuthTools) {
  const { AZURE_CLIENT_ID, AZURE_TENANT_ID } = tools.environment;
  const prefix = mode === "workload" ? "workload" : "entra";
  const client = mode === "workload" ? settings.workload_client_id : settings.entra_client_id;
  const tenant = mode === "workload" ? settings.workload_tenant_id : settings.entra_tenant_id;
  return {
    client: requireSetting(client ?? AZURE_CLIENT_ID, `${prefix}_client_id`, mode),
    tenant: requireSetting(tenant ?? AZURE_TENANT_ID, `${prefix}_tenant_id`, mode),
  };
}

/**
 * The exchange of a platform token for an Entra token
 * (https://learn.microsoft.com/entra/workload-id/workload-identity-federation).
 */
async function federatedToken(
  mode: "workload" | "entraFederated",
  settings: AzureAuthSettings,
  tools: AuthTools,
): Promise<string> {
  const { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_AUTHORITY_HOST: authority } = tools.environment;
  const { readFile } = tools;
  if (!file || !readFile) {
    refuse(
      `Cannot use azure_auth_mode ${mode}: AZURE_FEDERATED_TOKEN_FILE is not set on this gateway`,
      "x-gateway-azure-auth-mode",
    );
  }
  const { client, tenant } = federatedClient(mode, settings, tools);
  const wanted = settings.entra_scope ?? defaultScope;
  return tools.tokens.get([...tools.tenant, mode, tenant, client, wanted], async () => {
    const fields = {
      grant_type: "client_credentials",
      client_id: client,
      scope: wanted,
      client_assertion_type: assertionType,
      client_assertion: (await readFile(file)).trim(),
    };
    const url = tokenUrl(tenant, authority);
    return requestToken({ url, origin: "fixed", fields, param: "azure_workload_tenant_id" }, tools);
  });
}

/**
 * The instance metadata service, for machines without a platform identity endpoint
 * (https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token).
 */
const instanceTokens = "http://169.254.169.254/metadata/identity/oauth2/token";

/**
 * The request for a managed identity token: to the platform's endpoint
 * (https://learn.microsoft.com/azure/app-service/overview-managed-identity), else to the instance metadata service.
 */
function managedService({ environment }: AuthTools) {
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: secret, AZURE_INSTANCE_METADATA: isInstance } = environment;
  if (endpoint && secret) return { endpoint, version: "2019-08-01", headers: { "x-identity-header": secret } };
  if (isSwitchedOn(isInstance)) {
    return { endpoint: instanceTokens, version: "2018-02-01", headers: { metadata: "true" } };
  }
  return refuse(
    "Cannot use azure_auth_mode managed: this gateway has neither IDENTITY_ENDPOINT nor AZURE_INSTANCE_METADATA; use entra or workload",
    "x-gateway-azure-auth-mode",
  );
}

/** The token of a managed identity; the same for every caller that may use it. */
async function managedToken({ managed_client_id: client }: AzureAuthSettings, tools: AuthTools): Promise<string> {
  const { endpoint, version, headers } = managedService(tools);
  const query = new URLSearchParams({ "api-version": version, resource: "https://cognitiveservices.azure.com/" });
  if (client) query.set("client_id", client);
  const request: TokenRequest = {
    url: `${endpoint}?${query}`,
    origin: "fixed",
    method: "GET",
    param: "x-gateway-azure-auth-mode",
    headers,
  };
  return tools.tokens.get(["operator", "azure-managed", endpoint, client ?? ""], () => requestToken(request, tools));
}

/** The token to use instead of the key; undefined when the key is used. */
function tokenOf(
  request: SignableRequest,
  settings: AzureAuthSettings,
  tools: AuthTools,
): Promise<string> | string | undefined {
  const { ad_token: given, auth_mode: mode } = settings;
  if (given) return given.replace(/^bearer /i, "");
  if (mode === undefined || mode === "default") return undefined;
  if (mode === "entra") return entraToken(settings, tools);
  requireServiceHost(request, mode);
  requireIdentity(tools, "x-gateway-azure-auth-mode");
  return mode === "managed" ? managedToken(settings, tools) : federatedToken(mode, settings, tools);
}

/**
 * Headers that authorise a call to Azure: an Entra token where the settings contain or select one, else the key.
 *
 * @param toKeyHeaders Returns the headers that carry a key.
 * @throws {InvalidRequestError} If settings of the mode are missing, or the mode is not available here.
 */
export async function authorizeAzure(
  request: SignableRequest,
  settings: AzureAuthSettings,
  { tools, toKeyHeaders }: { tools: AuthTools; toKeyHeaders: (key: string) => Record<string, string> },
): Promise<Record<string, string>> {
  const token = await tokenOf(request, settings, tools);
  if (token !== undefined) return bearer(token);
  return request.credential === undefined ? {} : toKeyHeaders(request.credential);
}
