import { memoizeText } from "../lib/bounded-map.ts";
import { foldName } from "../lib/fold-name.ts";
import { Pattern } from "../lib/wildcards.ts";
import { overflowBucket } from "./limit-store.ts";

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
  /** What is called where the request is a call of an MCP tool. */
  readonly tool?: ToolSubject;
}

/** A call of an MCP tool, as conditions of policies see it. */
interface ToolSubject {
  /** Slug and id of the server, then those of the server that joins it, where it was called through one. */
  readonly server: readonly string[];
  /** The name of the tool, then its name at the server that joins others. */
  readonly name: readonly string[];
  /** Null for keys of services. */
  readonly userId: string | null;
}

/** One condition as it is stored. Values are alternatives. `*` stands for any text. */
export interface Condition {
  readonly key: string;
  readonly value: string | readonly string[];
  readonly excludes?: string | readonly string[] | null | undefined;
}

/** The values that a key has in a request, each with its spellings. */
type Spellings = readonly (readonly string[])[];

/** What keys of metadata begin with. */
export const metadataPrefix = "metadata.";
/** The key of the models that a request names. */
export const modelKey = "model";
const noValues: Spellings = [];

const foldModel = memoizeText(4_096, foldName, 256);

/** The form in which a value is compared: conditions and requests may compose characters differently. */
function plain(key: string, text: string): string {
  // providers may ignore how a model's name is spelled
  return key === modelKey ? foldModel(text) : text.normalize("NFC");
}

const one = (...spellings: readonly (string | null)[]): Spellings => {
  const given = spellings.filter((text) => text !== null).filter((text) => text !== "");
  return given.length === 0 ? noValues : [given];
};

/** Reads the values a request has for one key, the one that names it in buckets first. */
export type Reader = (subject: Subject) => Spellings;

const readers: Readonly<Record<string, Reader>> = {
  organisation_id: ({ organisationId }) => one(organisationId),
  workspace_id: ({ workspaceId, workspaceSlug }) => one(workspaceId, workspaceSlug),
  api_key: ({ apiKey }) => one(apiKey),
  virtual_key: ({ virtualKey }) => one(virtualKey),
  provider: ({ provider }) => one(provider),
  config: ({ config }) => one(config),
  prompt: ({ prompt }) => one(prompt),
  endpoint_type: ({ endpointType }) => one(endpointType),
  mcp_server: ({ tool }) => (tool ? one(...tool.server) : noValues),
  mcp_tool: ({ tool }) => (tool ? one(...tool.name) : noValues),
  user_id: ({ tool }) => one(tool?.userId ?? null),
  [modelKey]: ({ virtualKey, models = noValues }) =>
    virtualKey === null ? models : models.map((names) => names.flatMap((name) => [name, `@${virtualKey}/${name}`])),
};

/** A value of the metadata, whatever form its name is written in. */
function readMetadata(metadata: Subject["metadata"], wanted: string): string | null {
  if (Object.hasOwn(metadata, wanted)) return metadata[wanted] ?? null;
  const found = Object.entries(metadata).find(([name]) => name.normalize("NFC") === wanted);
  return found?.[1] ?? null;
}

/** Name of a key of metadata as it is compared. Undefined for other keys. */
export function metadataNameOf(key: string): string | undefined {
  return key.startsWith(metadataPrefix) ? key.slice(metadataPrefix.length).normalize("NFC") : undefined;
}

/** The reader of a key. Unknown keys have no values. */
export function readerOf(key: string): Reader {
  const name = metadataNameOf(key);
  const known = Object.hasOwn(readers, key) ? readers[key] : undefined;
  const read: Reader =
    name === undefined ? (known ?? (() => noValues)) : ({ metadata }) => one(readMetadata(metadata, name));
  return (subject) => read(subject).map((spellings) => spellings.map((text) => plain(key, text)));
}

const toList = (value: string | readonly string[]): readonly string[] => (typeof value === "string" ? [value] : value);

/** Values of one request, each read once. */
export class Values {
  readonly #subject: Subject;
  readonly #readers: readonly Reader[];
  readonly #known: (Spellings | undefined)[] = [];

  constructor(subject: Subject, all: readonly Reader[]) {
    this.#subject = subject;
    this.#readers = all;
  }

  /** Whether the request may name any model. */
  get mayNameAnyModel(): boolean {
    return this.#subject.models === undefined;
  }

  /** @param slot Index of the key. */
  of(slot: number): Spellings {
    const known = this.#known[slot];
    if (known) return known;
    const read = this.#readers[slot]?.(this.#subject) ?? noValues;
    this.#known[slot] = read;
    return read;
  }
}

/** A condition that was read once. */
export interface ReadCondition {
  readonly key: string;
  readonly patterns: readonly Pattern[];
  readonly excluded: readonly Pattern[];
}

/** Reads a condition. */
export function readCondition({ key, value, excludes }: Condition): ReadCondition {
  const toPatterns = (list: string | readonly string[]) => toList(list).map((text) => new Pattern(plain(key, text)));
  return { key, patterns: toPatterns(value), excluded: excludes == null ? [] : toPatterns(excludes) };
}

/** A condition as requests are compared with it. */
export interface CompiledCondition {
  /** Index of its key. */
  readonly slot: number;
  readonly isOfModel: boolean;
  /** Values that are compared whole. */
  readonly exact: ReadonlySet<string>;
  readonly patterns: readonly Pattern[];
  readonly excluded: readonly Pattern[];
}

/** @param slot Index of its key in `Values`. */
export function compile({ key, patterns, excluded }: ReadCondition, slot: number): CompiledCondition {
  const whole = patterns.filter(({ last }) => last === undefined);
  const others = patterns.filter(({ last }) => last !== undefined);
  const exact = new Set(whole.map(({ text }) => text));
  return { slot, isOfModel: key === modelKey, exact, patterns: others, excluded };
}

function fitsOne(patterns: readonly Pattern[], value: string): boolean {
  for (const pattern of patterns) if (pattern.fits(value)) return true;
  return false;
}

/** Whether a value of the request fits, and none of its spellings is excluded. */
export function holds({ slot, isOfModel, exact, patterns, excluded }: CompiledCondition, values: Values): boolean {
  if (isOfModel && values.mayNameAnyModel) return true;
  for (const spellings of values.of(slot)) {
    const isFit = spellings.some((text) => exact.has(text) || fitsOne(patterns, text));
    if (isFit && !spellings.some((text) => fitsOne(excluded, text))) return true;
  }
  return false;
}

/** Longest name of a bucket: names lie in memory, in log rows and in counters. */
const maxName = 2_048;

/** Whether the database stores a name as it is: it cuts text at NUL and replaces halves of surrogate pairs. */
const isStorable = (name: string): boolean => name.length <= maxName && !name.includes("\0") && name.isWellFormed();

/** Keys whose values decide which bucket of a policy a request counts in: at least one, each once. */
export type GroupBy = readonly { readonly key: string }[];

/** Names the bucket of a request. Undefined where the request lacks one of the keys: the policy does not apply to it. */
export type BucketNamer = (subject: Subject) => string | undefined;

/**
 * Names buckets: `key:value` pairs joined by `-`, as the API shows them. Different values always have different names:
 * where values contain such a pair themselves, their lengths follow, as in `a:x-b:y-b:z#5,1`. All values that cannot be
 * stored share one bucket.
 */
export function createBucketNamer(groupBy: GroupBy): BucketNamer {
  const read = groupBy.map(({ key }) => readerOf(key));
  const separators = groupBy.map(({ key }, index) => (index === 0 ? `${key}:` : `-${key}:`));
  // other values could have the same name if it has the beginning of a pair twice
  const isAmbiguous = (name: string) =>
    separators.some((separator, index) => index > 0 && name.indexOf(separator) !== name.lastIndexOf(separator));
  return (subject) => {
    let name = "";
    const lengths: number[] = [];
    for (const [index, separator] of separators.entries()) {
      const value = read[index]?.(subject)[0]?.[0];
      if (value === undefined) return undefined;
      name += separator + value;
      lengths.push(value.length);
    }
    if (!isStorable(name)) return overflowBucket;
    return isAmbiguous(name) ? `${name}#${lengths}` : name;
  };
}

/** As `createBucketNamer`, for one request. */
export function bucketOf(groupBy: GroupBy, subject: Subject): string | undefined {
  return createBucketNamer(groupBy)(subject);
}

/** The value of a request for a key that names it in buckets; undefined where it has none. */
export function firstValue(key: string, subject: Subject): string | undefined {
  return readerOf(key)(subject)[0]?.[0];
}
