import { isObject, parseJson, stringOf } from "../lib/json.ts";
import { clientScopes, MoveDraft, type Moved, membersOf, objectsOf } from "./draft.ts";

// Forms of the lists of the admin API: https://portkey.ai/docs/api-reference/admin-api/introduction

type Fields = Record<string, unknown>;

/** Records of a part: a list, or the response of a list. */
const recordsOf = (value: unknown): Fields[] => objectsOf(isObject(value) ? value.data : value);

/** The config of a record: an object, JSON text, or inside of `data` as one endpoint shows it. */
function configOf(record: Fields): unknown {
  const found = record.config ?? membersOf(record.data).config;
  return typeof found === "string" ? parseJson(found) : found;
}

/** Virtual keys and providers have these alike. */
const limitsOf = ({ note, rate_limits, usage_limits, expires_at }: Fields): Fields => {
  const budget = isObject(usage_limits) ? usage_limits : objectsOf(usage_limits)[0];
  const { credit_limit, alert_threshold, periodic_reset, type } = budget ?? {};
  const limit = Object.entries({ type, credit_limit, alert_threshold, periodic_reset }).filter(
    ([, one]) => one != null,
  );
  const rates = objectsOf(rate_limits).map(({ type: kind, unit, value }) => ({ type: kind, unit, value }));
  return {
    ...(stringOf(note) && { note }),
    ...(limit.some(([name]) => name === "credit_limit") && { usage_limits: Object.fromEntries(limit) }),
    ...(rates.length > 0 && { rate_limits: rates.slice(0, 1) }),
    ...(stringOf(expires_at) && { expires_at }),
  };
};

/** Settings without the masks of secrets. */
const plainOf = (value: unknown): Fields =>
  Object.fromEntries(
    Object.entries(membersOf(value)).filter(([name, one]) => !name.startsWith("masked_") && one !== null),
  );

const toVariable = (slug: string): string => `PORTKEY_${slug.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_KEY`;

class PortkeyReader {
  readonly draft: MoveDraft;

  constructor(workspace: string) {
    this.draft = new MoveDraft(workspace);
  }

  /** Integrations, which have the credential. */
  readIntegrations(records: readonly Fields[]): void {
    for (const record of records) {
      const slug = stringOf(record.slug) ?? "";
      this.draft.record("integrations", slug, {
        name: stringOf(record.name) ?? slug,
        ai_provider_id: stringOf(record.ai_provider_id) ?? stringOf(record.ai_provider_name) ?? "",
        key: { $env: toVariable(slug) },
        configurations: plainOf(record.configurations ?? record.model_config),
        create_default_provider: false,
      });
      this.draft.note("changed", `integration ${slug}`, `secrets cannot be exported: set ${toVariable(slug)}`);
    }
  }

  /** Virtual keys have a credential of theirs; providers that of an integration. */
  readProviders(records: readonly Fields[], integrations: ReadonlySet<string>): void {
    for (const record of records) {
      const slug = stringOf(record.slug) ?? "";
      const shared = stringOf(record.integration_id);
      if (shared === undefined || !integrations.has(shared)) this.readIntegrations([record]);
      const integration = shared !== undefined && integrations.has(shared) ? shared : slug;
      const name = stringOf(record.name) ?? slug;
      this.draft.record("providers", slug, { name, integration_id: integration, ...limitsOf(record) });
      this.draft.note("made", `@${slug}`, "requests, configs and virtual keys name it as before");
    }
  }

  readConfigs(records: readonly Fields[]): void {
    for (const record of records) {
      const slug = stringOf(record.slug) ?? "";
      const config = configOf(record);
      if (!/^pc-[A-Za-z0-9_-]{1,200}$/.test(slug) || !isObject(config)) {
        this.draft.note(
          "left",
          `config ${slug}`,
          isObject(config) ? "its slug has another form" : "its content is missing: export it with GET /configs/{slug}",
        );
        continue;
      }
      const isDefault = record.is_default === 1 || record.is_default === true;
      this.draft.config(slug, { name: stringOf(record.name) ?? slug, config, ...(isDefault && { is_default: true }) });
      this.draft.note("made", `config ${slug}`, "requests name it as before");
    }
  }

  readPrompts(records: readonly Fields[]): void {
    for (const record of records) {
      const slug = stringOf(record.slug) ?? "";
      const template = record.string;
      if (!/^pp-[A-Za-z0-9_-]{1,200}$/.test(slug) || typeof template !== "string") {
        this.draft.note("left", `prompt ${slug}`, "its template is missing: export it with GET /prompts/{slug}");
        continue;
      }
      const { parameters, model, virtual_key, functions, tools } = record;
      const fields = { parameters, model, virtual_key, functions, tools };
      const given = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
      this.draft.record("prompts", slug, {
        name: stringOf(record.name) ?? slug,
        string: template,
        ...Object.fromEntries(given),
      });
      this.draft.note("made", `prompt ${slug}`, "with its default version");
    }
  }

  readKeys(records: readonly Fields[]): void {
    for (const record of records) {
      const name = stringOf(record.name) ?? "Portkey key";
      const { note: _, ...limits } = limitsOf(record);
      const config = stringOf(membersOf(record.defaults).config_id);
      this.draft.record("keys", name, {
        scopes: clientScopes,
        ...limits,
        ...(config && { defaults: { config_id: config } }),
      });
      this.draft.note("changed", `key ${name}`, "secrets cannot be exported: clients get a new key");
    }
  }
}

/** An export of Portkey's admin API as declared state: an object with the response of a list for each kind of record. */
export function movePortkey(file: unknown, workspace: string): Moved {
  const members = membersOf(file);
  const reader = new PortkeyReader(workspace);
  const integrations = recordsOf(members.integrations);
  reader.readIntegrations(integrations);
  const slugs = new Set(integrations.map(({ slug }) => String(slug)));
  reader.readProviders([...recordsOf(members.providers), ...recordsOf(members.virtual_keys)], slugs);
  reader.readConfigs(recordsOf(members.configs));
  reader.readPrompts(recordsOf(members.prompts));
  reader.readKeys(recordsOf(members.api_keys));
  const read = new Set(["integrations", "providers", "virtual_keys", "configs", "prompts", "api_keys"]);
  for (const name of Object.keys(members)) {
    if (!read.has(name)) reader.draft.note("left", name, "make it by the control plane: docs/control-plane.md");
  }
  return reader.draft.finish();
}
