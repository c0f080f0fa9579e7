import { isObject } from "../lib/json.ts";
import type { LoggedUsage } from "../schemas/logs.ts";

type Counts = Record<string, unknown>;

/** Counts of a row without token counts. */
export const noTokens = {
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_tokens: 0,
  reasoning_tokens: 0,
  cache_write_tokens: 0,
  audio_input_tokens: 0,
  audio_output_tokens: 0,
};

/** Stored usage with all counts; rows of earlier versions lack some. */
export function withAllCounts(usage: Partial<LoggedUsage> | null): LoggedUsage | null {
  return usage && { ...noTokens, ...usage };
}

/** Counts of a response besides its tokens. */
export type FurtherCounts = Pick<LoggedUsage, "units" | "image">;

/** Adds further counts. */
export function withUnits(usage: LoggedUsage | null, { units, image }: FurtherCounts): LoggedUsage | null {
  if (!units) return usage;
  return { ...(usage ?? noTokens), units: { ...usage?.units, ...units }, ...(image && { image }) };
}

/** The sum of two usages. */
export function addUsage(one: LoggedUsage | null, other: LoggedUsage | null): LoggedUsage | null {
  if (!one || !other) return one ?? other;
  const names = Object.keys(noTokens) as (keyof typeof noTokens)[]; // Object.keys loses the type of the names
  const units = { ...one.units };
  for (const [name, value] of Object.entries(other.units ?? {})) units[name] = (units[name] ?? 0) + value;
  return {
    ...one,
    ...Object.fromEntries(names.map((name) => [name, one[name] + other[name]])),
    ...(Object.keys(units).length > 0 && { units }),
  };
}

/** Names of the standard service tier. */
const standardTiers: ReadonlySet<string> = new Set(["default", "standard", "auto", "on_demand"]);
const maxTierName = 64;

/** Counts with the service tier that answered, where it is not the standard one. */
export function withTier(usage: LoggedUsage | null, tier: unknown): LoggedUsage | null {
  if (!usage || typeof tier !== "string" || tier.length > maxTierName || standardTiers.has(tier)) return usage;
  return { ...usage, service_tier: tier };
}

/** Most tokens that a response can report: a multiple of what any model reads or writes in one. More is an error. */
const mostOfResponse = 100_000_000;
/** The same for all responses of a batch. */
export const mostOfBatch = 1_000_000_000_000;

/** A value that is a count: a non-negative integer up to the bound. Undefined for others. */
function toCount(value: unknown, most: number): number | undefined {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= most;
  return isCount ? value : undefined;
}

/** A field's count, or else the other field's; 0 for anything else. */
function count(holder: unknown, name: string, other?: string): number {
  if (!isObject(holder)) return 0;
  return toCount(holder[name], mostOfBatch) ?? (other === undefined ? 0 : (toCount(holder[other], mostOfBatch) ?? 0));
}

/** Tokens written to a cache: a count, or one per time to live. */
function cacheWrites(usage: Counts, sent: unknown): number {
  const total = count(sent, "cache_write_tokens") || count(usage, "cache_creation_input_tokens", "cache_write_tokens");
  if (total > 0) return total;
  const { cache_creation: byLifetime } = usage;
  return count(byLifetime, "ephemeral_5m_input_tokens") + count(byLifetime, "ephemeral_1h_input_tokens");
}

/** Counts that few responses have; undefined without any. */
function rareCounts(usage: Counts, sent: unknown, made: unknown): LoggedUsage["units"] {
  let units: LoggedUsage["units"];
  const note = (name: string, value: number) => {
    if (value === 0) return;
    units ??= {};
    units[name] = value;
  };
  if (isObject(sent)) note("cached_audio_tokens", count(sent.cached_tokens_details, "audio_tokens"));
  note("image_input_tokens", count(sent, "image_tokens"));
  note("image_output_tokens", count(made, "image_tokens"));
  note("cache_write_1h", count(usage.cache_creation, "ephemeral_1h_input_tokens"));
  note("web_search", count(usage.server_tool_use, "web_search_requests"));
  note("maps", count(usage.server_tool_use, "maps_requests"));
  return units;
}

/**
 * Token counts of an upstream's usage object: of a chat, a completion or embeddings
 * (https://platform.openai.com/docs/api-reference/chat/object), of a response, images, a transcription or a realtime session
 * (https://platform.openai.com/docs/api-reference/responses/object), or of a message, whose input excludes cached tokens
 * (https://docs.claude.com/en/docs/build-with-claude/prompt-caching). A transcription that only states its duration has
 * no tokens.
 *
 * @param most Larger counts are no counts. Default: the most that one response can report.
 * @returns Null where nothing in it is a count.
 */
export function toLoggedUsage(usage: unknown, most = mostOfResponse): LoggedUsage | null {
  if (!isObject(usage)) return null;
  const sent = usage.prompt_tokens_details ?? usage.input_tokens_details ?? usage.input_token_details;
  const made = usage.completion_tokens_details ?? usage.output_tokens_details ?? usage.output_token_details;
  const cached = count(sent, "cached_tokens") || count(usage, "cache_read_input_tokens");
  const written = cacheWrites(usage, sent);
  const reportedOutput = toCount(usage.completion_tokens, most) ?? toCount(usage.output_tokens, most);
  const reportedTotal = toCount(usage.total_tokens, most);
  const reportedInput = toCount(usage.prompt_tokens, most) ?? toCount(usage.input_tokens, most);
  const [output, total] = [reportedOutput ?? 0, reportedTotal ?? 0];
  let input = reportedInput ?? 0;
  const isMessage = usage.prompt_tokens === undefined && usage.total_tokens === undefined && !isObject(sent);
  if (isMessage) input += cached + written;
  // some embedding models report the total only
  if (input + output === 0) input = total;
  const units = rareCounts(usage, sent, made);
  const isReported = (reportedInput ?? reportedOutput ?? reportedTotal) !== undefined;
  if (!isReported && input === 0 && !units) return null;
  const counts = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: total === 0 ? input + output : total,
    cached_tokens: cached,
    reasoning_tokens: count(made, "reasoning_tokens", "thinking_tokens"),
    cache_write_tokens: written,
    audio_input_tokens: count(sent, "audio_tokens"),
    audio_output_tokens: count(made, "audio_tokens"),
    ...(units && { units }),
  };
  return withTier(counts, usage.service_tier);
}
