import { isObject, stringOf } from "../lib/json.ts";
import { builtInProviders } from "../providers/registry.ts";
import { awsKindOf, needsVersion, withVersion } from "./addresses.ts";
import { clientScopes, MoveDraft, type Moved, mayStay, membersOf, type Reasons, resetOf } from "./draft.ts";
import { Source } from "./source.ts";

// Form: https://docs.getbifrost.ai/deployment-guides/config-json

type Fields = Record<string, unknown>;

/** How values name variables. */
const variable = /^env\.([A-Za-z_]\w*)$/;

/** Our slugs of providers, where they differ. */
const slugs: Readonly<Record<string, string>> = {
  azure: "azure-openai",
  vertex: "vertex-ai",
  mistral: "mistral-ai",
  gemini: "google",
  xai: "x-ai",
  perplexity: "perplexity-ai",
  fireworks: "fireworks-ai",
  vllm: "openai",
  sgl: "openai",
  nvidia: "nvidia-nim",
};

const builtIn = new Set(builtInProviders.map(({ slug }) => slug));

/** Our slug of a provider, or of the one whose requests it takes; undefined for one of which nothing is known. */
function slugOf(provider: string, fields: Source): string | undefined {
  const base = fields.object("custom_provider_config").text("base_provider_type");
  const slug = slugs[base ?? provider] ?? (base ?? provider).replaceAll("_", "-");
  return builtIn.has(slug) ? slug : undefined;
}

const ownSettings = "set it by variables of the gateway: docs/configuration.md";
const guardrails = "save guardrails: docs/guardrails.md";
const control = "make it by the control plane: docs/control-plane.md";

const reasons: Reasons = {
  left: {
    client: ownSettings,
    server: ownSettings,
    websocket: ownSettings,
    framework: "prices of models: docs/costs.md",
    vector_store: "semantic cache: docs/semantic-cache.md",
    plugins:
      "the semantic cache, spans and guardrails are settings: docs/cache.md, docs/observability.md, docs/guardrails.md",
    guardrails_config: guardrails,
    auth_config: "users sign in to the console: docs/console.md",
    routing_rules: "conditions of a config: docs/routing.md",
    customers: control,
    teams: control,
    team_id: "keys belong to the workspace: docs/control-plane.md",
    customer_id: "keys belong to the workspace: docs/control-plane.md",
    mcp_configs: "who may use which tools: docs/mcp.md",
    provider_configs: "restrict names by access of model aliases: docs/model-aliases.md",
    blacklisted_models: "block models of the integration: docs/control-plane.md",
    proxy_config: "OUTBOUND_PROXY: docs/configuration.md",
    tools_to_execute: "allow tools one by one: docs/mcp.md",
    tools_to_auto_execute: "clients run tools: docs/mcp.md",
    use_for_batch_api: "batches name the provider: docs/batches.md",
  },
  made: {
    config_store: "the gateway has its database: docs/storage.md",
    logs_store: "the gateway has its database: docs/storage.md",
    encryption_key: "the gateway has master keys: docs/operations.md",
  },
};

/** A text, or the variable that it names: also in the form of the API, with `value` and `env_var`. */
function textOf(value: unknown): unknown {
  const { value: text, env_var: name, from_env } = membersOf(value);
  if (from_env === true && typeof name === "string") return { $env: name.replace(/^env\./, "") };
  const plain = stringOf(value) ?? stringOf(text);
  const named = plain === undefined ? undefined : variable.exec(plain)?.[1];
  return named === undefined ? plain : { $env: named };
}

/** An object of strings. */
function stringsOf(value: unknown): Record<string, string> | undefined {
  const entries = Object.entries(membersOf(value)).flatMap(([name, one]) =>
    typeof one === "string" ? [[name, one] as const] : [],
  );
  return isObject(value) && entries.length === Object.keys(value).length ? Object.fromEntries(entries) : undefined;
}

class BifrostReader {
  readonly draft: MoveDraft;
  readonly #listed = new Set<string>();
  /** Integrations of which every model is used, by the provider. */
  readonly #open = new Map<string, string[]>();

  constructor(workspace: string) {
    this.draft = new MoveDraft(workspace);
  }

  #secret(value: unknown, name: string): unknown {
    const text = textOf(value);
    return typeof text === "string" ? this.draft.secret(text, variable, name) : text;
  }

  #secretOf(source: Source, member: string, name: string): unknown {
    return source.read(member, (value) => this.#secret(value, name));
  }

  /** Settings of a key that differ by provider. */
  #placeOf(slug: string, key: Source, name: string): Fields {
    if (slug === "azure-openai") return this.#azure(key, name);
    if (slug === "bedrock" || slug === "bedrock-mantle") {
      const place = key.object(slug === "bedrock" ? "bedrock_key_config" : "bedrock_mantle_key_config");
      const access = this.#secretOf(place, "access_key", `${name}_ACCESS_KEY`);
      const role = place.read("role_arn", textOf);
      const kind = awsKindOf(access, role, key.has("value"));
      return {
        aws_auth_type: kind,
        aws_region: place.read("region", textOf) ?? "us-east-1",
        aws_access_key_id: access ?? (kind === "accessKey" ? { $env: "AWS_ACCESS_KEY_ID" } : undefined),
        aws_secret_access_key:
          this.#secretOf(place, "secret_key", `${name}_SECRET_KEY`) ??
          (kind === "accessKey" ? { $env: "AWS_SECRET_ACCESS_KEY" } : undefined),
        aws_session_token: this.#secretOf(place, "session_token", `${name}_SESSION_TOKEN`),
        aws_role_arn: kind === "assumedRole" ? role : undefined,
      };
    }
    if (slug !== "vertex-ai") return {};
    const place = key.object("vertex_key_config");
    const credentials = this.#secretOf(place, "auth_credentials", `${name}_CREDENTIALS`);
    return {
      vertex_auth_type: "serviceAccount",
      vertex_region: place.read("region", textOf) ?? "us-central1",
      vertex_project_id: place.read("project_id", textOf),
      vertex_service_account_json: credentials ?? { $env: "VERTEX_CREDENTIALS" },
    };
  }

  #azure(key: Source, name: string): Fields {
    const place = key.object("azure_key_config");
    const address = place.read("endpoint", textOf);
    const resource = typeof address === "string" ? /^https?:\/\/([a-z0-9-]+)\./i.exec(address)?.[1] : undefined;
    const version = place.read("api_version", textOf);
    const names = { ...place.read("deployments", stringsOf), ...key.read("aliases", stringsOf) };
    const list = Object.entries(names).map(([alias, deployment]) => ({
      alias,
      azure_deployment_name: deployment,
      azure_model_slug: alias,
      azure_api_version: version ?? "2024-10-21",
    }));
    const variableName = isObject(address) ? `${String(address.$env)}_RESOURCE` : "AZURE_RESOURCE";
    if (resource === undefined) {
      const how = `set ${variableName} to the resource alone, the first part of its host`;
      this.draft.note("changed", `${name}: endpoint`, how);
    }
    const azure_resource_name = resource ?? { $env: variableName };
    return { azure_auth_mode: "default", azure_resource_name, azure_deployment_config: list };
  }

  readProvider(provider: string, fields: Source): void {
    const slug = slugOf(provider, fields);
    if (slug === undefined) {
      fields.skip();
      return void this.draft.note("left", `providers.${provider}`, "nothing is known of the provider");
    }
    const network = fields.object("network_config");
    const seconds = network.number("default_request_timeout_in_seconds");
    const pool = { retries: network.number("max_retries"), ...(seconds && { timeoutMs: seconds * 1_000 }) };
    const base = network.read("base_url", textOf);
    if (needsVersion(slug, base)) this.draft.note("changed", `${network.path}.base_url`, "its value must end with /v1");
    const place = {
      provider,
      slug,
      base: withVersion(slug, base),
      headers: network.read("extra_headers", stringsOf) ?? {},
    };
    const keys = fields.objects("keys");
    for (const [index, key] of (keys.length > 0 ? keys : [new Source({})]).entries()) this.#readKey(place, key, index);
    for (const name of this.draft.deployed) {
      if (!name.startsWith(`${provider}/`) || this.#listed.has(name)) continue;
      this.#listed.add(name);
      this.draft.publish(name, pool);
    }
  }

  #readKey(
    { provider, slug, base, headers }: { provider: string; slug: string; base: unknown; headers: Fields },
    key: Source,
    index: number,
  ): void {
    const name = `${provider}_${key.text("name") ?? index + 1}`;
    key.ignore("id", "description");
    if (key.flag("enabled") === false) {
      key.skip();
      return void this.draft.note("left", `providers.${provider}.keys.${index}`, "is not enabled");
    }
    const names = slug === "azure-openai" ? key.object("azure_key_config").object("deployments").names : [];
    const aliases = key.read("aliases", stringsOf) ?? {};
    const place = { custom_host: base, ...this.#placeOf(slug, key, name) };
    const configurations = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
    const secret = this.#secretOf(key, "value", `${name}_KEY`);
    const integration = this.draft.integration(slug, {
      ...(secret !== undefined && { key: secret }),
      configurations: { ...configurations, ...(Object.keys(headers).length > 0 && { custom_headers: headers }) },
    });
    const models = key.strings("models");
    const own = [...new Set([...models.filter((one) => one !== "*"), ...Object.keys(aliases), ...names])];
    if (own.length === 0 || (models.includes("*") && slug !== "azure-openai")) {
      this.#open.set(provider, [...(this.#open.get(provider) ?? []), integration]);
      this.draft.note(
        "changed",
        `providers.${provider}: models *`,
        `write @${integration}/MODEL, or add a model alias for each ${provider}/MODEL that clients use`,
      );
    }
    const weight = key.number("weight") ?? 1;
    for (const model of own) {
      const target = slug === "azure-openai" ? model : (aliases[model] ?? model);
      this.draft.deploy(`${provider}/${model}`, { integration, model: target, weight, params: {} });
    }
  }

  readGovernance(governance: Source): void {
    const budgets = new Map(governance.objects("budgets").map((one) => [one.text("id"), one]));
    const rates = new Map(governance.objects("rate_limits").map((one) => [one.text("id"), one]));
    for (const key of governance.objects("virtual_keys")) {
      const budget = budgets.get(key.text("budget_id")) ?? key.object("budget");
      this.#readVirtualKey(key, budget, rates.get(key.text("rate_limit_id")) ?? key.object("rate_limit"));
    }
  }

  /** The models that a virtual key may use; undefined for all. */
  #allowedOf(key: Source, name: string): string[] | undefined {
    if (!key.has("provider_configs")) return undefined;
    const allowed = key.objects("provider_configs").flatMap((one) => {
      const provider = one.text("provider") ?? "";
      one.read("key_ids", (value) => (String(value) === "*" ? value : undefined));
      const models = one.strings("allowed_models");
      if (models.length === 0) this.draft.note("left", `key ${name}: ${provider}`, "its list names no model");
      const places = [provider, ...(this.#open.get(provider) ?? []).map((integration) => `@${integration}`)];
      return models.flatMap((model) => places.map((place) => `${place}/${model}`));
    });
    if (allowed.length === 0) this.draft.note("changed", `key ${name}: models`, "it may use none");
    return allowed.length === 0 ? ["none"] : allowed;
  }

  #readVirtualKey(key: Source, budget: Source, rate: Source): void {
    const id = key.text("id");
    const name = key.text("name") ?? id ?? "Bifrost key";
    const text = key.read("value", textOf);
    const stays = typeof text !== "string" ? text !== undefined : mayStay(text);
    const reset = resetOf(budget.text("reset_duration"));
    const max = budget.number("max_limit");
    const limits = [
      ["requests", rate.number("request_max_limit"), rate.text("request_reset_duration")],
      ["tokens", rate.number("token_max_limit"), rate.text("token_reset_duration")],
    ] as const;
    if (key.flag("is_active") === false) {
      key.skip();
      return void this.draft.note("left", `${key.path} ${name}`, "is not active");
    }
    const list = limits.flatMap(([type, most, duration]) => {
      const unit = units[String(duration)];
      if (most !== undefined && unit === undefined)
        this.draft.note("left", `key ${name}: ${type}`, `limits by ${String(duration)} have no counterpart`);
      return most === undefined || unit === undefined ? [] : [{ type, unit, value: most }];
    });
    if (max !== undefined && !reset)
      this.draft.note("changed", `key ${name}: budget`, "does not reset: its duration has no counterpart");
    const description = key.text("description");
    const allowed = this.#allowedOf(key, name);
    this.draft.record("keys", name, {
      scopes: clientScopes,
      ...(allowed && { allowed_models: allowed }),
      ...(description && { description }),
      ...(stays && { key: this.#secret(text, `BIFROST_${name}`) }),
      ...(max !== undefined && { usage_limits: { type: "cost", credit_limit: max, ...reset } }),
      ...(list.length > 0 && { rate_limits: list }),
    });
    this.draft.note(
      stays ? "made" : "changed",
      `key ${name}`,
      stays ? "clients stay: send it in authorization or x-api-key" : "clients get a new key",
    );
  }

  readTools(mcp: Source): void {
    for (const client of mcp.objects("client_configs")) {
      const name = client.text("name") ?? "tools";
      client.ignore("id", "client_id", "is_enabled");
      if (client.flag("is_enabled") === false) {
        client.skip();
        this.draft.note("left", `${client.path} ${name}`, "is not enabled");
        continue;
      }
      const stated = client.read("headers", stringsOf) ?? {};
      const headers = Object.entries(stated).map(([header, one]) => [header, this.#secret(one, `${name}_${header}`)]);
      const url = client.text("connection_string") ?? client.text("http_url") ?? client.text("sse_url");
      const transport = client.text("connection_type");
      this.draft.toolServer(client, { name, url, transport, headers: Object.fromEntries(headers) });
    }
  }
}

/** Units of rate limits by the durations that they stand for. */
const units: Readonly<Record<string, string>> = { "1s": "rps", "1m": "rpm", "1h": "rph", "1d": "rpd", "1w": "rpw" };

/** A `config.json` of Bifrost as declared state. */
export function moveBifrost(value: unknown, workspace: string): Moved {
  const file = new Source(value);
  const reader = new BifrostReader(workspace);
  for (const [provider, fields] of file.object("providers").records) reader.readProvider(provider, fields);
  reader.readGovernance(file.object("governance"));
  reader.readTools(file.object("mcp"));
  file.ignore("$schema", "version");
  reader.draft.noteUnread(file, reasons);
  return reader.draft.finish();
}
