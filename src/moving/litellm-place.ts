import { isObject, stringOf } from "../lib/json.ts";
import { awsKindOf, needsVersion, withVersion } from "./addresses.ts";
import { type MoveDraft, membersOf } from "./draft.ts";
import { needsNoKey } from "./litellm-names.ts";
import type { Source } from "./source.ts";

type Fields = Record<string, unknown>;

/** How values name variables. */
export const variable = /^os\.environ\/([A-Za-z_]\w*)$/;

/** The version of Azure's API where the configuration states none. */
const azureVersion = "2024-10-21";

/** How an address in a variable must change. */
const addVersion = "its value must end with /v1";

/** Settings that LiteLLM reads from variables alone. */
const accounts: Readonly<Record<string, Fields>> = {
  "workers-ai": { workers_ai_account_id: { $env: "CLOUDFLARE_ACCOUNT_ID" } },
  cortex: { snowflake_account: { $env: "SNOWFLAKE_ACCOUNT_ID" } },
};

/** A value as text, or the variable that it names. */
function textOf(value: unknown): unknown {
  const named = typeof value === "string" ? variable.exec(value)?.[1] : undefined;
  if (named !== undefined) return { $env: named };
  return value === undefined || value === null || typeof value === "object" ? undefined : String(value);
}

/** The address of a provider whose server the operator runs, where the configuration states none. */
function defaultBase(prefix: string): unknown {
  if (prefix.startsWith("ollama")) return "http://localhost:11434";
  return needsNoKey.has(prefix) ? { $env: `${prefix.toUpperCase()}_API_BASE` } : undefined;
}

/** Headers with a value that can be sent. */
function headersOf(value: unknown): Fields | undefined {
  const headers = Object.entries(membersOf(value)).map(([name, one]) => [name, textOf(one)] as const);
  const isWhole = isObject(value) && headers.every(([, one]) => one !== undefined);
  return isWhole ? Object.fromEntries(headers) : undefined;
}

/** A provider and its model. */
export interface Named {
  readonly slug: string;
  readonly prefix: string;
  readonly model: string;
}

/** Reads where deployments are, and what they authenticate with. */
export class PlaceReader {
  readonly #draft: MoveDraft;
  /** Deployments of Azure by the integration that has them: they are added at the end, so that they share it. */
  readonly #deployments = new Map<string, Map<string, Fields>>();

  constructor(draft: MoveDraft) {
    this.#draft = draft;
  }

  #secret(params: Source, member: string, name: string): unknown {
    return params.read(member, (value) => this.#draft.secret(value, variable, name));
  }

  /** Settings of an integration that differ by provider. */
  #settingsOf({ slug, prefix }: Named, params: Source): Fields {
    if (slug === "azure-openai") return this.#azure(params);
    const base = params.read("api_base", textOf) ?? params.read("base_url", textOf) ?? defaultBase(prefix);
    if (slug === "azure-ai") return { azure_auth_mode: "default", azure_foundry_url: base };
    if (slug === "bedrock" || slug === "sagemaker") return { custom_host: base, ...this.#aws(params) };
    if (slug === "vertex-ai") return { custom_host: base, ...this.#vertex(params) };
    if (slug === "databricks") return { databricks_workspace: this.#databricks(base, params.path) };
    if (slug !== "anthropic") return { custom_host: base, ...accounts[slug] };
    if (needsVersion(slug, base)) this.#draft.note("changed", `${params.path}.api_base`, addVersion);
    return { custom_host: withVersion(slug, typeof base === "string" ? base.replace(/\/messages\/?$/, "") : base) };
  }

  #azure(params: Source): Fields {
    const base = params.read("api_base", textOf) ?? params.read("base_url", textOf);
    const token = this.#secret(params, "azure_ad_token", "AZURE_AD_TOKEN");
    const secret = this.#secret(params, "client_secret", "AZURE_CLIENT_SECRET");
    return {
      azure_auth_mode: secret === undefined ? "default" : "entra",
      ...this.#azureAddress(base, params.path),
      azure_ad_token: token,
      ...(secret !== undefined && {
        azure_entra_tenant_id: params.read("tenant_id", textOf),
        azure_entra_client_id: params.read("client_id", textOf),
        azure_entra_client_secret: secret,
      }),
    };
  }

  #databricks(base: unknown, path: string): unknown {
    const host = typeof base === "string" ? /^https?:\/\/([^/]+)/.exec(base)?.[1] : undefined;
    if (host !== undefined) return host;
    this.#draft.note("changed", `${path}.api_base`, "set DATABRICKS_WORKSPACE to the host of the workspace");
    return { $env: "DATABRICKS_WORKSPACE" };
  }

  #azureAddress(base: unknown, path: string): Fields {
    if (isObject(base)) {
      const name = `${String(base.$env)}_RESOURCE`;
      this.#draft.note("changed", `${path}.api_base`, `set ${name} to the resource alone, the first part of its host`);
      return { azure_resource_name: { $env: name } };
    }
    const address = String(base ?? "");
    const resource = /^https?:\/\/([a-z0-9-]+)\./i.exec(address)?.[1];
    if (resource === undefined) return { azure_resource_name: { $env: "AZURE_API_BASE_RESOURCE" } };
    const isStandard = /^https:\/\/[a-z0-9-]+\.openai\.azure\.com\/?$/i.test(address);
    const host = `${address.replace(/\/+$/, "").replace(/\/openai(?:\/v1)?$/, "")}/openai`;
    return { azure_resource_name: resource, ...(!isStandard && { custom_host: host }) };
  }

  #aws(params: Source): Fields {
    const id = this.#secret(params, "aws_access_key_id", "AWS_ACCESS_KEY_ID");
    const role = params.read("aws_role_name", textOf);
    const kind = awsKindOf(id, role, params.has("api_key"));
    // names of sessions are for the records of AWS alone
    params.ignore("aws_session_name");
    return {
      aws_auth_type: kind,
      aws_region: params.read("aws_region_name", textOf) ?? params.read("region_name", textOf) ?? "us-east-1",
      aws_access_key_id: id ?? (kind === "accessKey" ? { $env: "AWS_ACCESS_KEY_ID" } : undefined),
      aws_secret_access_key:
        this.#secret(params, "aws_secret_access_key", "AWS_SECRET_ACCESS_KEY") ??
        (kind === "accessKey" ? { $env: "AWS_SECRET_ACCESS_KEY" } : undefined),
      aws_session_token: this.#secret(params, "aws_session_token", "AWS_SESSION_TOKEN"),
      aws_role_arn: kind === "assumedRole" ? role : undefined,
      aws_external_id: kind === "assumedRole" ? params.read("aws_external_id", textOf) : undefined,
    };
  }

  #vertex(params: Source): Fields {
    const credentials = params.read("vertex_credentials", (value) =>
      isObject(value) ? JSON.stringify(value) : stringOf(value),
    );
    const isInline =
      typeof credentials === "string" && (variable.test(credentials) || credentials.trim().startsWith("{"));
    if (!isInline) {
      const file = credentials ?? "the file of GOOGLE_APPLICATION_CREDENTIALS";
      const how = "put the content of the file into the variable VERTEX_CREDENTIALS";
      this.#draft.note("changed", `${params.path}.vertex_credentials: ${file}`, how);
    }
    const json = isInline
      ? this.#draft.secret(credentials, variable, "VERTEX_CREDENTIALS")
      : { $env: "VERTEX_CREDENTIALS" };
    return {
      vertex_auth_type: "serviceAccount",
      vertex_region: params.read("vertex_location", textOf) ?? params.read("region_name", textOf) ?? "us-central1",
      vertex_project_id: params.read("vertex_project", textOf),
      vertex_service_account_json: json,
    };
  }

  /** The variable of LiteLLM for the key of a deployment that states none. */
  #defaultKey({ slug, prefix }: Named, { azure_auth_mode: mode, azure_ad_token: token }: Fields): unknown {
    const isOther = needsNoKey.has(prefix) || ["bedrock", "sagemaker", "vertex-ai"].includes(slug);
    if (isOther || mode === "entra" || token !== undefined) return undefined;
    return { $env: `${prefix.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_API_KEY` };
  }

  /**
   * The integration of a deployment.
   *
   * @param base What a deployment of Azure is one of.
   */
  read(named: Named, params: Source, more: { organization?: unknown; base?: string | undefined }): string {
    const { slug, prefix, model } = named;
    const organization = slug === "openai" && { openai_organization: textOf(more.organization) };
    const settings: Fields = { ...this.#settingsOf(named, params), ...organization };
    const configurations = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
    const headers = { ...params.read("headers", headersOf), ...params.read("extra_headers", headersOf) };
    const key = this.#secret(params, "api_key", `${prefix}_API_KEY`) ?? this.#defaultKey(named, configurations);
    const found = this.#draft.integration(slug, {
      ...(key !== undefined && { key }),
      configurations: { ...configurations, ...(Object.keys(headers).length > 0 && { custom_headers: headers }) },
    });
    if (slug === "azure-openai") {
      const deployments = this.#deployments.get(found) ?? new Map<string, Fields>();
      const one = {
        alias: model,
        azure_deployment_name: model,
        azure_model_slug: more.base ?? model,
        azure_api_version: params.read("api_version", textOf) ?? azureVersion,
      };
      this.#deployments.set(found, deployments.set(model, one));
    }
    return found;
  }

  /** Gives integrations their deployments. */
  finish(): void {
    for (const [slug, deployments] of this.#deployments) {
      this.#draft.extend(slug, (fields) => ({
        ...fields,
        configurations: {
          ...membersOf(fields.configurations),
          azure_deployment_config: [...deployments.values()],
        },
      }));
    }
  }
}
