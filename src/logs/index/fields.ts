import type { Column } from "../../lib/columns.ts";
import { noStrings } from "../../lib/dictionary.ts";
import { timeOfId } from "../../lib/ids.ts";
import type { LogDetails } from "../../schemas/logs.ts";

/** A field with strings. */
interface StringField {
  readonly kind: "strings";
  readonly of: (details: LogDetails) => string | null;
}

/** A field with numbers. */
interface NumberField {
  readonly kind: "numbers";
  /** @param seq Number of the batch. */
  readonly of: (details: LogDetails, seq: number) => number | null;
}

// rows of earlier versions may lack a field, or have it in another form: such a field has no value

const strings = (of: (details: LogDetails) => unknown): StringField => ({
  kind: "strings",
  of(details) {
    const text = of(details);
    return typeof text === "string" ? text : null;
  },
});

const numbers = (of: (details: LogDetails) => unknown): NumberField => ({
  kind: "numbers",
  of(details) {
    const value = of(details);
    return typeof value === "number" ? value : null;
  },
});

/**
 * Digest of an id that occurs seldom, of 48 bits: in a column ids would need several times the space. Rows that are shown
 * are compared by the id itself.
 */
export function digestOfId(id: string): number {
  // FNV-1a, and the same from another start
  let low = 0x811c9dc5;
  let high = 0x050c5d1f;
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x01000193);
  }
  return (high & 0xffff) * 2 ** 32 + (low >>> 0);
}

const digests = (of: (details: LogDetails) => unknown): NumberField =>
  numbers((details) => {
    const id = of(details);
    return typeof id === "string" ? digestOfId(id) : null;
  });

/** Key of the metadata with the end user that the request names. It has a separate field. */
export const endUserKey = "_user";

/** Retries of the target that responded. */
function retriesOf({ attempts }: LogDetails): number {
  return Math.max(0, attempts?.at(-1)?.retries ?? 0);
}

/**
 * What is filtered, grouped and summed of a row, besides its id and its metadata. To add a field, add it here: rows that
 * are indexed already have no value in it.
 */
export const indexedFields = {
  seq: { kind: "numbers", of: (_, seq) => seq } satisfies NumberField,
  /** Unix milliseconds of the start. */
  time: numbers(({ id }) => timeOfId(id)),
  workspace: strings((row) => row.workspace_id),
  apiKey: strings((row) => row.api_key_id),
  user: strings((row) => row.user_id),
  /** Slug of the stored provider. */
  virtualKey: strings((row) => row.virtual_key),
  /** Id of the integration of the stored provider. */
  integration: strings((row) => row.integration_id),
  /** The end user that the request names. */
  endUser: strings(({ metadata }) => metadata?.[endUserKey]),
  /** Of the labels of the target. */
  region: strings(({ labels }) => labels?.region),
  zeroRetention: strings(({ labels }) => labels?.zero_retention?.toString()),
  /** Slug of the MCP server. */
  mcpServer: strings(({ mcp }) => mcp?.server),
  /** The tool that was called. */
  mcpTool: strings(({ mcp }) => (mcp?.method === "tools/call" ? mcp.name : null)),
  operation: strings(({ operation }) => operation),
  status: numbers(({ status }) => status),
  provider: strings(({ provider }) => provider),
  model: strings(({ model }) => model),
  /** The alias that the request names; none for models. */
  alias: strings((row) => row.requested_model),
  config: strings(({ config }) => config),
  prompt: strings((row) => row.prompt_slug),
  trace: digests((row) => row.trace_id),
  span: digests((row) => row.span_id),
  session: strings((row) => row.session_id),
  stream: numbers(({ stream }) => Number(stream)),
  error: strings(({ error }) => error && (error.code ?? error.type)),
  retries: numbers(retriesOf),
  /** Targets that were called. */
  targets: numbers(({ attempts }) => attempts?.length ?? 1),
  inputTokens: numbers(({ usage }) => usage?.input_tokens),
  outputTokens: numbers(({ usage }) => usage?.output_tokens),
  totalTokens: numbers(({ usage }) => usage?.total_tokens),
  cachedTokens: numbers(({ usage }) => usage?.cached_tokens),
  /** Where the request comes from; none if a program sent it. */
  source: strings((row) => row.source),
  /** The target of a config that responded: its name, or its path. */
  variant: strings(({ attempts }) => attempts?.at(-1)?.name ?? attempts?.at(-1)?.label),
  /** Id of the row whose request was copied. */
  shadowOf: digests((row) => row.shadow_of),
  /** The name of this member in the rows of copies, which have it; none for other requests. */
  shadow: strings((row) => (row.shadow_of === undefined ? null : "shadow_of")),
  /** How the cache served the request; none where nothing asked for it. */
  cacheStatus: strings((row) => row.cache_status),
  /** US cents that a response from the cache saved. */
  savedCost: numbers(({ cache }) => cache?.saved_cost),
  /** US cents that the provider's prompt cache saved. */
  promptCacheSaved: numbers((row) => row.prompt_cache_saved_cost),
  /** US cents that the largest target of `auto` would have cost more. */
  autoSaved: numbers((row) => row.auto_saved_cost),
  /** US cents that it would have cost. */
  autoLargest: numbers(({ auto_saved_cost: saved, cost }) => (saved === undefined ? undefined : (cost ?? 0) + saved)),
  /** 1 for a row that is a part of another: its usage and cost are not in the other row. */
  part: numbers((row) => (row.part_of === undefined ? null : 1)),
  /** US cents. */
  cost: numbers(({ cost }) => cost),
  /** Milliseconds, as the next two. */
  duration: numbers((row) => row.duration_ms),
  firstByte: numbers((row) => row.first_byte_ms),
  upstream: numbers((row) => row.upstream_ms),
} as const satisfies Record<string, StringField | NumberField>;

type PlainField = keyof typeof indexedFields;

/** A key of the metadata. */
type MetadataField = `metadata.${string}`;

/** The field with the values of a key of the metadata. */
export function metadataField(key: string): StringFieldName {
  return key === endUserKey ? "endUser" : `metadata.${key}`;
}

/**
 * Before the names of labels among the keys of the metadata, where free labels are indexed as well. Keys of requests that
 * begin with it are not indexed.
 */
const labelMark = "\0";

/** The field with the values of a label of the target. */
export function labelField(name: string): StringFieldName {
  if (name === "region") return "region";
  return name === "zero_retention" ? "zeroRetention" : metadataField(labelMark + name);
}

/** The name of the label that a key of the metadata stands for in the index; undefined for other keys. */
export function labelOfKey(key: string): string | undefined {
  return key.startsWith(labelMark) ? key.slice(labelMark.length) : undefined;
}

/** The metadata of a row as it is indexed: with its free labels, which have no separate field. */
export function indexedMetadata({ metadata, labels }: Pick<LogDetails, "metadata" | "labels">): LogDetails["metadata"] {
  const hasMark = Object.keys(metadata ?? {}).some((key) => labelOfKey(key) !== undefined);
  if (!labels && !hasMark) return metadata;
  const own = Object.entries(metadata ?? {}).filter(([key]) => labelOfKey(key) === undefined);
  const free = Object.entries(labels ?? {}).filter(([name]) => name !== "region" && name !== "zero_retention");
  return Object.fromEntries([...own, ...free.map(([name, value]) => [labelMark + name, String(value)])]);
}

/** The key of a field of the metadata; undefined for other fields. */
export function metadataKeyOf(field: FieldName): string | undefined {
  return field.startsWith(metadataStart) ? field.slice(metadataStart.length) : undefined;
}

const metadataStart = "metadata.";

/** Fields with strings, and with numbers. */
export type StringFieldName =
  | { [Name in PlainField]: (typeof indexedFields)[Name] extends StringField ? Name : never }[PlainField]
  | MetadataField;
export type NumberFieldName = Exclude<PlainField, StringFieldName>;

/** A field of the index. */
export type FieldName = StringFieldName | NumberFieldName | "id";

/** A column for rows without values. */
export function createEmptyColumn(field: FieldName, rows: number): Column {
  const plain: Readonly<Record<string, StringField | NumberField>> = indexedFields;
  const isNumber = Object.hasOwn(plain, field) && plain[field]?.kind === "numbers";
  const codes = new Uint8Array(rows);
  return isNumber ? { kind: "numbers", codes, base: 0, scale: 1 } : { kind: "strings", codes, values: noStrings };
}
