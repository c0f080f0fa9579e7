import * as v from "valibot";
import { parseJson } from "../lib/json.ts";

/** One field of an integration's `configurations`, by its path. */
export interface ConfigurationMember {
  schema: v.GenericSchema;
  /** It is sealed and shown masked. Settings of a provider are marked where it declares them. */
  secret?: true;
  /** It says where requests go. Settings of a provider are marked where it declares them. */
  shapesAddress?: true;
  /** An address the gateway will call: a base address, or a complete URL. */
  address?: "base" | "url";
}

/** Fields of `configurations` for a family of providers, besides declared settings. */
export interface ProviderFamily {
  members: Readonly<Record<string, ConfigurationMember>>;
  /** Required paths; `key` is the integration's key. */
  required: readonly string[];
  /** Further required fields, depending on the value of one field. */
  choice?: { member: string; required: Readonly<Record<string, readonly string[]>> };
}

const text = (maximum: number) =>
  v.pipe(
    v.string("must be a string"),
    v.minLength(1, "must not be empty"),
    v.maxLength(maximum, `must have at most ${maximum} characters`),
    v.check((value) => !value.includes("\0"), "must not contain the character U+0000"),
  );
const choice = (...values: [string, ...string[]]) => v.picklist(values, `must be one of ${values.join(", ")}`);

const plain: ConfigurationMember = { schema: text(1024) };
const identifier: ConfigurationMember = { schema: text(255) };
const long: ConfigurationMember = { schema: text(16_384) };
const hostLabel: ConfigurationMember = {
  schema: v.pipe(
    v.string("must be a string"),
    v.regex(/^[a-z0-9-]{1,63}$/, "must be 1 to 63 lower-case letters, digits or hyphens"),
  ),
};
const baseAddress: ConfigurationMember = { schema: text(2048), address: "base" };
const apiVersion: ConfigurationMember = { schema: text(30) };

function isServiceAccount(value: unknown): boolean {
  const account = typeof value === "string" ? parseJson(value) : value;
  return typeof account === "object" && account !== null && "private_key" in account && "client_email" in account;
}

/** A service account key, as JSON text or as the object itself. */
const serviceAccount: ConfigurationMember = {
  schema: v.pipe(
    v.unknown(),
    v.check(isServiceAccount, "must be the JSON of a service account key"),
    v.check((value) => JSON.stringify(value).length <= 16_384, "must have at most 16384 characters"),
  ),
};

/** Fields of every integration, whatever its provider. Header values in `custom_headers` are validated separately. */
export const commonMembers: Readonly<Record<string, ConfigurationMember>> = {
  custom_host: baseAddress,
  "oauth.token_url": { schema: text(2048), address: "url" },
  "oauth.client_id": plain,
  "oauth.client_secret": { ...long, secret: true },
  "oauth.scope": plain,
  "oauth.audience": plain,
  "oauth.auth_method": { schema: choice("basic", "post") },
};

/** Required fields of `oauth`. */
export const requiredOfOauth: readonly string[] = ["oauth.token_url", "oauth.client_id", "oauth.client_secret"];

const azureModes = ["default", "entra", "managed", "workload", "entraFederated"] as const;
const azureMembers: ProviderFamily["members"] = {
  azure_auth_mode: { schema: choice(...azureModes) },
  azure_entra_tenant_id: identifier,
  azure_entra_client_id: identifier,
  azure_entra_client_secret: long,
  azure_managed_client_id: identifier,
  azure_workload_client_id: identifier,
  azure_workload_tenant_id: identifier,
  azure_entra_scope: plain,
  azure_ad_token: long,
};
const azureChoice: NonNullable<ProviderFamily["choice"]> = {
  member: "azure_auth_mode",
  required: {
    default: ["key"],
    entra: ["azure_entra_tenant_id", "azure_entra_client_id", "azure_entra_client_secret"],
  },
};
const azureDeployments: ConfigurationMember = {
  schema: v.pipe(
    v.array(
      v.looseObject(
        {
          alias: v.nullish(text(255)),
          azure_api_version: text(30),
          azure_deployment_name: text(255),
          azure_model_slug: text(255),
          is_default: v.nullish(v.boolean("must be true or false")),
        },
        "must be an object with its members",
      ),
      "must be a list",
    ),
    v.minLength(1, "must have at least 1 entry"),
    v.maxLength(100, "must have at most 100 entries"),
  ),
};

const awsFamily: ProviderFamily = {
  members: {
    aws_auth_type: { schema: choice("accessKey", "assumedRole", "apiKey") },
    aws_region: hostLabel,
    aws_access_key_id: long,
    aws_secret_access_key: long,
    aws_session_token: long,
    aws_role_arn: plain,
    aws_external_id: plain,
  },
  required: ["aws_auth_type", "aws_region"],
  choice: {
    member: "aws_auth_type",
    required: {
      accessKey: ["aws_access_key_id", "aws_secret_access_key"],
      assumedRole: ["aws_role_arn"],
      apiKey: ["key"],
    },
  },
};

const sagemakerMembers = [
  "custom_attributes",
  "target_model",
  "target_variant",
  "target_container_hostname",
  "inference_id",
  "enable_explanations",
  "inference_component",
  "session_id",
  "model_name",
];

const keyless: ProviderFamily = { members: {}, required: [] };
const huggingFace: ProviderFamily = { members: { huggingface_base_url: baseAddress }, required: ["key"] };

/** Families with additional fields, by provider id. */
export const providerFamilies: ReadonlyMap<string, ProviderFamily> = new Map(
  Object.entries<ProviderFamily>({
    openai: { members: { openai_organization: identifier, openai_project: identifier }, required: ["key"] },
    "azure-openai": {
      members: { ...azureMembers, azure_resource_name: hostLabel, azure_deployment_config: azureDeployments },
      required: ["azure_auth_mode", "azure_resource_name", "azure_deployment_config"],
      choice: azureChoice,
    },
    "azure-ai": {
      members: {
        ...azureMembers,
        azure_foundry_url: baseAddress,
        azure_api_version: apiVersion,
        azure_deployment_name: identifier,
        azure_extra_params: { schema: choice("drop", "pass-through", "error") },
        provider_responses_proxy: { schema: v.boolean("must be true or false") },
      },
      required: ["azure_auth_mode", "azure_foundry_url"],
      choice: azureChoice,
    },
    bedrock: awsFamily,
    sagemaker: {
      ...awsFamily,
      members: {
        ...awsFamily.members,
        ...Object.fromEntries(sagemakerMembers.map((name) => [`amzn_sagemaker_${name}`, plain])),
      },
    },
    "vertex-ai": {
      members: {
        vertex_auth_type: { schema: choice("basic", "serviceAccount") },
        vertex_region: hostLabel,
        vertex_project_id: identifier,
        vertex_service_account_json: serviceAccount,
      },
      required: ["vertex_auth_type", "vertex_region"],
      choice: {
        member: "vertex_auth_type",
        required: { basic: ["vertex_project_id", "key"], serviceAccount: ["vertex_service_account_json"] },
      },
    },
    "workers-ai": { members: { workers_ai_account_id: identifier }, required: ["workers_ai_account_id", "key"] },
    huggingface: huggingFace,
    "hugging-face": huggingFace,
    cortex: {
      members: {
        snowflake_account: {
          schema: v.pipe(
            v.string("must be a string"),
            v.regex(
              /^[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,3}$/,
              "must be 1 to 4 host labels joined with dots",
            ),
          ),
        },
        snowflake_token_type: { schema: choice("KEYPAIR_JWT", "OAUTH", "PROGRAMMATIC_ACCESS_TOKEN") },
      },
      required: ["snowflake_account", "key"],
    },
    databricks: {
      members: {
        databricks_workspace: plain,
        databricks_serving_endpoint_name: identifier,
        databricks_client_id: plain,
        databricks_client_secret: long,
      },
      required: [],
    },
    oracle: {
      members: {
        oracle_region: hostLabel,
        oracle_api_version: apiVersion,
        oracle_compartment_id: identifier,
        oracle_serving_mode: { schema: choice("ON_DEMAND", "DEDICATED") },
        oracle_api_format: { schema: choice("GENERIC", "COHERE", "COHEREV2") },
        oracle_tenancy: identifier,
        oracle_user: identifier,
        oracle_fingerprint: identifier,
        oracle_private_key: long,
        oracle_key_passphrase: long,
      },
      required: ["oracle_tenancy", "oracle_user", "oracle_fingerprint"],
    },
    anthropic: {
      members: { anthropic_inspect_stream_for_overloaded_error: { schema: v.boolean("must be true or false") } },
      required: ["key"],
    },
    "reka-ai": { members: { reka_format: { schema: choice("openai", "conversation") } }, required: ["key"] },
    ollama: keyless,
    echo: keyless,
  }),
);

/** The family of providers without additional fields. */
export const otherFamily: ProviderFamily = { members: {}, required: ["key"] };

/** Providers that integrations may use, besides those built in. */
export const namedProviders: ReadonlySet<string> = new Set([
  ...providerFamilies.keys(),
  "ai21",
  "anyscale",
  "cohere",
  "deepinfra",
  "fireworks-ai",
  "google",
  "groq",
  "jina",
  "lingyi",
  "mistral-ai",
  "monsterapi",
  "moonshot",
  "nomic",
  "novita-ai",
  "open-ai",
  "openrouter",
  "palm",
  "perplexity-ai",
  "predibase",
  "reka-ai",
  "segmind",
  "stability-ai",
  "together-ai",
  "zhipu",
]);
