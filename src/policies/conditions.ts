import { memoizeText } from "../lib/bounded-map.ts";
import { foldName } from "../lib/fold-name.ts";

/** What conditions know of a request at the target it is about to call. */
export interface Subject {
  readonly organisationId: string;
  readonly workspaceId: string | null;
  readonly workspaceSlug: string | null;
  readonly apiKey: string;
  /** Slug of the stored provider; null where the request names a provider itself. */
  readonly virtualKey: string | null;
  readonly provider: string;
  /** Slugs of the saved config and prompt. */
  readonly config: string | null;
  readonly prompt: string | null;
  /**
   * Models the request names, the one that the provider calls first, each with its spellings. Undefined: it may name any.
   */
  readonly models: readonly (readonly string[])[] | undefined;
  /** Type of the request as guardrails name it. */
  readonly endpointType: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** One condition as it is stored. Values are alternatives. `*` stands for any text. */
export interface Condition {
  readonly key: string;
  readonly value: string | readonly string[];
  readonly excludes?: string | readonly string[] | null | undefined;
}

/** The values that a key has in a request, each with its spellings. */
type Values = readonly (readonly string[])[];

const metadataPrefix = "metadata.";
const modelKey = "model";
const noValues: Values = [];

const foldModel = memoizeText(4_096, foldName, 256);

/** The form in which a value is compared: conditions and requests may compose characters differently. */
function plain(key: string, text: string): string {
  // providers may ignore how a model's name is spelled
  return key === modelKey ? foldModel(text) : text.normalize("NFC");
}

const one = (...spellings: readonly (string | null)[]): Values => {
  const given = spellings.filter((text) => text !== null).filter((text) => text !== "");
  return given.length === 0 ? noValues : [given];
};

const readers: Readonly<Record<string, (subject: Subject) => Values>> = {
  organisation_id: ({ organisationId }) => one(organisationId),
  workspace_id: ({ workspaceId, workspaceSlug }) => one(workspaceId, workspaceSlug),
  api_key: ({ apiKey }) => one(apiKey),
  virtual_key: ({ virtualKey }) => one(virtualKey),
  provider: ({ provider }) => one(provider),
  config: ({ config }) => one(config),
  prompt: ({ prompt }) => one(prompt),
  endpoint_type: ({ endpointType }) => one(endpointType),
  [modelKey]: ({ virtualKey, models = noValues }) =>
    virtualKey === null ? models : models.map((names) => names.flatMap((name) => [name, `@${virtualKey}/${name}`])),
};

/** A value of the metadata, whatever form its name is written in. */
function readMetadata(metadata: Subject["metadata"], wanted: string): string | null {
  if (Object.hasOwn(metadata, wanted)) return metadata[wanted] ?? null;
  const found = Object.entries(metadata).find(([name]) => name.normalize("NFC") === wanted);
  return found?.[1] ?? null;
}

/** Values a request has for a key of a condition, the one that names it in buckets first. Empty where it has no value. */
function valuesOf(key: string, subject: Subject): Values {
  const isMetadata = key.startsWith(metadataPrefix);
  const wanted = key.slice(metadataPrefix.length).normalize("NFC");
  const read = Object.hasOwn(readers, key) ? readers[key] : undefined;
  const found = isMetadata ? one(readMetadata(subject.metadata, wanted)) : (read?.(subject) ?? noValues);
  return found.map((spellings) => spellings.map((text) => plain(key, text)));
}

const toList = (value: string | readonly string[]): readonly string[] => (typeof value === "string" ? [value] : value);

/** Whether a value fits a pattern in which each `*` stands for any text. Takes time linear in the length of both. */
export function fits(pattern: string, value: string): boolean {
  const parts = pattern.split("*");
  const first = parts[0] ?? "";
  if (parts.length === 1) return value === pattern;
  const last = parts.at(-1) ?? "";
  if (value.length < first.length + last.length || !value.startsWith(first) || !value.endsWith(last)) return false;
  let from = first.length;
  const until = value.length - last.length;
  for (const part of parts.slice(1, -1)) {
    const found = value.indexOf(part, from);
    if (found < 0 || found + part.length > until) return false;
    from = found + part.length;
  }
  return true;
}

/** A condition that was read once. */
interface CompiledCondition {
  readonly key: string;
  /** Values that are compared whole. */
  readonly exact: ReadonlySet<string>;
  readonly patterns: readonly string[];
  readonly excluded: readonly string[];
}

function compile({ key, value, excludes }: Condition): CompiledCondition {
  const values = toList(value).map((text) => plain(key, text));
  return {
    key,
    exact: new Set(values.filter((text) => !text.includes("*"))),
    patterns: values.filter((text) => text.includes("*")),
    excluded: excludes == null ? [] : toList(excludes).map((text) => plain(key, text)),
  };
}

/** Whether a condition asks for the model of a request that may name any. */
const isOpen = (key: string, { models }: Subject): boolean => key === modelKey && models === undefined;

/** Whether a value of the request fits, and none of its spellings is excluded. */
function holds({ key, exact, patterns, excluded }: CompiledCondition, subject: Subject): boolean {
  if (isOpen(key, subject)) return true;
  const isFit = (text: string) => exact.has(text) || patterns.some((pattern) => fits(pattern, text));
  const isExcluded = (text: string) => excluded.some((pattern) => fits(pattern, text));
  return valuesOf(key, subject).some((spellings) => spellings.some(isFit) && !spellings.some(isExcluded));
}

/** Something that applies where all its conditions hold. */
export interface Conditional {
  readonly conditions: readonly Condition[];
  /** Keys whose values distinguish its buckets. */
  readonly groupBy?: readonly { readonly key: string }[];
}

/** Whether something applies, or counts, by the model of a request. */
export function looksAtModel({ conditions, groupBy = [] }: Conditional): boolean {
  return [...conditions, ...groupBy].some(({ key }) => key === modelKey);
}

/** One entry of an index with its conditions read. */
interface Indexed<Entry> {
  readonly entry: Entry;
  readonly conditions: readonly CompiledCondition[];
}

/**
 * Finds the entries whose conditions all hold. Each entry lies under the values of one of its conditions, so that a
 * request looks only at those that share a value with it.
 */
export class ConditionIndex<Entry extends Conditional> {
  /** By key of a condition, then by value. */
  readonly #byValue = new Map<string, Map<string, Indexed<Entry>[]>>();
  /** Entries all of whose conditions have patterns. */
  readonly #others: Indexed<Entry>[] = [];
  /** Whether an entry applies, or counts, by the model of a request. */
  readonly looksAtModels: boolean;

  constructor(entries: Iterable<Entry>) {
    let looksAtModels = false;
    for (const entry of entries) {
      this.#add({ entry, conditions: entry.conditions.map(compile) });
      looksAtModels ||= looksAtModel(entry);
    }
    this.looksAtModels = looksAtModels;
  }

  #add(indexed: Indexed<Entry>): void {
    const exact = indexed.conditions.filter(({ patterns }) => patterns.length === 0);
    // keys and metadata distinguish requests better than the workspace, which most of them share
    const chosen = exact.find(({ key }) => !["workspace_id", "organisation_id"].includes(key)) ?? exact[0];
    if (!chosen) {
      this.#others.push(indexed);
      return;
    }
    const byValue = this.#byValue.get(chosen.key) ?? new Map<string, Indexed<Entry>[]>();
    this.#byValue.set(chosen.key, byValue);
    for (const value of chosen.exact) {
      const listed = byValue.get(value);
      if (listed) listed.push(indexed);
      else byValue.set(value, [indexed]);
    }
  }

  /** Entries that apply to a request, or may apply to one that may name any model, each once. */
  find(subject: Subject): Entry[] {
    const found = new Set<Entry>();
    const look = (listed: readonly Indexed<Entry>[]) => {
      for (const { entry, conditions } of listed) {
        if (conditions.every((condition) => holds(condition, subject))) found.add(entry);
      }
    };
    for (const [key, byValue] of this.#byValue) {
      if (isOpen(key, subject)) for (const listed of byValue.values()) look(listed);
      else for (const value of valuesOf(key, subject).flat()) look(byValue.get(value) ?? []);
    }
    look(this.#others);
    return [...found];
  }
}

/**
 * Name of the bucket a request counts in: `key:value` pairs joined by `-`, as the API shows it.
 *
 * @returns Undefined where the request lacks one of the keys: the policy does not apply to it then.
 */
export function bucketOf(groupBy: readonly { readonly key: string }[], subject: Subject): string | undefined {
  const parts: string[] = [];
  for (const { key } of groupBy) {
    const value = valuesOf(key, subject)[0]?.[0];
    if (value === undefined) return undefined;
    parts.push(`${key}:${value}`);
  }
  return parts.join("-");
}
