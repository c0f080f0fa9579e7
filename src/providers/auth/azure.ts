import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { bearer } from "../core/headers.ts";
import { addressSetting, secretSetting } from "../core/settings.ts";
import { requestToken, type TokenRequest } from "../core/token-request.ts";
import type { AuthTools, SignableRequest } from "../core/types.ts";
import { isSwitchedOn, requireIdentity } from "./identity.ts";

/** Id or domain of an Entra tenant, id of an application: never a path of their own. */
const Identifier = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9.-]{0,254}$/, "must be an id or a domain name"));
const identifier = v.optional(Identifier);
/** A tenant stands in the address tokens are asked for at. */
const tenant = v.optional(addressSetting(Identifier));
const scope = v.optional(v.pipe(v.string(), v.regex(/^[\x21-\x7e]{1,500}$/, "must be one scope")));

/** Settings that say who calls Azure. */
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
export type AzureAuthSettings = v.InferOutput<v.ObjectSchema<typeof azureAuthEntries, undefined>>;

const defaultScope = "https://cognitiveservices.azure.com/.default";
const defaultAuthority = "https://login.microsoftonline.com/";
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Hosts Microsoft itself answers at; the gateway's own identity is shown to no other. */
const serviceHosts = /\.(?:openai\.azure|cognitiveservices\.azure|services\.ai\.azure)\.(?:com|us|cn)$/;

function refuse(message: string, param: string): never {
  throw new InvalidRequestError(message, { param, code: "invalid_header" });
}

function requireSetting(value: string | undefined, name: string, mode: string): string {
  return value || refuse(`Cannot use azure_auth_mode ${mode}: give azure_${name}`, `x-gateway-azure-${dashed(name)}`);
}

function dashed(name: string): string {
  return name.replaceAll("_", "-");
}

/** The operator's own identity goes only where its tokens cannot be taken away. */
function requireServiceHost({ url }: SignableRequest, mode: string): void {
  const host = URL.parse(url)?.hostname ?? "";
  if (url.startsWith("https://") && serviceHosts.test(host)) return;
  refuse(`Cannot use azure_auth_mode ${mode} here: ${host} is not a host of Azure's own`, "x-gateway-azure-auth-mode");
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

/** Which application and tenant a token of the platform stands for, each with the setting that may name it. */
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

/** A token of the platform in exchange (https://learn.microsoft.com/entra/workload-id/workload-identity-federation). */
async function federatedToken(
  mode: "workload" | "entraFederated",
  settings: AzureAuthSettings,
  tools: AuthTools,
): Promise<string> {
  const { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_AUTHORITY_HOST: authority } = tools.environment;
  const { readFile } = tools;
  if (!file || !readFile) {
    refuse(
      `Cannot use azure_auth_mode ${mode}: this gateway has no AZURE_FEDERATED_TOKEN_FILE`,
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

/** What gives the tokens of managed identities where there is no service of the platform's own (https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token). */
const instanceTokens = "http://169.254.169.254/metadata/identity/oauth2/token";

/** How a managed identity is asked for: of the platform (https://learn.microsoft.com/azure/app-service/overview-managed-identity), else of the instance. */
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

/** The token of a managed identity: the same for all who may use it. */
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

/** The token that stands in place of a key; undefined where the key is used. */
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
 * Headers that authorise a call to Azure: an Entra token where the settings give or name one, else the key.
 *
 * @param toKeyHeaders Headers that carry a key.
 * @throws {InvalidRequestError} If settings of the mode are missing, or the mode cannot be used here.
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
