import { isObject, stringOf } from "../lib/json.ts";
import { clientScopes, MoveDraft, type Moved, mayStay, membersOf, resetOf } from "./draft.ts";
import { NameLists } from "./litellm-access.ts";
import { readModelFields } from "./litellm-facts.ts";
import { type LitellmTables, readLitellmKeys } from "./litellm-keys.ts";
import { bare, choices, reasons, requestFields, slugOf } from "./litellm-names.ts";
import { type Named, PlaceReader, variable } from "./litellm-place.ts";
import { readLitellmTools } from "./litellm-tools.ts";
import { maxRetries, type Pool } from "./pool.ts";
import { Source } from "./source.ts";

// Form: https://docs.litellm.ai/docs/proxy/configs and /docs/proxy/config_settings

type Fields = Record<string, unknown>;

/** Least and greatest seconds that a config lets responses be reused. */
const leastCache = 60;
const mostCache = 7_776_000;
/** Least milliseconds of a circuit breaker. */
const leastCooldown = 30_000;

const inMilliseconds = (seconds: number | undefined) => (seconds ? Math.round(seconds * 1_000) : undefined);

/** A model without the route and the region that may stand before it. */
function withoutRoute(slug: string, model: string): string {
  if (slug !== "bedrock") return model.replace(/^(?:responses|chat)\//, "");
  return model.replace(/^(?:converse|converse_like|invoke)\//, "").replace(/^[a-z]{2}(?:-[a-z]+)+-\d\//, "");
}

/** Why a deployment cannot be made. */
function explainUnknown(model: unknown): string {
  if (model === undefined) return "it names no model in litellm_params";
  const isRouter = /^(?:auto_router|complexity_router|adaptive_router)\b/.test(String(model));
  return isRouter ? "a config with the mode auto: docs/routing.md" : `nothing is known of the provider of ${model}`;
}

/** Provider and model of a deployment. */
function readNamed(params: Source, ofCredential: string | undefined): Named | undefined {
  const named = params.text("model");
  if (named === undefined) return undefined;
  const toNamed = (prefix: string | undefined, model: string): Named | undefined => {
    const slug = prefix === undefined ? undefined : slugOf(prefix);
    return prefix === undefined || slug === undefined ? undefined : { slug, prefix, model: withoutRoute(slug, model) };
  };
  const own = params.text("custom_llm_provider");
  if (own !== undefined) return toNamed(own, named.startsWith(`${own}/`) ? named.slice(own.length + 1) : named);
  const [, prefix, model = ""] = /^([A-Za-z0-9_-]+)\/(.+)$/.exec(named) ?? [];
  const guess = bare.find(([form]) => form.test(named))?.[1];
  return (
    toNamed(prefix, model) ??
    toNamed(ofCredential, named) ??
    toNamed(guess, named) ??
    (params.has("api_base") ? toNamed("openai_like", named) : undefined)
  );
}

/** Names of models that take over: strings, or objects with the name alone. */
function namesOf(value: unknown): string[] | undefined {
  const list: unknown[] = [value].flat();
  const names = list.flatMap((one) => {
    const isAlone = isObject(one) && Object.keys(one).length === 1;
    return stringOf(isAlone ? one.model : one) ?? [];
  });
  return names.length === list.length ? names : undefined;
}

/** Reads one file. */
class LitellmReader {
  readonly draft: MoveDraft;
  readonly #settings: Source;
  readonly #router: Source;
  readonly #places: PlaceReader;
  readonly #credentials: ReadonlyMap<string, Source>;
  /** Names with `*` that are the same at their provider, and the integration. */
  readonly #patterns = new Map<string, string>();
  /** What lists of keys stand for. */
  readonly lists = new NameLists();
  /** Those that are not. */
  readonly #otherPatterns: { readonly what: string; readonly integration: string }[] = [];

  constructor(workspace: string, file: Source) {
    this.draft = new MoveDraft(workspace);
    this.#places = new PlaceReader(this.draft);
    this.#settings = file.object("litellm_settings");
    this.#router = file.object("router_settings");
    const credentials = file.objects("credential_list");
    this.#credentials = new Map(credentials.map((one) => [one.text("credential_name") ?? "", one]));
  }

  /** Completes the parameters of a deployment by the credential that it names; the result is the provider of that. */
  #addCredential(params: Source): string | undefined {
    const name = params.text("litellm_credential_name");
    const credential = this.#credentials.get(name ?? "");
    if (credential) {
      params.complete(credential.object("credential_values"));
      const info = credential.object("credential_info");
      info.ignore("description");
      return info.text("custom_llm_provider");
    }
    if (name !== undefined)
      this.draft.note("left", `${params.path}.litellm_credential_name`, `credential_list has no ${name}`);
    return undefined;
  }

  readModel(entry: Source): void {
    const name = entry.text("model_name") ?? "";
    const params = entry.object("litellm_params");
    const info = entry.object("model_info");
    for (const group of info.strings("access_groups")) this.lists.addToGroup(group, name);
    const named = readNamed(params, this.#addCredential(params));
    if (!named) {
      const why = explainUnknown(params.take("model"));
      entry.skip();
      return void this.draft.note("left", `${entry.path} ${name}`, why);
    }
    if (named.slug === "azure-openai" && named.model.includes("*")) {
      entry.skip();
      return void this.draft.note("left", `${entry.path} ${name}`, "name the deployments of Azure one by one");
    }
    const base = (info.text("base_model") ?? params.text("base_model"))?.split("/").at(-1);
    const organizations = named.slug === "openai" ? params.strings("organization") : [];
    for (const organization of organizations.length > 0 ? organizations : [undefined]) {
      const integration = this.#places.read(named, params, { organization, base });
      if (name.includes("*")) this.#readPattern({ name, integration, path: entry.path }, named.model);
      else this.#readDeployment({ name, integration, model: named.model, base }, params, info);
    }
    info.ignore("id");
  }

  #readPattern({ name, integration, path }: { name: string; integration: string; path: string }, model: string): void {
    if (name === model && !this.#patterns.has(name)) return void this.#patterns.set(name, integration);
    this.#otherPatterns.push({ what: `${path} ${name}`, integration });
    this.lists.addPattern(name, model, integration);
  }

  #readDeployment(
    { name, integration, model, base }: { name: string; integration: string; model: string; base: string | undefined },
    params: Source,
    info: Source,
  ): void {
    const fields = readModelFields(params, info, base === model ? undefined : base);
    if (Object.keys(fields).length > 0) {
      this.draft.extend(integration, ({ models, ...others }) => ({
        ...others,
        models: { ...membersOf(models), [model]: { ...membersOf(membersOf(models)[model]), ...fields } },
      }));
    }
    const [own, requests, tokens] = [params.number("weight"), params.number("rpm"), params.number("tpm")];
    if (requests !== undefined || tokens !== undefined)
      this.draft.note("changed", `${params.path}: rpm, tpm`, "are the weight of the deployment, and no limit");
    this.draft.deploy(name, {
      integration: this.#limit(integration, params),
      model,
      weight: own ?? requests ?? tokens ?? 1,
      order: params.number("order"),
      params: this.#readFields(params),
      settings: this.#readSettings(params),
      tags: params.strings("tags"),
    });
  }

  /** The provider of a deployment: one with its budget, or that of the integration. */
  #limit(integration: string, params: Source): string {
    const max = params.number("max_budget");
    const reset = max === undefined ? null : resetOf(params.text("budget_duration"));
    if (max === undefined || max <= 0) return integration;
    const limits = { type: "cost", credit_limit: max, ...reset };
    if (!reset)
      this.draft.note("changed", `${params.path}.max_budget`, "the budget does not reset: budgets do by days");
    return this.draft.provider(integration, { usage_limits: limits });
  }

  /** Fields of requests that a deployment states. */
  #readFields(params: Source): Fields {
    const own = requestFields.flatMap((name) => (params.has(name) ? [[name, params.take(name)] as const] : []));
    return { ...membersOf(params.take("extra_body")), ...Object.fromEntries(own) };
  }

  /** Settings of the target of a deployment. */
  #readSettings(params: Source): Fields {
    const retries = params.count("num_retries") ?? params.count("max_retries");
    const timeout = inMilliseconds(params.number("timeout") ?? params.number("request_timeout"));
    const idle = inMilliseconds(params.number("stream_timeout"));
    const dropped = params.strings("additional_drop_params");
    return {
      ...(retries !== undefined && { retry: { attempts: this.#cap(`${params.path}.num_retries`, retries) } }),
      ...(timeout !== undefined && { request_timeout: timeout }),
      ...(idle !== undefined && { stream_idle_timeout: idle }),
      ...(dropped.length > 0 && { drop_params: dropped }),
    };
  }

  /** Retries, as many as a config can have. */
  #cap(what: string, retries: number): number {
    if (retries > maxRetries) this.draft.note("changed", what, `${maxRetries} retries, the most there are`);
    return Math.min(maxRetries, Math.round(retries));
  }

  /** A setting of the router, or of the module: most may stand in either. */
  #number(name: string): number | undefined {
    return this.#router.number(name) ?? this.#settings.number(name);
  }

  /** Names of models that take over, by the name of the model. */
  #fallbacksOf(member: string): (name: string) => string[] {
    const source = this.#router.has(member) ? this.#router : this.#settings;
    const found = new Map<string, string[]>();
    for (const one of source.objects(member)) {
      for (const name of one.names) {
        const others = one.read(name, namesOf);
        if (others) found.set(name, [...(found.get(name) ?? []), ...others]);
        if (name !== "*" && !this.draft.deployed.includes(name))
          this.draft.note("left", `${one.path}.${name}`, "there is no such model");
      }
    }
    return (name) => (found.get(name) ?? found.get("*") ?? []).filter((other) => other !== name);
  }

  #readCache(): Pool["cache"] {
    const params = this.#settings.object("cache_params");
    const isOn = this.#settings.flag("cache") === true;
    const type = params.text("type") ?? "";
    const ttl = params.number("ttl") ?? 600;
    if (params.text("mode") === "default_off") {
      this.draft.note("changed", "litellm_settings.cache_params.mode", "requests ask for the cache by x-gateway-cache");
      return undefined;
    }
    if (!isOn) return undefined;
    const seconds = Math.min(mostCache, Math.max(leastCache, Math.round(ttl)));
    if (seconds !== ttl)
      this.draft.note("changed", "litellm_settings.cache_params.ttl", `${seconds} seconds: the nearest time there is`);
    if (!/semantic/.test(type)) return { mode: "simple", seconds };
    this.draft.note("changed", "litellm_settings.cache_params.type", "say which model embeds: docs/semantic-cache.md");
    return { mode: "semantic", seconds };
  }

  #readBreaker(): Fields | undefined {
    const fails = this.#number("allowed_fails");
    const cooldown = inMilliseconds(this.#number("cooldown_time"));
    if (this.#router.flag("disable_cooldowns") === true || (fails === undefined && cooldown === undefined))
      return undefined;
    const interval = Math.max(leastCooldown, cooldown ?? leastCooldown);
    const how = `circuit breakers of ${interval / 1_000} seconds, for models with several deployments or fallbacks`;
    this.draft.note("changed", "allowed_fails, cooldown_time", how);
    return { failure_threshold: Math.round(fails ?? 0) + 1, cooldown_interval: interval };
  }

  #readStrategy(): string | undefined {
    const strategy = this.#router.text("routing_strategy");
    if (strategy === undefined || strategy === "simple-shuffle") return undefined;
    const found = choices[strategy];
    if (found === undefined)
      this.draft.note("changed", `router_settings.routing_strategy: ${strategy}`, "pools choose by weight");
    return found;
  }

  /** Makes the names of models. */
  publish(): void {
    this.#places.finish();
    const pool: Pool = {
      retries: this.#cap("num_retries", this.#number("num_retries") ?? 0),
      timeoutMs: inMilliseconds(this.#number("timeout") ?? this.#number("request_timeout")),
      streamIdleMs: inMilliseconds(this.#number("stream_timeout")),
      cache: this.#readCache(),
      breaker: this.#readBreaker(),
      choose: this.#readStrategy(),
    };
    const fallbacks = this.#fallbacksOf("fallbacks");
    const [windows, filters] = [
      this.#fallbacksOf("context_window_fallbacks"),
      this.#fallbacksOf("content_policy_fallbacks"),
    ];
    const defaults = [...this.#router.strings("default_fallbacks"), ...this.#settings.strings("default_fallbacks")];
    const poolOf = (name: string): Pool => {
      const own = fallbacks(name);
      return {
        ...pool,
        fallbacks: own.length > 0 ? own : defaults.filter((other) => other !== name),
        byKind: [
          { codes: ["context_too_long"], names: windows(name) },
          { codes: ["content_filter"], names: filters(name) },
        ],
      };
    };
    for (const name of this.draft.deployed) this.draft.publish(name, poolOf(name));
    const groups = this.#router.has("model_group_alias")
      ? this.#router.object("model_group_alias")
      : this.#settings.object("model_alias_map");
    for (const name of groups.names) {
      const from = groups.text(name) ?? groups.object(name).text("model");
      if (from !== undefined) this.draft.publish(name, poolOf(from), from);
    }
    this.#publishPatterns();
  }

  /** Names with `*` that are the same at their provider are for the default config. */
  #publishPatterns(): void {
    const patterns = [...this.#patterns].filter(([pattern]) => pattern !== "*");
    const rest = this.#patterns.get("*");
    const conditions = patterns.map(([pattern, integration]) => ({
      query: { "params.model": { $regex: `^${pattern.split("*").map(escapePattern).join(".*")}$` } },
      // biome-ignore lint/suspicious/noThenProperty: the name of a field of conditions
      then: integration,
    }));
    const slugs = [...new Set(this.#patterns.values())];
    for (const { what, integration } of this.#otherPatterns) {
      // the default config comes before @slug
      const way = slugs.length > 0 ? `send x-gateway-provider: @${integration}` : `write @${integration}/MODEL`;
      this.draft.note("changed", what, `names with * cannot be listed: ${way}, or add a model alias for each`);
    }
    if (slugs.length === 0) return;
    const targets = slugs.map((slug) => ({ name: slug, provider: `@${slug}` }));
    const strategy = { mode: "conditional", conditions, ...(rest !== undefined && { default: rest }) };
    this.draft.setDefault(patterns.length > 0 ? { strategy, targets } : { provider: `@${rest}` });
    for (const pattern of this.#patterns.keys()) this.draft.note("made", pattern, "by the default config");
  }

  /** Settings besides the models. */
  readSettings(file: Source): void {
    const { draft } = this;
    const budget = this.#settings.number("max_budget");
    if (budget !== undefined) {
      draft.field("usage_limits", {
        type: "cost",
        credit_limit: budget,
        ...resetOf(this.#settings.text("budget_duration")),
      });
      draft.note("made", "litellm_settings.max_budget", "the budget of the workspace");
    }
    this.#readMasterKey(file.object("general_settings").take("master_key"));
    readLitellmTools(draft, file.object("mcp_servers"));
    for (const [group, names] of this.lists.groups)
      draft.note("changed", `access_groups ${group}`, `keys get its models: ${[...names].join(", ")}`);
    for (const name of file.object("environment_variables").names) {
      draft.note("changed", `environment_variables.${name}`, "set it where the file is applied");
      file.object("environment_variables").ignore(name);
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
    const key = this.draft.secret(value, variable, "LITELLM_MASTER_KEY");
    this.draft.record("keys", "LiteLLM master key", { scopes: clientScopes, key });
    this.draft.note(
      "made",
      "general_settings.master_key",
      "a key for models, so that clients stay. It does not change the gateway",
    );
  }
}

const escapePattern = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/**
 * A `config.yaml` of LiteLLM as declared state.
 *
 * @param tables Virtual keys and teams of an export.
 */
export function moveLitellm(value: unknown, workspace: string, tables: LitellmTables = {}): Moved {
  const file = new Source(value);
  const reader = new LitellmReader(workspace, file);
  for (const entry of file.objects("model_list")) reader.readModel(entry);
  reader.publish();
  reader.readSettings(file);
  readLitellmKeys(reader.draft, tables, reader.lists);
  reader.draft.noteUnread(file, reasons);
  return reader.draft.finish();
}
