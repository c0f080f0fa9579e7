import type { Services } from "../context.ts";
import type { UsableIntegration } from "../control/provider-library.ts";
import { CleanStrings } from "../guardrails/clean-strings.ts";
import { toCredentials } from "../guardrails/partners/forms.ts";
import { createChecks } from "../guardrails/registry.ts";
import { createGuardrails, type Guardrails } from "../guardrails/state.ts";
import type { Authorization, CheckTools, CredentialQuery } from "../guardrails/types.ts";
import { randomBytes } from "../lib/hash.ts";
import { parseJson } from "../lib/json.ts";
import { createAwsAuthorize } from "../providers/auth/aws.ts";
import { authorizeAzure } from "../providers/auth/azure.ts";
import { tokensOfCall } from "../providers/core/token-cache.ts";
import type { AuthTools } from "../providers/core/types.ts";
import { type GatewayOptions, warnOf } from "./options.ts";

/** Organisation and workspace of a check's tenant. */
function readTenant(tenant: string): [organisationId: string, workspaceId: string | null] {
  const parts = parseJson(tenant);
  const [organisation, workspace] = Array.isArray(parts) ? parts : [];
  return [String(organisation ?? ""), typeof workspace === "string" ? workspace : null];
}

/** Whether a query may use an integration: the workspace's own, one shared with it, or any of the organisation for its guardrails. */
function mayUse({ integration, access }: UsableIntegration, { isOrganisations }: CredentialQuery): boolean {
  if (integration.status !== "active" || integration.isPrivate) return false;
  if (isOrganisations) return integration.workspaceId === null;
  return integration.workspaceId !== null || access?.enabled === true;
}

/** The integration a query names or, without a name, the only one: the workspace's own before those it shares. */
function choose(list: readonly UsableIntegration[], { name }: CredentialQuery): UsableIntegration | undefined {
  const own = list.filter(({ integration }) => integration.workspaceId !== null);
  if (name !== undefined) {
    const isNamed = ({ integration }: UsableIntegration) => integration.slug === name || integration.id === name;
    return own.find(isNamed) ?? list.find(isNamed);
  }
  const near = own.length > 0 ? own : list;
  return near.length === 1 ? near[0] : undefined;
}

async function findCredentials(query: CredentialQuery, { control, providerRules }: Services) {
  const [organisationId, workspaceId] = readTenant(query.tenant);
  if (workspaceId === null) return undefined;
  const view = await control.directory.workspace({ organisationId, workspaceId });
  const slugs = [query.partner, providerRules.aliases.get(query.partner)];
  const usable = (view?.integrations ?? []).filter(
    (one) => slugs.includes(one.integration.aiProviderId) && mayUse(one, query),
  );
  const chosen = choose(usable, query);
  return chosen && toCredentials(query.partner, await control.credentials.of(chosen));
}

/** How a request of a partner is signed with a cloud's identity. */
type Authorize = NonNullable<CheckTools["authorize"]>;

/** Makes the headers that sign a request. */
type Sign = (
  request: Parameters<Authorize>[1],
  credentials: Parameters<Authorize>[2]["credentials"],
  tools: AuthTools,
) => Promise<Record<string, string>>;

const signAws = createAwsAuthorize({ provider: "bedrock", service: "bedrock" });

const signers: Readonly<Record<Parameters<Authorize>[0], Sign>> = {
  async aws(request, credentials, tools) {
    const { awsAuthType, awsRegion = "us-east-1", apiKey } = credentials;
    const settings = {
      region: awsRegion,
      access_key_id: credentials.awsAccessKeyId,
      secret_access_key: credentials.awsSecretAccessKey,
      session_token: credentials.awsSessionToken,
      // the schema of the credentials allows these alone
      auth_type: awsAuthType as "accessKey" | "assumedRole" | "serviceRole" | "apiKey" | undefined,
      role_arn: credentials.awsRoleArn,
      external_id: credentials.awsExternalId,
    };
    const signable = { ...request, credential: apiKey };
    const signed = await signAws(signable, settings, tools);
    return Object.keys(signed).length > 0 || apiKey === undefined ? signed : { authorization: `Bearer ${apiKey}` };
  },
  azure(request, credentials, tools) {
    const { azureAuthMode, apiKey } = credentials;
    const settings: Parameters<typeof authorizeAzure>[1] = {
      ad_token: undefined,
      auth_mode: azureAuthMode === "entra" || azureAuthMode === "managed" ? azureAuthMode : "default",
      entra_tenant_id: credentials.azureEntraTenantId,
      entra_client_id: credentials.azureEntraClientId,
      entra_client_secret: credentials.azureEntraClientSecret,
      entra_scope: undefined,
      managed_client_id: credentials.azureManagedClientId,
      workload_client_id: undefined,
      workload_tenant_id: undefined,
    };
    return authorizeAzure({ ...request, credential: apiKey }, settings, {
      tools,
      toKeyHeaders: (key): Record<string, string> => ({ "ocp-apim-subscription-key": key }),
    });
  },
};

/** Signs a request of a partner, and notes the tokens it uses. */
async function authorize(
  [kind, request, { credentials, tenant }]: Parameters<Authorize>,
  { authTools }: Services,
): Promise<Authorization> {
  const tokens = tokensOfCall(authTools.tokens, undefined);
  const tools = { ...authTools, tokens, tenant: readTenant(tenant).map(String) };
  const headers = await signers[kind](request, credentials, tools);
  return { headers, refuse: () => tokens.used.map((one) => tokens.refuse(one)).includes(true) };
}

/** What checks of partners use of the gateway: credentials of integrations, and the identities of clouds. */
function createPartnerTools(services: () => Services): Pick<CheckTools, "findCredentials" | "authorize"> {
  return {
    findCredentials: (query) => findCredentials(query, services()),
    authorize: (...asked) => authorize(asked, services()),
  };
}

/** The guardrails, whose checks may use what the gateway stores. */
export function createOwnGuardrails(
  options: GatewayOptions,
  { outbound, clock, services }: Pick<Services, "outbound" | "clock"> & { services(): Services },
): Guardrails {
  return createGuardrails(
    createChecks({
      outbound,
      clock,
      model: options.guardrailModel ?? {},
      isOwnCredential: (credential) => services().oauth.isOwnCredential(credential),
      ...createPartnerTools(services),
    }),
    warnOf(options),
    options.createMac && new CleanStrings(options.createMac(randomBytes(32))),
  );
}
