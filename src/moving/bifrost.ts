import { stringOf } from "../lib/json.ts";
import { clientScopes, MoveDraft, type Moved, mayStay, membersOf, numberOf, objectsOf, resetOf } from "./draft.ts";

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
};

/** A text, or the variable that it names: also in the form of the API, with `value` and `env_var`. */
function textOf(value: unknown): unknown {
  const { value: text, env_var: name, from_env } = membersOf(value);
  if (from_env === true && typeof name === "string") return { $env: name.replace(/^env\./, "") };
  const plain = stringOf(value) ?? stringOf(text);
  const named = plain === undefined ? undefined : variable.exec(plain)?.[1];
  return named === undefined ? plain : { $env: named };
}

class BifrostReader {
  readonly draft: MoveDraft;
  readonly #listed = new Set<string>();

  constructor(workspace: string) {
    this.draft = new MoveDraft(workspace);
  }

  #secret(value: unknown, name: string): unknown {
    const text = textOf(value);
    return typeof text === "string" ? this.draft.secret(text, variable, name) : text;
  }

  /** Settings of a key that differ by provider. */
  #placeOf(slug: string, key: Fields, name: string): Fields {
    if (slug === "azure-openai") return this.#azure(membersOf(key.azure_key_config), membersOf(key.aliases), name);
    if (slug === "bedrock") {
      const { access_key, secret_key, region, role_arn } = membersOf(key.bedrock_key_config);
      const kind =
        access_key !== undefined
          ? "accessKey"
          : role_arn !== undefined
            ? "assumedRole"
            : key.value
              ? "apiKey"
              : "serviceRole";
      return {
        aws_auth_type: kind,
        aws_region: textOf(region) ?? "us-east-1",
        aws_access_key_id: this.#secret(access_key, `${name}_ACCESS_KEY`),
        aws_secret_access_key: this.#secret(secret_key, `${name}_SECRET_KEY`),
        aws_role_arn: kind === "assumedRole" ? textOf(role_arn) : undefined,
      };
    }
    if (slug !== "vertex-ai") return {};
    const { project_id, region, auth_credentials } = membersOf(key.vertex_key_config);
    return {
      vertex_auth_type: auth_credentials === undefined ? "default" : "serviceAccount",
      vertex_region: textOf(region) ?? "us-central1",
      vertex_project_id: textOf(project_id),
      vertex_service_account_json: this.#secret(auth_credentials, `${name}_CREDENTIALS`),
    };
  }

  #azure({ endpoint, api_version, deployments }: Fields, aliases: Fields, name: string): Fields {
    const address = textOf(endpoint);
    const resource = typeof address === "string" ? /^https?:\/\/([a-z0-9-]+)\./i.exec(address)?.[1] : undefined;
    const version = textOf(api_version);
    const list = Object.entries({ ...membersOf(deployments), ...aliases }).map(([alias, deployment]) => ({
      alias,
      azure_deployment_name: deployment,
      azure_model_slug: alias,
      azure_api_version: typeof version === "string" ? version : "2024-10-21",
    }));
    if (resource === undefined)
      this.draft.note("changed", `${name}: endpoint`, "set azure_resource_name to its resource");
    return { azure_auth_mode: "default", azure_resource_name: resource ?? address, azure_deployment_config: list };
  }

  readProvider(provider: string, fields: Fields): void {
    const slug = slugs[provider] ?? provider;
    const {
      base_url,
      default_request_timeout_in_seconds: seconds,
      max_retries,
      extra_headers,
    } = membersOf(fields.network_config);
    const pool = { retries: numberOf(max_retries), ...(numberOf(seconds) && { timeoutMs: Number(seconds) * 1_000 }) };
    const keys = objectsOf(fields.keys);
    for (const [index, key] of (keys.length > 0 ? keys : [{}]).entries()) {
      this.#readKey({ provider, slug, base: textOf(base_url), headers: membersOf(extra_headers) }, key, index);
    }
    for (const name of this.draft.deployed) {
      if (!name.startsWith(`${provider}/`) || this.#listed.has(name)) continue;
      this.#listed.add(name);
      this.draft.publish(name, pool);
    }
    for (const name of ["concurrency_and_buffer_size", "proxy_config", "custom_provider_config"]) {
      if (fields[name] !== undefined)
        this.draft.note("left", `providers.${provider}.${name}`, "has no counterpart that could be made of it");
    }
  }

  #readKey(
    { provider, slug, base, headers }: { provider: string; slug: string; base: unknown; headers: Fields },
    key: Fields,
    index: number,
  ): void {
    const name = `${provider}_${stringOf(key.name) ?? index + 1}`;
    const place = { custom_host: base, ...this.#placeOf(slug, key, name) };
    const configurations = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
    const secret = this.#secret(key.value, `${name}_KEY`);
    const integration = this.draft.integration(slug, {
      ...(secret !== undefined && { key: secret }),
      configurations: { ...configurations, ...(Object.keys(headers).length > 0 && { custom_headers: headers }) },
    });
    const models = Array.isArray(key.models) ? key.models.filter((one): one is string => typeof one === "string") : [];
    const own = [...new Set([...models.filter((one) => one !== "*"), ...Object.keys(membersOf(key.aliases))])];
    if (own.length < models.length || own.length === 0) {
      this.draft.note(
        "changed",
        `providers.${provider}: models *`,
        `write @${integration}/MODEL, or add a model alias for each ${provider}/MODEL that clients use`,
      );
    }
    const aliases = slug === "azure-openai" ? {} : membersOf(key.aliases);
    for (const model of own) {
      const target = stringOf(aliases[model]) ?? model;
      this.draft.deploy(`${provider}/${model}`, {
        integration,
        model: target,
        weight: numberOf(key.weight) ?? 1,
        params: {},
      });
    }
  }

  readGovernance(governance: Fields): void {
    const budgets = new Map(objectsOf(governance.budgets).map((one) => [one.id, one]));
    const rates = new Map(objectsOf(governance.rate_limits).map((one) => [one.id, one]));
    for (const key of objectsOf(governance.virtual_keys)) {
      const budget = budgets.get(key.budget_id) ?? objectsOf([key.budget])[0];
      this.#readVirtualKey(key, budget, rates.get(key.rate_limit_id) ?? objectsOf([key.rate_limit])[0]);
    }
    for (const name of Object.keys(governance)) {
      if (!["budgets", "rate_limits", "virtual_keys"].includes(name))
        this.draft.note("left", `governance.${name}`, "make it by the control plane: docs/control-plane.md");
    }
  }

  #readVirtualKey(key: Fields, budget: Fields | undefined, rate: Fields | undefined): void {
    const name = stringOf(key.name) ?? stringOf(key.id) ?? "Bifrost key";
    const text = textOf(key.value);
    const stays = typeof text !== "string" ? text !== undefined : mayStay(text);
    const reset = resetOf(budget?.reset_duration);
    const max = numberOf(budget?.max_limit);
    const limits = [
      ["requests", numberOf(rate?.request_max_limit), rate?.request_reset_duration],
      ["tokens", numberOf(rate?.token_max_limit), rate?.token_reset_duration],
    ] as const;
    const list = limits.flatMap(([type, value, duration]) => {
      const unit = ({ "1m": "rpm", "1h": "rph", "1d": "rpd", "1w": "rpw" } as const)[String(duration) as "1m"];
      if (value !== undefined && unit === undefined)
        this.draft.note("left", `key ${name}: ${type}`, `limits by ${duration} have no counterpart`);
      return value === undefined || unit === undefined ? [] : [{ type, unit, value }];
    });
    if (max !== undefined && !reset)
      this.draft.note("changed", `key ${name}: budget`, "does not reset: its duration has no counterpart");
    if (key.is_active === false) return void this.draft.note("left", `key ${name}`, "is not active");
    this.draft.record("keys", name, {
      scopes: clientScopes,
      ...(stays && { key: this.#secret(key.value, `BIFROST_${name}`) }),
      ...(max !== undefined && { usage_limits: { type: "cost", credit_limit: max, ...reset } }),
      ...(list.length > 0 && { rate_limits: list }),
    });
    this.draft.note(
      stays ? "made" : "changed",
      `key ${name}`,
      stays ? "clients stay: send it in authorization or x-api-key" : "clients get a new key",
    );
    if (objectsOf(key.provider_configs).length > 0) {
      this.draft.note("left", `key ${name}: provider_configs`, "restrict names by access of model aliases");
    }
  }

  readTools(mcp: Fields): void {
    for (const client of objectsOf(mcp.client_configs)) {
      const name = stringOf(client.name) ?? "tools";
      const url = stringOf(client.connection_string);
      const transport = stringOf(client.connection_type);
      if (url === undefined || !/^https?:/.test(url) || (transport !== "http" && transport !== "sse")) {
        this.draft.note("left", `mcp ${name}`, "only servers at an address can be reached: docs/mcp.md");
        continue;
      }
      const slug = name
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, "-")
        .padEnd(3, "-mcp")
        .slice(0, 50);
      const headers = Object.entries(membersOf(client.headers)).map(([header, one]) => [
        header,
        this.#secret(one, `${name}_${header}`),
      ]);
      const configurations = headers.length > 0 ? { custom_headers: Object.fromEntries(headers) } : {};
      this.draft.record("mcp_integrations", slug, {
        name,
        url,
        transport,
        auth_type: headers.length > 0 ? "headers" : "none",
        configurations,
      });
      this.draft.record("mcp_servers", slug, { name, mcp_integration_id: slug });
      this.draft.note("made", `mcp ${name}`, `the MCP server at /m/${slug}/mcp`);
    }
  }
}

/** A `config.json` of Bifrost as declared state. */
export function moveBifrost(file: unknown, workspace: string): Moved {
  const members = membersOf(file);
  const reader = new BifrostReader(workspace);
  for (const [provider, fields] of Object.entries(membersOf(members.providers)))
    reader.readProvider(provider, membersOf(fields));
  reader.readGovernance(membersOf(members.governance));
  reader.readTools(membersOf(members.mcp));
  const read = new Set(["$schema", "providers", "governance", "mcp", "config_store", "logs_store", "encryption_key"]);
  for (const name of Object.keys(members)) {
    if (!read.has(name)) reader.draft.note("left", name, "set it by variables of the gateway: docs/configuration.md");
  }
  return reader.draft.finish();
}
