import { isObject } from "../lib/json.ts";
import { privateHostOf } from "./addresses.ts";
import { type Deployment, isPlain, type Pool, routeOf, targetOfAll } from "./pool.ts";
import type { Source } from "./source.ts";

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

const toSlug = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60) || "one";

/** A server of tools in an old configuration. */
interface ToolServer {
  readonly name: string;
  readonly url: string | undefined;
  readonly transport: string | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** Most tags of an alias. */
const maxTags = 32;

/** What is said of names that no importer reads. */
export interface Reasons {
  /** Names without a counterpart, and what to do instead. */
  readonly left: Readonly<Record<string, string>>;
  /** Names of what the gateway does anyway. */
  readonly made?: Readonly<Record<string, string>>;
}

/** Names of models that aliases can have. */
const aliasForm = /^(?!pc-)[A-Za-z0-9][A-Za-z0-9._:/+-]{0,254}$/;

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

  #addConfig(name: string, config: Fields): string {
    const slug = this.#free.find(`pc-${toSlug(name)}`, "-", (one) => this.#configs.has(one));
    this.#configs.set(slug, { name, config });
    return slug;
  }

  /** The models that take over, of the names of which there are any. */
  #othersOf(name: string, others: readonly string[], { choose }: Pool): Fields[] {
    return others.flatMap((other) => {
      const deployments = this.#pools.get(other);
      if (!deployments) this.note("left", `${name}: fallback ${other}`, "there is no such model");
      return deployments ? [targetOfAll(deployments, choose)] : [];
    });
  }

  /** Makes a name that clients use lead to its deployments. */
  publish(name: string, pool: Pool, from = name): void {
    const deployments = this.#pools.get(from);
    if (!deployments) return void this.note("left", name, `there is no model ${from} in the old configuration`);
    if (!aliasForm.test(name)) return void this.note("left", name, "has characters that names of models cannot have");
    this.#models.add(name);
    const labels = [...new Set(deployments.flatMap(({ tags = [] }) => tags))];
    const tags = labels.length > 0 && { tags: labels.slice(0, maxTags) };
    const kinds = (pool.byKind ?? []).map(({ codes, names }) => ({
      codes,
      targets: this.#othersOf(name, names, pool),
    }));
    const route = routeOf({ deployments, kinds, others: this.#othersOf(name, pool.fallbacks ?? [], pool), pool });
    const [only] = deployments;
    if (only && deployments.length === 1 && isPlain(route, only)) {
      this.#aliases.set(name, { target: { model: `@${only.integration}/${only.model}` }, ...tags });
      return void this.note("made", name, `a model of the provider @${only.integration}`);
    }
    const slug = this.#addConfig(name, route);
    this.#aliases.set(name, { target: { config: slug }, ...tags });
    this.note("made", name, `the config ${slug}`);
  }

  /** Names all that nothing has read of the old configuration. */
  noteUnread(source: Source, reasons: Reasons): void {
    for (const path of source.unread) {
      const name = path.slice(path.lastIndexOf(".") + 1);
      const settled = reasons.made?.[name];
      if (settled !== undefined) this.note("made", path, settled);
      else this.note("left", path, reasons.left[name] ?? "has no counterpart that could be made of it");
    }
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

  /** A server of tools. */
  toolServer(source: Source, { name, url, transport, headers }: ToolServer): void {
    if (url === undefined || !/^https?:/.test(url) || (transport !== "http" && transport !== "sse")) {
      source.skip();
      this.note("left", `${source.path} ${name}`, "only servers at an address can be reached: docs/mcp.md");
      return;
    }
    const slug = toSlug(name).padEnd(3, "-mcp").slice(0, 50);
    const hasHeaders = Object.keys(headers).length > 0;
    const configurations = hasHeaders ? { custom_headers: headers } : {};
    const auth_type = hasHeaders ? "headers" : "none";
    this.record("mcp_integrations", slug, { name, url, transport, auth_type, configurations });
    this.record("mcp_servers", slug, { name, mcp_integration_id: slug });
    this.note("made", `mcp ${name}`, `the MCP server at /m/${slug}/mcp`);
  }

  /** The slug of a further provider of an integration, with settings that its default provider lacks. */
  provider(integration: string, fields: Fields): string {
    const slug = this.#free.find(
      `${integration}-limited`,
      "-",
      (one) => this.#integrations.has(one) || this.#sections.get("providers")?.has(one) === true,
    );
    this.record("providers", slug, { name: slug, integration_id: integration, ...fields });
    return slug;
  }

  /** The config of requests that name nothing else. */
  setDefault(config: Fields): void {
    const slug = this.#addConfig("default", config);
    this.field("defaults", { user_api_key_config: slug });
  }

  /** A field of the workspace. */
  field(name: string, value: unknown): void {
    this.#fields[name] = value;
  }

  /** Says which hosts the gateway must trust. */
  #notePrivateHosts(): void {
    const tools = [...(this.#sections.get("mcp_integrations")?.values() ?? [])];
    const addresses = [...this.#integrations.values()].map((one) => membersOf(one.configurations).custom_host);
    const hosts = [...addresses, ...tools.map(({ url }) => url)].flatMap((address) => privateHostOf(address) ?? []);
    const list = [...new Set(hosts)].join(",");
    if (list !== "") this.note("changed", "private hosts", `start the gateway with TRUSTED_CUSTOM_HOSTS=${list}`);
  }

  finish(): Moved {
    this.#notePrivateHosts();
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
