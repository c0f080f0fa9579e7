import { isObject } from "../lib/json.ts";

/** A record of declared state. */
type Fields = Record<string, unknown>;

/** What became of a part of the old configuration. */
export interface Note {
  /** Such as `litellm_settings.callbacks`. */
  readonly what: string;
  /** Made as it was, made in another way, or not carried over. */
  readonly outcome: "made" | "changed" | "left";
  /** How, or why not. */
  readonly how: string;
}

/** The old configuration as declared state. */
export interface Moved {
  /** A file of declared state. */
  readonly document: Fields;
  readonly notes: readonly Note[];
  /** Secrets that stood in the old configuration in clear, by the variable that stands for each. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Every name of a model that clients use. */
  readonly models: readonly string[];
}

/** One way to serve a model. */
interface Deployment {
  /** Slug of the integration, and of its provider. */
  readonly integration: string;
  readonly model: string;
  readonly weight: number;
  /** Fields that requests get if they lack them. */
  readonly params: Fields;
}

/** What else a model gets. */
export interface Pool {
  /** Names of models that take over, in their order. */
  readonly fallbacks?: readonly string[];
  readonly retries?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Seconds that responses are reused; absent: they are not. */
  readonly cacheSeconds?: number | undefined;
}

const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60) || "one";

/** Names of models that aliases can have. */
const aliasForm = /^(?!pc-)[A-Za-z0-9][A-Za-z0-9._:/+-]{0,254}$/;

/** Most retries of a config. */
const maxRetries = 5;

/** A secret in a file of declared state. */
const toVariable = (name: string) => ({ $env: name });

/** Gives each name once: another one with a number where it is taken. */
class FreeNames {
  readonly #next = new Map<string, number>();

  find(name: string, end: string, isTaken: (name: string) => boolean): string {
    if (!isTaken(name)) return name;
    for (let number = this.#next.get(name) ?? 2; ; number++) {
      const other = `${name}${end}${number}`;
      if (isTaken(other)) continue;
      this.#next.set(name, number + 1);
      return other;
    }
  }
}

/** Collects what an old configuration becomes. */
export class MoveDraft {
  readonly #workspace: string;
  readonly #integrations = new Map<string, Fields>();
  /** Slugs of integrations by their fields as JSON. */
  readonly #slugs = new Map<string, string>();
  readonly #configs = new Map<string, Fields>();
  readonly #aliases = new Map<string, Fields>();
  readonly #sections = new Map<string, Map<string, Fields>>();
  readonly #fields: Fields = {};
  readonly #notes: Note[] = [];
  readonly #secrets = new Map<string, string>();
  /** Variables of secrets, by the name that was wanted and the secret. */
  readonly #variables = new Map<string, string>();
  readonly #free = new FreeNames();
  readonly #models = new Set<string>();
  readonly #pools = new Map<string, Deployment[]>();

  /** @param workspace Slug of the workspace that gets everything. */
  constructor(workspace: string) {
    this.#workspace = workspace;
  }

  note(outcome: Note["outcome"], what: string, how: string): void {
    this.#notes.push({ outcome, what, how });
  }

  /**
   * A secret: a variable of the old configuration, or a new one for a secret that stood there in clear.
   *
   * @param reference How the old configuration names variables; its first group is the name.
   */
  secret(value: unknown, reference: RegExp, name: string): unknown {
    if (typeof value !== "string" || value === "") return undefined;
    const named = reference.exec(value)?.[1];
    if (named !== undefined) return toVariable(named);
    const wanted = name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    const asked = `${wanted}\n${value}`;
    const own = this.#variables.get(asked) ?? this.#free.find(wanted, "_", (one) => this.#secrets.has(one));
    this.#variables.set(asked, own);
    this.#secrets.set(own, value);
    return toVariable(own);
  }

  /** The slug of an integration with these fields: one that was made before, or a new one. */
  integration(provider: string, fields: Fields): string {
    const wanted = { ai_provider_id: provider, ...fields };
    const json = JSON.stringify(wanted);
    const known = this.#slugs.get(json);
    if (known !== undefined) return known;
    const slug = this.#free.find(provider, "-", (one) => this.#integrations.has(one));
    this.#integrations.set(slug, wanted);
    this.#slugs.set(json, slug);
    return slug;
  }

  /** Changes an integration that was made. */
  extend(slug: string, change: (fields: Fields) => Fields): void {
    const former = this.#integrations.get(slug) ?? {};
    const fields = change(former);
    this.#slugs.delete(JSON.stringify(former));
    this.#slugs.set(JSON.stringify(fields), slug);
    this.#integrations.set(slug, fields);
  }

  /** How a name of a model is served; called again for each deployment. */
  deploy(name: string, deployment: Deployment): void {
    const pool = this.#pools.get(name);
    if (pool) pool.push(deployment);
    else this.#pools.set(name, [deployment]);
  }

  /** The names that were deployed. */
  get deployed(): readonly string[] {
    return [...this.#pools.keys()];
  }

  #targetOf({ integration, model, weight, params }: Deployment, isPool: boolean): Fields {
    return {
      provider: `@${integration}`,
      ...(isPool && { weight }),
      override_params: { model },
      ...(Object.keys(params).length > 0 && { default_params: params }),
    };
  }

  #poolOf(name: string): Fields | undefined {
    const deployments = this.#pools.get(name);
    const [first, second] = deployments ?? [];
    if (!deployments || !first) return undefined;
    if (!second) return this.#targetOf(first, false);
    return { strategy: { mode: "loadbalance" }, targets: deployments.map((one) => this.#targetOf(one, true)) };
  }

  #addConfig(name: string, config: Fields): string {
    const slug = this.#free.find(`pc-${toSlug(name)}`, "-", (one) => this.#configs.has(one));
    this.#configs.set(slug, { name, config });
    return slug;
  }

  /** Makes a name that clients use lead to its deployments. */
  publish(name: string, { fallbacks = [], retries = 0, timeoutMs, cacheSeconds }: Pool, from = name): void {
    const pool = this.#poolOf(from);
    if (!pool) return void this.note("left", name, `there is no model ${from} in the old configuration`);
    if (!aliasForm.test(name)) return void this.note("left", name, "has characters that names of models cannot have");
    this.#models.add(name);
    const others = fallbacks.flatMap((other) => {
      const found = this.#poolOf(other);
      if (!found) this.note("left", `${name}: fallback ${other}`, "there is no such model");
      return found ? [found] : [];
    });
    const settings = {
      ...(retries > 0 && { retry: { attempts: Math.min(maxRetries, retries) } }),
      ...(timeoutMs !== undefined && { request_timeout: timeoutMs }),
      ...(cacheSeconds !== undefined && { cache: { mode: "simple", max_age: cacheSeconds } }),
    };
    const [only, more] = this.#pools.get(from) ?? [];
    const isPlain = only && !more && others.length === 0 && Object.keys(only.params).length === 0;
    if (isPlain && Object.keys(settings).length === 0) {
      this.#aliases.set(name, { target: { model: `@${only.integration}/${only.model}` } });
      return void this.note("made", name, `a model of the provider @${only.integration}`);
    }
    const routed = others.length > 0 ? { strategy: { mode: "fallback" }, targets: [pool, ...others] } : pool;
    // a target alone is a config too
    const config = { ...routed, ...settings };
    const slug = this.#addConfig(name, config);
    this.#aliases.set(name, { target: { config: slug } });
    this.note("made", name, `the config ${slug}`);
  }

  /** A saved config under a slug that clients use. */
  config(slug: string, fields: Fields): void {
    this.#configs.set(slug, fields);
  }

  /** A record of another section. */
  record(section: string, name: string, fields: Fields): void {
    const records = this.#sections.get(section) ?? new Map<string, Fields>();
    this.#sections.set(section, records.set(name, fields));
  }

  /** A field of the workspace. */
  field(name: string, value: unknown): void {
    this.#fields[name] = value;
  }

  finish(): Moved {
    const lists: [string, ReadonlyMap<string, Fields>][] = [
      ["integrations", this.#integrations],
      ["configs", this.#configs],
      ["model_aliases", this.#aliases],
      ...this.#sections,
    ];
    const filled = lists.filter(([, records]) => records.size > 0);
    const sections = filled.map(([name, records]) => [name, Object.fromEntries(records)] as const);
    const place = { ...this.#fields, ...Object.fromEntries(sections) };
    return {
      document: { version: 1, workspaces: { [this.#workspace]: place } },
      notes: this.#notes,
      secrets: Object.fromEntries(this.#secrets),
      models: [...this.#models],
    };
  }
}

/** The members of a value that is an object; none of any other. */
export const membersOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The objects in a list. */
export const objectsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** A number, also as text. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

const daysOf: Readonly<Record<string, number>> = { d: 1, w: 7, M: 30, mo: 30, Y: 365, y: 365 };

/** The reset of a budget by its duration such as `30d`; null where none fits: budgets reset by days. */
export function resetOf(duration: unknown): Fields | null {
  const [, count = "", unit = ""] = /^(\d+)\s*(d|w|mo|M|y|Y)$/.exec(String(duration ?? "")) ?? [];
  const days = Number(count) * (daysOf[unit] ?? 0);
  if (!(days >= 1 && days <= 365)) return null;
  if (unit === "mo" || unit === "M")
    return count === "1" ? { periodic_reset: "monthly" } : { periodic_reset_days: days };
  return { periodic_reset_days: days };
}

/** Scopes of keys that clients call models with. */
export const clientScopes: readonly string[] = ["completions.write", "mcp.invoke", "logs.write"];

/** Whether clients can go on with a key of theirs: keys must be hard to guess. */
export const mayStay = (key: string): boolean =>
  /^[A-Za-z0-9._~+/=-]{20,512}$/.test(key) && new Set(key).size >= 10 && !key.startsWith("eyJ");
