/** Settings with which a provider can be called, and where those calls may go. */
export interface AddressCase {
  provider: string;
  /** Setting headers without the gateway's prefix. */
  settings: Readonly<Record<string, string>>;
  /** Hosts of its calls; a setting stands there as labels and nothing else. */
  hosts: RegExp;
  /** How the paths of its calls begin. */
  prefix: string;
  model?: string;
  credential?: string;
}

const label = "[a-z0-9-]{1,63}";
const host = (...forms: readonly string[]) => new RegExp(`^(?:${forms.join("|").replaceAll(".", "\\.")})$`);
/** A host whose form holds labels of a caller. */
const labelled = (...forms: readonly string[]) =>
  new RegExp(`^(?:${forms.map((form) => form.replaceAll(".", "\\.").replaceAll("LABEL", label)).join("|")})$`);

/** A key made for the tests, in PEM form. */
async function createPem(): Promise<string> {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  };
  const { privateKey } = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey));
  const lines = btoa(String.fromCharCode(...bytes)).match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----"].join("\n");
}

const pem = await createPem();

/** A key file of Google with a member of the caller's choice. */
export function serviceAccount(members: Readonly<Record<string, string>> = {}): string {
  return JSON.stringify({ client_email: "a@b.example", private_key: pem, ...members });
}

const awsKeys = { "aws-access-key-id": "AKIDEXAMPLE", "aws-secret-access-key": "example" };
const awsRole = { ...awsKeys, "aws-auth-type": "assumedRole", "aws-role-arn": "arn:aws:iam::123456789012:role/a" };
const entra = {
  "azure-auth-mode": "entra",
  "azure-entra-tenant-id": "acme.example",
  "azure-entra-client-id": "app",
  "azure-entra-client-secret": "example",
};
const sts = "sts.LABEL.amazonaws.com";
const login = "login.microsoftonline.com";
const deployment = { "azure-resource-name": "acme", "azure-deployment-id": "chat", "azure-api-version": "2024-10-21" };

const azureOpenai = {
  provider: "azure-openai",
  settings: deployment,
  prefix: "/openai/",
  credential: "provider-key",
  hosts: labelled("LABEL.openai.azure.com", login),
};
const aws = (provider: string, hosts: readonly string[], more: Partial<AddressCase> = {}): AddressCase[] =>
  [{ settings: {}, credential: "provider-key" }, { settings: awsKeys }, { settings: awsRole }].map((one) => ({
    provider,
    hosts: labelled(...hosts, sts),
    prefix: "/",
    ...one,
    ...more,
  }));
const vertex = {
  provider: "vertex-ai",
  hosts: labelled(
    "texttospeech.googleapis.com",
    "aiplatform.googleapis.com",
    "LABEL-aiplatform.googleapis.com",
    "aiplatform.us.rep.googleapis.com",
    "aiplatform.eu.rep.googleapis.com",
    "oauth2.googleapis.com",
    "oauth2.mtls.googleapis.com",
    "www.googleapis.com",
    "accounts.google.com",
    "discoveryengine.googleapis.com",
  ),
  prefix: "/v1",
  credential: "ya29.token",
};
const databricks = {
  provider: "databricks",
  hosts: labelled(
    "LABEL.cloud.databricks.com",
    "LABEL.LABEL.cloud.databricks.com",
    "LABEL.azuredatabricks.net",
    "LABEL.LABEL.azuredatabricks.net",
    "LABEL.gcp.databricks.com",
    "LABEL.LABEL.gcp.databricks.com",
  ),
  prefix: "/",
};
const snowflake = ".snowflakecomputing.com";
const labels = (count: number) => Array.from({ length: count }, () => "LABEL").join(".");

/** Providers whose settings have a part in their addresses. */
export const shapedCases: readonly AddressCase[] = [
  azureOpenai,
  { ...azureOpenai, settings: { ...deployment, ...entra } },
  { ...azureOpenai, settings: { "azure-resource-name": "acme", "azure-api-version": "v1" } },
  ...aws("bedrock", [
    "bedrock-runtime.LABEL.amazonaws.com",
    "bedrock.LABEL.amazonaws.com",
    "bedrock-agent-runtime.LABEL.amazonaws.com",
  ]),
  {
    provider: "novita-ai",
    settings: {},
    hosts: host("api.novita.ai"),
    prefix: "/",
    credential: "provider-key",
  },
  {
    provider: "deepinfra",
    settings: {},
    hosts: host("api.deepinfra.com"),
    prefix: "/v1/",
    credential: "provider-key",
  },
  ...aws("bedrock-mantle", ["bedrock-mantle.LABEL.api.aws"]),
  ...aws("claude-platform-aws", ["aws-external-anthropic.LABEL.api.aws"], { prefix: "/v1/" }),
  ...aws("sagemaker", ["runtime.sagemaker.LABEL.amazonaws.com"], { prefix: "/endpoints/" }),
  {
    provider: "cortex",
    settings: { "snowflake-account": "acme-eu" },
    prefix: "/api/v2/",
    hosts: labelled(...[1, 2, 3, 4].map((count) => labels(count) + snowflake)),
  },
  { ...databricks, settings: { "databricks-workspace": "acme" } },
  {
    ...databricks,
    settings: {
      "databricks-workspace": "acme.azuredatabricks.net",
      "databricks-serving-endpoint-name": "chat",
      "databricks-client-id": "app",
      "databricks-client-secret": "example",
    },
  },
  {
    provider: "oracle",
    hosts: labelled("inference.generativeai.LABEL.oci.oraclecloud.com"),
    prefix: "/",
    settings: {
      "oracle-region": "us-chicago-1",
      "oracle-tenancy": "ocid1.tenancy",
      "oracle-user": "ocid1.user",
      "oracle-fingerprint": "aa:bb",
      "oracle-private-key": pem.replaceAll("\n", "\\n"),
    },
  },
  { ...vertex, settings: {}, credential: "AIzaExample" },
  { ...vertex, settings: { "vertex-project-id": "acme", "vertex-region": "europe-west1" } },
  { ...vertex, settings: { "vertex-service-account-json": serviceAccount({ project_id: "acme" }) } },
  {
    provider: "workers-ai",
    settings: { "workers-ai-account-id": "0123abc" },
    hosts: host("api.cloudflare.com"),
    prefix: "/client/v4/accounts/",
  },
  { provider: "byteplus", settings: {}, hosts: labelled("ark.LABEL.bytepluses.com"), prefix: "/api/v3/" },
];

/** Settings that name a whole address. They may lead to any public host, and why. */
export const openAddresses: Readonly<Record<string, string>> = {
  "azure-foundry-url": "resources, projects and sovereign clouds of Foundry have hosts of many domains",
  "huggingface-base-url": "dedicated endpoints stand where their owner wants them, with http inside a mesh",
  "custom-host": "it is what the header is for",
  oauth: "its token_url is that of the caller's own identity provider",
};

/** Providers that are called at an address of the caller's. */
export const openCases: readonly AddressCase[] = [
  {
    provider: "azure-ai",
    hosts: /^/,
    prefix: "/",
    credential: "provider-key",
    settings: { "azure-foundry-url": "https://acme.services.ai.azure.com/models", "azure-api-version": "2024-05-01" },
  },
  {
    provider: "azure-ai",
    hosts: /^/,
    prefix: "/",
    credential: "provider-key",
    settings: { "azure-foundry-url": "https://acme.services.ai.azure.com/anthropic", ...entra },
  },
  { provider: "huggingface", settings: {}, hosts: /^/, prefix: "/", credential: "provider-key" },
];
