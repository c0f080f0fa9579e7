import { toContentRules, toKnownProviders } from "../gateway/provider-rules.ts";
import { isObject, parseJson } from "../lib/json.ts";
import { toSnake } from "../lib/member-names.ts";
import { createProviderRegistry } from "../providers/registry.ts";
import { defaultTargetLimits } from "../routing/config.ts";
import { unknownMember } from "../routing/member-reader.ts";
import { readConfig } from "../routing/read-config.ts";
import { clientScopes, MoveDraft, type Moved, membersOf, type Reasons } from "./draft.ts";
import { Source } from "./source.ts";

// Forms of the lists of the admin API: https://portkey.ai/docs/api-reference/admin-api/introduction

type Fields = Record<string, unknown>;

/** Fields of records that say nothing of what they do. */
const plainFields = (
  "id object created_at last_updated_at updated_at updated_by owner_id created_by organisation_id workspace_id " +
  "creator_identity total_count masked_key masked_api_key tags usage_count last_reset_at reset_usage is_deleted"
).split(" ");

const limits = "one budget and one rate limit: policies of the workspace have more: docs/policies.md";

const reasons: Reasons = {
  left: {
    users: "users sign in: docs/single-sign-on.md",
    guardrails: "save guardrails: docs/guardrails.md",
    workspaces: "make an import for each workspace: docs/declared-state.md",
    collections: "collections of prompts: docs/prompts.md",
    partials: "partials of prompts: docs/prompts.md",
    labels: "labels of prompts: docs/prompts.md",
    versions: "the default version is carried over: docs/prompts.md",
    usage_limits: limits,
    rate_limits: limits,
    scopes: "clients call models: docs/control-plane.md",
    alert_emails: "set it on the key: docs/policies.md",
    secret_mappings: "secret references: docs/control-plane.md",
    global_workspace_access_settings: "access and limits of workspaces: docs/control-plane.md",
    allow_all_models: "models of the integration: docs/control-plane.md",
    models: "models of the integration: docs/control-plane.md",
  },
};

/** Records of a part: a list, or the response of a list. */
function listOf(file: Source, name: string): Source[] {
  const list = file.objects(name);
  if (list.length > 0) return list;
  const response = file.object(name);
  response.ignore("object", "total", "success", "current_page", "page_size");
  return response.objects("data");
}

/** The config of a record: an object, JSON text, or inside of `data` as one endpoint shows it. */
function configOf(record: Source): unknown {
  const found = record.take("config") ?? record.object("data").take("config");
  return typeof found === "string" ? parseJson(found) : found;
}

/** Fields of a budget, the first of a list. */
function readBudget(record: Source): Fields {
  const budget = record.objects("usage_limits")[0] ?? record.object("usage_limits");
  budget.ignore("next_usage_reset_at", "current_usage");
  const limit = ["type", "credit_limit", "alert_threshold", "periodic_reset", "periodic_reset_days"].flatMap((name) => {
    const value = budget.take(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(limit);
}

/** Virtual keys, providers and keys have these alike. */
function limitsOf(record: Source): Fields {
  const budget = readBudget(record);
  const rates = record.objects("rate_limits").slice(0, 1);
  const note = record.text("note");
  const expires = record.text("expires_at");
  return {
    ...(note && { note }),
    ...(budget.credit_limit !== undefined && { usage_limits: budget }),
    ...(rates.length > 0 && {
      rate_limits: rates.map((rate) => ({
        type: rate.text("type"),
        unit: rate.text("unit"),
        value: rate.number("value"),
      })),
    }),
    ...(expires && { expires_at: expires }),
  };
}

/** Settings without the masks of secrets. */
const plainOf = (value: unknown): Fields =>
  Object.fromEntries(
    Object.entries(membersOf(value)).filter(([name, one]) => !name.startsWith("masked_") && one !== null),
  );

const toVariable = (slug: string): string => `PORTKEY_${slug.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_KEY`;

const providers = createProviderRegistry();

/** How configs are read before they are saved. */
const savedConfigs = { limits: defaultTargetLimits, providers: toKnownProviders(providers), strict: true } as const;

const { secretSettings } = toContentRules(providers);

/** No value of a config names a variable. */
const noReference = /^(?!)()/;

/** A value without the member at a path such as `targets[0].base_url`. */
function without(value: unknown, [name = "", ...path]: readonly string[]): unknown {
  if (Array.isArray(value)) return value.with(Number(name), without(value[Number(name)], path));
  const entries = Object.entries(membersOf(value)).flatMap(([written, member]) => {
    if (toSnake(written) !== name) return [[written, member] as const];
    return path.length === 0 ? [] : [[written, without(member, path)] as const];
  });
  return Object.fromEntries(entries);
}

class PortkeyReader {
  readonly draft: MoveDraft;

  constructor(workspace: string) {
    this.draft = new MoveDraft(workspace);
  }

  /** Records of a part that are in use. */
  #recordsOf(file: Source, name: string): Source[] {
    return listOf(file, name).filter((record) => {
      record.ignore(...plainFields);
      const status = record.text("status");
      if (status !== "archived" && status !== "expired") return true;
      record.skip();
      this.draft.note("left", record.path, `is ${status}`);
      return false;
    });
  }

  read(file: Source): void {
    const integrations = this.#recordsOf(file, "integrations");
    const made = integrations.filter((one) => this.#readIntegration(one));
    const slugs = new Set(made.map((one) => one.text("slug") ?? ""));
    this.#readProviders([...this.#recordsOf(file, "providers"), ...this.#recordsOf(file, "virtual_keys")], slugs);
    this.#readConfigs(this.#recordsOf(file, "configs"));
    this.#readPrompts(this.#recordsOf(file, "prompts"));
    this.#readKeys(this.#recordsOf(file, "api_keys"));
    this.draft.noteUnread(file, reasons);
  }

  /** An integration, which has the credential; false if it cannot be made. */
  #readIntegration(record: Source): boolean {
    const slug = record.text("slug") ?? "";
    const provider = record.text("ai_provider_id") ?? record.text("ai_provider_name");
    if (provider === undefined) {
      record.skip();
      this.draft.note("left", record.path, "says nothing of its provider");
      return false;
    }
    const description = record.text("description");
    this.draft.record("integrations", slug, {
      name: record.text("name") ?? slug,
      ai_provider_id: provider,
      ...(description && { description }),
      key: { $env: toVariable(slug) },
      configurations: plainOf(record.take("configurations") ?? record.take("model_config")),
      create_default_provider: false,
    });
    this.draft.note("changed", `integration ${slug}`, `secrets cannot be exported: set ${toVariable(slug)}`);
    return true;
  }

  /** Virtual keys have a credential of theirs; providers that of an integration. */
  #readProviders(records: readonly Source[], integrations: ReadonlySet<string>): void {
    for (const record of records) {
      const slug = record.text("slug") ?? "";
      const shared = record.text("integration_id");
      const isShared = shared !== undefined && integrations.has(shared);
      if (!isShared && !this.#readIntegration(record)) continue;
      record.ignore("ai_provider_name", "integration_name", "model_config", "key");
      const name = record.text("name") ?? slug;
      const integration = isShared ? shared : slug;
      this.draft.record("providers", slug, { name, integration_id: integration, ...limitsOf(record) });
      this.draft.note("made", `@${slug}`, "requests, configs and virtual keys name it as before");
    }
  }

  /** A config as it can be saved; undefined where it cannot. Portkey does not read members that it does not know either. */
  #fit(config: Fields, what: string): unknown {
    const { problems = [] } = readConfig(config, savedConfigs);
    const unknown = problems.filter(({ message }) => message === unknownMember);
    let saved: unknown = config;
    for (const { path } of unknown) {
      this.draft.note("left", `${what}: ${path}`, unknownMember);
      saved = without(
        saved,
        path.split(/[.[\]]+/).filter((part) => part !== ""),
      );
    }
    const [problem] = readConfig(saved, savedConfigs).problems ?? [];
    if (problem) this.draft.note("left", what, `cannot be saved: ${problem.path || "config"} ${problem.message}`);
    return problem ? undefined : saved;
  }

  /** A config in which variables stand for secrets. @param path Where it lies, for their names. */
  #seal(value: unknown, path: string): unknown {
    if (Array.isArray(value)) return value.map((one, index) => this.#seal(one, `${path}_${index}`));
    if (!isObject(value)) return value;
    const entries = Object.entries(value).map(([written, one]) => {
      const name = toSnake(written);
      const at = `${path}_${name}`;
      const isSecret = typeof one === "string" && (name === "api_key" || secretSettings.has(name));
      return [written, isSecret ? this.#secretOf(one, at) : this.#seal(one, at)] as const;
    });
    return Object.fromEntries(entries);
  }

  #secretOf(text: string, name: string): unknown {
    if (!text.includes("*****")) return this.draft.secret(text, noReference, name);
    const masked = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    this.draft.note("changed", name, `is masked in the export: set ${masked}`);
    return { $env: masked };
  }

  #readConfigs(records: readonly Source[]): void {
    for (const record of records) {
      record.ignore("format", "type", "version_id");
      const slug = record.text("slug") ?? "";
      const name = record.text("name") ?? slug;
      const config = configOf(record);
      const isDefault = record.flag("is_default") ?? record.number("is_default") === 1;
      if (!/^pc-[A-Za-z0-9_-]{1,200}$/.test(slug) || !isObject(config)) {
        const how = "its content is missing: export it with GET /configs/{slug}";
        this.draft.note("left", `config ${slug}`, isObject(config) ? "its slug has another form" : how);
        continue;
      }
      const saved = this.#fit(config, `${record.path} ${slug}`);
      if (!saved) continue;
      this.draft.config(slug, {
        name,
        config: this.#seal(saved, `PORTKEY_${slug}`),
        ...(isDefault && { is_default: true }),
      });
      this.draft.note("made", `config ${slug}`, "requests name it as before");
    }
  }

  #readPrompts(records: readonly Source[]): void {
    for (const record of records) {
      record.ignore("prompt_version_id", "prompt_version", "prompt_version_status", "is_raw_template");
      const slug = record.text("slug") ?? "";
      const name = record.text("name") ?? slug;
      const template = record.text("string");
      const given = ["parameters", "model", "virtual_key", "functions", "tools"].flatMap((field) => {
        const value = record.take(field);
        return value === undefined ? [] : [[field, value] as const];
      });
      if (!/^pp-[A-Za-z0-9_-]{1,200}$/.test(slug) || template === undefined) {
        this.draft.note("left", `prompt ${slug}`, "its template is missing: export it with GET /prompts/{slug}");
        continue;
      }
      this.draft.record("prompts", slug, { name, string: template, ...Object.fromEntries(given) });
      this.draft.note("made", `prompt ${slug}`, "with its default version");
    }
  }

  #readKeys(records: readonly Source[]): void {
    for (const record of records) {
      record.ignore("key", "user_id");
      const name = record.text("name") ?? "Portkey key";
      const { note: _, ...limitsOfKey } = limitsOf(record);
      const description = record.text("description");
      const config = record.object("defaults").text("config_id");
      if (record.text("type")?.includes("user"))
        this.draft.note("changed", `${record.path}.type`, "becomes a key of a service: users make theirs");
      this.draft.record("keys", name, {
        scopes: clientScopes,
        ...(description && { description }),
        ...limitsOfKey,
        ...(config && { defaults: { config_id: config } }),
      });
      this.draft.note("changed", `key ${name}`, "secrets cannot be exported: clients get a new key");
    }
  }
}

/** An export of Portkey's admin API as declared state: an object with the response of a list for each kind of record. */
export function movePortkey(value: unknown, workspace: string): Moved {
  const file = new Source(value);
  const reader = new PortkeyReader(workspace);
  reader.read(file);
  return reader.draft.finish();
}
