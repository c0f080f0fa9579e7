import { isObject, stringOf } from "../lib/json.ts";
import {
  clientScopes,
  MoveDraft,
  type Moved,
  mayStay,
  membersOf,
  numberOf,
  objectsOf,
  type Pool,
  resetOf,
} from "./draft.ts";
import { bare, carried, isPlace, knownSlugs, needsNoKey, slugs, unmoved } from "./litellm-names.ts";

// Form: https://docs.litellm.ai/docs/proxy/configs and /docs/proxy/config_settings

type Fields = Record<string, unknown>;

/** How values name variables. */
const variable = /^os\.environ\/([A-Za-z_]\w*)$/;

/** Provider and model of a deployment. */
function readModel(params: Fields): { prefix: string; model: string } | undefined {
  const named = stringOf(params.model);
  if (named === undefined) return undefined;
  const own = stringOf(params.custom_llm_provider);
  if (own !== undefined)
    return { prefix: own, model: named.startsWith(`${own}/`) ? named.slice(own.length + 1) : named };
  const [, prefix, model] = /^([A-Za-z0-9_-]+)\/(.+)$/.exec(named) ?? [];
  const isKnown = prefix !== undefined && (Object.hasOwn(slugs, prefix) || knownSlugs.has(prefix));
  if (isKnown && model !== undefined) return { prefix, model };
  const found = bare.find(([form]) => form.test(named))?.[1];
  if (found !== undefined) return { prefix: found, model: named };
  return params.api_base === undefined ? undefined : { prefix: "openai_like", model: named };
}

/** Reads one file. */
class LitellmReader {
  readonly draft: MoveDraft;
  readonly #settings: Fields;
  readonly #router: Fields;
  readonly #general: Fields;

  constructor(workspace: string, file: Fields) {
    this.draft = new MoveDraft(workspace);
    this.#settings = membersOf(file.litellm_settings);
    this.#router = membersOf(file.router_settings);
    this.#general = membersOf(file.general_settings);
  }

  #secret(value: unknown, name: string): unknown {
    return this.draft.secret(value, variable, name);
  }

  /** Text, or the variable that it names. */
  #text(value: unknown): unknown {
    const named = typeof value === "string" ? variable.exec(value)?.[1] : undefined;
    if (named !== undefined) return { $env: named };
    return value === undefined || value === null ? undefined : (stringOf(value) ?? String(value));
  }

  /** Settings of an integration that differ by provider. */
  #placeOf(slug: string, params: Fields, model: string): Fields {
    const base = this.#text(params.api_base ?? params.base_url);
    if (slug === "azure-openai") return this.#azure(params, model);
    if (slug === "azure-ai") return { azure_auth_mode: "default", azure_foundry_url: base };
    if (slug === "bedrock" || slug === "sagemaker") return this.#aws(params);
    if (slug === "vertex-ai") return this.#vertex(params);
    if (slug === "openai") return { custom_host: base, openai_organization: this.#text(params.organization) };
    return { custom_host: base };
  }

  #azure({ api_base: base, api_version: version, tenant_id, client_id, client_secret }: Fields, model: string): Fields {
    const address = stringOf(base) ?? "";
    const resource = /^https?:\/\/([a-z0-9-]+)\./i.exec(address)?.[1];
    const isStandard = /^https:\/\/[a-z0-9-]+\.openai\.azure\.com\/?$/i.test(address);
    const hasClient = client_secret !== undefined;
    return {
      azure_auth_mode: hasClient ? "entra" : "default",
      azure_resource_name: resource ?? this.#text(base),
      ...(!isStandard &&
        resource !== undefined && { custom_host: `${address.replace(/\/+$/, "").replace(/\/openai$/, "")}/openai` }),
      ...(hasClient && {
        azure_entra_tenant_id: this.#text(tenant_id),
        azure_entra_client_id: this.#text(client_id),
        azure_entra_client_secret: this.#secret(client_secret, "AZURE_CLIENT_SECRET"),
      }),
      azure_deployment_config: [
        {
          alias: model,
          azure_deployment_name: model,
          azure_model_slug: model,
          azure_api_version: stringOf(version) && !variable.test(String(version)) ? version : "2024-10-21",
        },
      ],
    };
  }

  #aws(params: Fields): Fields {
    const {
      aws_access_key_id: id,
      aws_secret_access_key: secret,
      aws_region_name: region,
      aws_role_name: role,
    } = params;
    const kind =
      id !== undefined
        ? "accessKey"
        : role !== undefined
          ? "assumedRole"
          : params.api_key !== undefined
            ? "apiKey"
            : "serviceRole";
    return {
      aws_auth_type: kind,
      aws_region: this.#text(region ?? params.region_name) ?? "us-east-1",
      ...(id !== undefined && { aws_access_key_id: this.#secret(id, "AWS_ACCESS_KEY_ID") }),
      ...(secret !== undefined && { aws_secret_access_key: this.#secret(secret, "AWS_SECRET_ACCESS_KEY") }),
      ...(kind === "assumedRole" && { aws_role_arn: this.#text(role) }),
    };
  }

  #vertex({ vertex_project: project, vertex_location: region, vertex_credentials: credentials }: Fields): Fields {
    const isInline =
      typeof credentials === "string" && (variable.test(credentials) || credentials.trim().startsWith("{"));
    if (typeof credentials === "string" && !isInline) {
      this.draft.note(
        "changed",
        `vertex_credentials: ${credentials}`,
        "put the content of the file into the variable VERTEX_CREDENTIALS",
      );
    }
    const json = isInline ? this.#secret(credentials, "VERTEX_CREDENTIALS") : { $env: "VERTEX_CREDENTIALS" };
    return {
      vertex_auth_type: credentials === undefined ? "default" : "serviceAccount",
      vertex_region: this.#text(region) ?? "us-central1",
      ...(project !== undefined && { vertex_project_id: this.#text(project) }),
      ...(credentials !== undefined && { vertex_service_account_json: json }),
    };
  }

  /** The integration of a deployment. */
  #integrationOf(slug: string, prefix: string, { params, model }: { params: Fields; model: string }): string {
    const { azure_deployment_config: deployments, ...place } = this.#placeOf(slug, params, model);
    const configurations = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined));
    const headers = membersOf(params.extra_headers);
    const key =
      this.#secret(params.api_key, `${prefix}_API_KEY`) ??
      (needsNoKey.has(prefix) ||
      slug === "bedrock" ||
      slug === "vertex-ai" ||
      configurations.azure_auth_mode === "entra"
        ? undefined
        : { $env: `${prefix.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_API_KEY` });
    const found = this.draft.integration(slug, {
      ...(key !== undefined && { key }),
      configurations: { ...configurations, ...(Object.keys(headers).length > 0 && { custom_headers: headers }) },
    });
    if (deployments) this.#addDeployment(found, objectsOf(deployments));
    return found;
  }

  #addDeployment(slug: string, added: readonly Fields[]): void {
    this.#deployments.set(slug, [...(this.#deployments.get(slug) ?? []), ...added]);
  }

  /** Deployments of Azure by the integration that has them: they are added at the end, so that they share it. */
  readonly #deployments = new Map<string, Fields[]>();

  readModel(entry: Fields, index: number): void {
    const name = stringOf(entry.model_name) ?? "";
    const params = membersOf(entry.litellm_params);
    const what = `model_list.${index} ${name}`;
    const read = readModel(params);
    if (!read) return void this.draft.note("left", what, `nothing is known of the provider of ${String(params.model)}`);
    const { prefix, model } = read;
    const slug = slugs[prefix] ?? prefix;
    const integration = this.#integrationOf(slug, prefix, { params, model });
    if (name.includes("*")) {
      return void this.draft.note(
        "changed",
        what,
        `names with * cannot be listed: write @${integration}/MODEL, or add a model alias for each`,
      );
    }
    this.#price(integration, model, { ...membersOf(entry.model_info), ...params });
    for (const param of ["rpm", "tpm"]) {
      if (params[param] !== undefined)
        this.draft.note("changed", `${what}: ${param}`, "is the weight of the deployment, and no limit");
    }
    const own = Object.entries(params).filter(([param]) => !isPlace(param));
    const weight = numberOf(params.weight) ?? numberOf(params.rpm) ?? numberOf(params.tpm) ?? 1;
    this.draft.deploy(name, { integration, model, weight, params: Object.fromEntries(own) });
  }

  /** Prices of a model: LiteLLM has dollars a token, integrations US cents. */
  #price(
    integration: string,
    model: string,
    { input_cost_per_token: input, output_cost_per_token: output }: Fields,
  ): void {
    const [request, response] = [numberOf(input), numberOf(output)];
    if (request === undefined && response === undefined) return;
    const price = {
      ...(request !== undefined && { request_token: { price: request * 100 } }),
      ...(response !== undefined && { response_token: { price: response * 100 } }),
    };
    this.draft.extend(integration, ({ models, ...fields }) => ({
      ...fields,
      models: { ...membersOf(models), [model]: { pricing_config: { type: "static", pay_as_you_go: price } } },
    }));
  }

  #fallbacksOf(name: string): string[] {
    const { fallbacks = this.#settings.fallbacks, default_fallbacks = this.#settings.default_fallbacks } = this.#router;
    const own = objectsOf(fallbacks).flatMap((one) => one[name] ?? []);
    const found = own.length > 0 ? own : Array.isArray(default_fallbacks) ? default_fallbacks : [];
    return found.flat().filter((other): other is string => typeof other === "string" && other !== name);
  }

  /** Makes the names of models. */
  publish(): void {
    for (const [slug, list] of this.#deployments) {
      const unique = new Map(list.map((one) => [one.azure_deployment_name, one]));
      this.draft.extend(slug, (fields) => ({
        ...fields,
        configurations: { ...membersOf(fields.configurations), azure_deployment_config: [...unique.values()] },
      }));
    }
    const timeout = numberOf(this.#router.timeout ?? this.#settings.request_timeout);
    const cache = membersOf(this.#settings.cache_params);
    const pool: Pool = {
      retries: numberOf(this.#router.num_retries ?? this.#settings.num_retries),
      ...(timeout !== undefined && { timeoutMs: timeout * 1_000 }),
      ...(this.#settings.cache === true && { cacheSeconds: numberOf(cache.ttl) ?? 600 }),
    };
    for (const name of this.draft.deployed) this.draft.publish(name, { ...pool, fallbacks: this.#fallbacksOf(name) });
    const groups = membersOf(this.#router.model_group_alias ?? this.#settings.model_alias_map);
    for (const [name, target] of Object.entries(groups)) {
      const from = isObject(target) ? stringOf(target.model) : stringOf(target);
      if (from !== undefined) this.draft.publish(name, { ...pool, fallbacks: this.#fallbacksOf(from) }, from);
    }
  }

  /** Settings besides the models. */
  readSettings(): void {
    const { draft } = this;
    const budget = numberOf(this.#settings.max_budget);
    if (budget !== undefined) {
      const duration = this.#settings.budget_duration;
      const limit = { type: "cost", credit_limit: budget, ...resetOf(duration) };
      draft.field("usage_limits", limit);
      draft.note("made", "litellm_settings.max_budget", "the budget of the workspace");
    }
    this.#readMasterKey(this.#general.master_key);
    const strategy = stringOf(this.#router.routing_strategy);
    if (strategy !== undefined && strategy !== "simple-shuffle") {
      draft.note("changed", `router_settings.routing_strategy: ${strategy}`, "pools choose by weight");
    }
    const groups: [string, Fields][] = [
      ["litellm_settings", this.#settings],
      ["router_settings", this.#router],
      ["general_settings", this.#general],
    ];
    for (const [group, members] of groups) {
      for (const name of Object.keys(members)) {
        const why = unmoved[name];
        if (why !== undefined) draft.note("left", `${group}.${name}`, why);
        else if (!carried.has(name))
          draft.note("left", `${group}.${name}`, "has no counterpart that could be made of it");
      }
    }
  }

  #readMasterKey(value: unknown): void {
    if (value === undefined) return;
    const isVariable = typeof value === "string" && variable.test(value);
    if (!isVariable && !mayStay(String(value))) {
      return void this.draft.note(
        "left",
        "general_settings.master_key",
        "is too easy to guess: make a key, and give it to the clients",
      );
    }
    const key = this.#secret(value, "LITELLM_MASTER_KEY");
    this.draft.record("keys", "LiteLLM master key", { scopes: clientScopes, key });
    this.draft.note(
      "made",
      "general_settings.master_key",
      "a key for models, so that clients stay. It does not change the gateway",
    );
  }

  /** Virtual keys of an export: rows of `LiteLLM_VerificationToken`. */
  readKeys(rows: readonly Fields[]): void {
    for (const [index, row] of rows.entries()) this.#readKey(row, index);
  }

  #readKey(row: Fields, index: number): void {
    const name = stringOf(row.key_alias) || stringOf(row.key_name) || `LiteLLM key ${index + 1}`;
    if (row.blocked === true || row.blocked === "true" || row.blocked === "t")
      return void this.draft.note("left", `key ${name}`, "is blocked");
    const [max, spend, reset] = [numberOf(row.max_budget), numberOf(row.spend) ?? 0, resetOf(row.budget_duration)];
    const limit = max === undefined ? undefined : reset ? max : Math.round((max - spend) * 1e6) / 1e6;
    if (limit !== undefined && limit <= 0)
      return void this.draft.note("left", `key ${name}`, `has spent its budget: ${spend} of ${max} dollars`);
    const rates = [
      ["requests", numberOf(row.rpm_limit)],
      ["tokens", numberOf(row.tpm_limit)],
    ] as const;
    const list = rates.flatMap(([type, value]) =>
      value === undefined ? [] : [{ type, unit: "rpm", value: Math.floor(value) }],
    );
    const secret = stringOf(row.key);
    const stays = secret !== undefined && mayStay(secret);
    const expires = stringOf(row.expires);
    this.draft.record("keys", name, {
      scopes: clientScopes,
      ...(limit !== undefined && { usage_limits: { type: "cost", credit_limit: limit, ...reset } }),
      ...(list.length > 0 && { rate_limits: list }),
      ...(expires && { expires_at: expires.replace(/^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2}).*$/, "$1T$2Z") }),
      ...(stays && { key: this.#secret(secret, `LITELLM_KEY_${index + 1}`) }),
    });
    this.draft.note(
      stays ? "made" : "changed",
      `key ${name}`,
      stays ? "clients stay" : "LiteLLM stores a digest alone: clients get a new key",
    );
    if (limit !== undefined && !reset && spend > 0)
      this.draft.note("changed", `key ${name}: max_budget`, `${limit} dollars are left of it`);
    const models = Array.isArray(row.models)
      ? row.models
      : (stringOf(row.models)
          ?.replace(/[{}"[\]]/g, "")
          .split(",") ?? []);
    if (models.some(Boolean))
      this.draft.note("left", `key ${name}: models`, "restrict names by access of model aliases, or by a guardrail");
  }
}

/**
 * A `config.yaml` of LiteLLM as declared state.
 *
 * @param keys Virtual keys of an export.
 */
export function moveLitellm(file: unknown, workspace: string, keys: readonly Fields[] = []): Moved {
  const members = membersOf(file);
  const reader = new LitellmReader(workspace, members);
  for (const [index, entry] of objectsOf(members.model_list).entries()) reader.readModel(entry, index);
  reader.publish();
  reader.readSettings();
  reader.readKeys(keys);
  for (const name of ["guardrails", "mcp_servers", "vector_store_registry", "search_tools"]) {
    if (members[name] !== undefined)
      reader.draft.note("left", name, unmoved[name] ?? "make it by the control plane: docs/control-plane.md");
  }
  for (const name of Object.keys(membersOf(members.environment_variables))) {
    reader.draft.note("changed", `environment_variables.${name}`, "set it where the file is applied");
  }
  return reader.draft.finish();
}
