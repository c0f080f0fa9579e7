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
  /** The model as the request names it, and as the provider calls it: each counts. */
  readonly models: readonly string[];
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

const metadataPrefix = "metadata.";

const readers: Readonly<Record<string, (subject: Subject) => readonly (string | null)[]>> = {
  organisation_id: ({ organisationId }) => [organisationId],
  workspace_id: ({ workspaceId, workspaceSlug }) => [workspaceId, workspaceSlug],
  api_key: ({ apiKey }) => [apiKey],
  virtual_key: ({ virtualKey }) => [virtualKey],
  provider: ({ provider }) => [provider],
  config: ({ config }) => [config],
  prompt: ({ prompt }) => [prompt],
  endpoint_type: ({ endpointType }) => [endpointType],
  model: ({ virtualKey, models }) =>
    models.flatMap((model) => (virtualKey === null ? [model] : [model, `@${virtualKey}/${model}`])),
};

/** Values a request has for a key of a condition, the one that names it in buckets first. Empty where it has no value. */
function valuesOf(key: string, subject: Subject): string[] {
  if (key.startsWith(metadataPrefix)) {
    const name = key.slice(metadataPrefix.length);
    return Object.hasOwn(subject.metadata, name) ? [subject.metadata[name] ?? ""] : [];
  }
  const read = Object.hasOwn(readers, key) ? readers[key] : undefined;
  return (read?.(subject) ?? []).filter((value) => value !== null && value !== "") as string[]; // null is left out
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
  const values = toList(value);
  return {
    key,
    exact: new Set(values.filter((one) => !one.includes("*"))),
    patterns: values.filter((one) => one.includes("*")),
    excluded: excludes == null ? [] : toList(excludes),
  };
}

function holds({ key, exact, patterns, excluded }: CompiledCondition, subject: Subject): boolean {
  const values = valuesOf(key, subject);
  if (values.some((value) => excluded.some((pattern) => fits(pattern, value)))) return false;
  return values.some((value) => exact.has(value) || patterns.some((pattern) => fits(pattern, value)));
}

/** Something that applies where all its conditions hold. */
export interface Conditional {
  readonly conditions: readonly Condition[];
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

  constructor(entries: Iterable<Entry>) {
    for (const entry of entries) this.#add({ entry, conditions: entry.conditions.map(compile) });
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

  /** Entries that apply to a request, each once. */
  find(subject: Subject): Entry[] {
    const found = new Set<Entry>();
    const look = (listed: readonly Indexed<Entry>[]) => {
      for (const { entry, conditions } of listed) {
        if (conditions.every((condition) => holds(condition, subject))) found.add(entry);
      }
    };
    for (const [key, byValue] of this.#byValue) {
      for (const value of valuesOf(key, subject)) look(byValue.get(value) ?? []);
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
    const [value] = valuesOf(key, subject);
    if (value === undefined) return undefined;
    parts.push(`${key}:${value}`);
  }
  return parts.join("-");
}
