import { nameOf, wordOf } from "../../lib/words.ts";
import { text } from "../../text/text.ts";

const words = text.logs.filters;

/** A filter of `GET /v1/logs`. Its name is also its name in the address. */
export interface LogFilter {
  readonly name: string;
  readonly label: string;
  /** Values that are offered; others are taken too. */
  readonly values?: readonly string[];
}

const filter = (name: keyof typeof words, values?: readonly string[]): LogFilter => ({
  name,
  label: words[name],
  ...(values !== undefined && { values }),
});

const operations = [
  "chat",
  "messages",
  "responses",
  "complete",
  "embed",
  "rerank",
  "search",
  "moderate",
  "generateContent",
  "generateImage",
  "editImage",
  "speak",
  "transcribe",
  "translate",
  "realtime",
  "uploadFile",
  "listFiles",
  "createBatch",
  "retrieveBatch",
  "listBatches",
  "mcp",
];

/** Every filter apart from those of time and of a metadata key, in the order they are offered. */
export const logFilters: readonly LogFilter[] = [
  filter("search"),
  filter("model"),
  filter("requested_model"),
  filter("provider"),
  filter("status_code", ["2xx", "4xx", "5xx", "429", "446", "499"]),
  filter("trace_id"),
  filter("session_id"),
  filter("api_key_id"),
  filter("user_id"),
  filter("operation", operations),
  filter("stream", ["true", "false"]),
  filter("error"),
  filter("config"),
  filter("prompt_slug"),
  filter("virtual_key"),
  filter("mcp_server"),
  filter("mcp_tool"),
  filter("cache_status", ["HIT", "SEMANTIC HIT", "MISS", "SEMANTIC MISS", "DISABLED", "REFRESH"]),
  filter("source", ["gateway", "console", "custom", "otel", "check", "eval"]),
  filter("span_id"),
  filter("variant"),
  filter("shadow", ["true", "false"]),
  filter("shadow_of"),
  filter("status"),
  filter("cost_min"),
  filter("cost_max"),
  filter("total_units_min"),
  filter("total_units_max"),
  filter("prompt_token_min"),
  filter("prompt_token_max"),
  filter("completion_token_min"),
  filter("completion_token_max"),
  filter("weighted_feedback_min"),
  filter("weighted_feedback_max"),
  filter("ai_model"),
  filter("ai_org_model"),
  filter("virtual_keys"),
  filter("configs"),
  filter("api_key_ids"),
  filter("metadata"),
];

const known = new Map(logFilters.map((one) => [one.name, one]));

export const metadataStart = "metadata.";

/** What a chip calls a filter. */
export function labelOf(name: string): string {
  if (name.startsWith(metadataStart)) return name.slice(metadataStart.length);
  return known.get(name)?.label ?? name;
}

const inWords: Readonly<Record<string, (value: string) => string>> = {
  operation: nameOf,
  cache_status: wordOf,
  source: (value) => text.logs.sources[value] ?? value,
};

/** Filters whose values may have commas of their own. */
const isText = (name: string): boolean => name === "search" || name === "error" || name.startsWith("metadata");

/** What people read for a value of a filter, or for values separated by commas. */
export function wordsOf(name: string, value: string): string {
  if (isText(name)) return value;
  const read = inWords[name] ?? ((one: string) => one);
  return value.split(",").map(read).join(", ");
}

const isFilter = (name: string): boolean =>
  known.has(name) || (name.startsWith(metadataStart) && name.length > metadataStart.length);

/** The filters an address names, apart from those of time. */
export function readFilters(
  search: Readonly<Record<string, string>>,
): readonly (readonly [name: string, value: string])[] {
  return Object.entries(search).filter(([name, value]) => isFilter(name) && value !== "");
}

/** A choice that the search box offers. */
export interface Suggestion {
  /** What the box holds once it is chosen. */
  readonly value: string;
  readonly label: string;
  /** The filter it adds; absent: the box waits for a value. */
  readonly adds?: readonly [name: string, value: string];
}

/** Filters a free text may be meant for, likeliest first. */
const guesses = ["model", "trace_id", "provider", "error", "api_key_id", "user_id", "config", "metadata._user"];

const named = /^\s*([\w.-]+)\s*[:=]\s*(.*?)\s*$/s;

/** What people see goes first: `status: 5xx` means the filter with that label, which takes classes too. */
function filterOf(typed: string): string | undefined {
  const labelled = logFilters.find(({ label }) => label.toLowerCase() === typed.toLowerCase())?.name;
  return labelled ?? (isFilter(typed) ? typed : undefined);
}

/** The values that a typed one may mean: as it was typed, or the one whose words it is, and others that contain it. */
function valuesFor(name: string, typed: string): readonly string[] {
  const small = typed.toLowerCase();
  const wordsFor = (one: string) => wordsOf(name, one).toLowerCase();
  const offered = known.get(name)?.values ?? [];
  const found = offered.filter((one) => `${one}\n${wordsFor(one)}`.toLowerCase().includes(small));
  if (typed === "") return found;
  const meant = found.find((one) => one !== wordsOf(name, one) && wordsFor(one) === small) ?? typed;
  return [meant, ...found.filter((one) => one !== meant)];
}

/** What a text in the search box may mean. `name=value` and `name: value` are meant as they stand. */
export function suggest(typed: string, isOffered: (name: string) => boolean): readonly Suggestion[] {
  const pair = named.exec(typed);
  const name = pair === null ? undefined : filterOf(pair[1] ?? "");
  if (pair !== null && name !== undefined && isOffered(name)) {
    const values = valuesFor(name, pair[2] ?? "");
    return values.map((one) => ({
      value: `${name}=${one}`,
      label: `${labelOf(name)}: ${wordsOf(name, one)}`,
      adds: [name, one],
    }));
  }
  const word = typed.trim();
  const names = logFilters
    .filter(({ name: one }) => isOffered(one))
    .filter(({ name: one, label }) => `${one} ${label}`.toLowerCase().includes(word.toLowerCase()))
    .map(({ name: one, label }) => ({ value: `${one}=`, label: `${label}…` }));
  const keyed = [{ value: metadataStart, label: words.anyMetadata }];
  if (word === "") return [...names, ...keyed];
  // several words are no name
  const likeliest = /\s/.test(word) ? ["search", ...guesses] : [...guesses.slice(0, 1), "search", ...guesses.slice(1)];
  const meant = likeliest
    .filter(isOffered)
    .map((one): Suggestion => ({ value: `${one}=${word}`, label: `${labelOf(one)}: ${word}`, adds: [one, word] }));
  return [...names.slice(0, 4), ...meant];
}
