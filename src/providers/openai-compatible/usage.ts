import { finiteNumber, isObject } from "../../lib/json.ts";

/** How a provider counts tokens, when it differs from OpenAI. */
export interface UsageRules {
  /** `completion_tokens` excludes reasoning tokens. */
  reasoningApart?: boolean;
  /** Responses without usage get zero counts. */
  zeros?: boolean;
}

type Counts = Record<string, unknown>;

function count(holder: unknown, name: string): number | undefined {
  const value = isObject(holder) ? finiteNumber(holder[name]) : undefined;
  return value !== undefined && value >= 0 ? value : undefined;
}

/** Input and output counts: everything sent, cached or not, and everything generated, including reasoning. */
function countSides(usage: Counts, known: { cached: number; reasoning: number }, { reasoningApart }: UsageRules) {
  let input = count(usage, "prompt_tokens") ?? 0;
  let output = count(usage, "completion_tokens") ?? 0;
  const total = count(usage, "total_tokens");
  if (known.cached > input) input += known.cached;
  // a total that equals input plus output shows that output includes the reasoning
  if (reasoningApart && total !== input + output) output += known.reasoning;
  return { input, output };
}

const plainMembers = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "completion_tokens_details",
];
const plainSent = ["cached_tokens", "audio_tokens", "cache_write_tokens"];
const plainMade = ["reasoning_tokens", "audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"];

const pick = (value: Counts, names: readonly string[]): Counts =>
  Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));

/** The details with counts found elsewhere; unchanged if nothing was found. */
function settleDetails(given: unknown, plain: readonly string[], found: Counts, strict: boolean): unknown {
  const added = Object.entries(found).filter(([, value]) => value !== undefined);
  if (!isObject(given)) return added.length === 0 ? given : Object.fromEntries(added);
  return { ...(strict ? pick(given, plain) : given), ...Object.fromEntries(added) };
}

/**
 * Usage in the gateway's shape. Counts that providers report elsewhere are moved into the details:
 * `prompt_cache_hit_tokens` and `cached_tokens` (https://api-docs.deepseek.com/guides/kv_cache,
 * https://platform.moonshot.ai/docs/api/chat), `reasoning_tokens`
 * (https://docs.perplexity.ai/api-reference/chat-completions-post), tokens written to a cache
 * (https://www.alibabacloud.com/help/en/model-studio/context-cache), and Claude's counts, which resellers forward
 * (https://docs.claude.com/en/docs/build-with-claude/prompt-caching).
 */
export function normaliseUsage(given: unknown, rules: UsageRules, strict: boolean): Counts | undefined {
  if (!isObject(given)) return rules.zeros ? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } : undefined;
  const { prompt_tokens_details: sent, completion_tokens_details: made } = given;
  const cached =
    count(sent, "cached_tokens") ??
    count(given, "prompt_cache_hit_tokens") ??
    count(given, "cached_tokens") ??
    count(given, "cache_read_input_tokens");
  const written =
    count(sent, "cache_write_tokens") ??
    count(sent, "cache_creation_input_tokens") ??
    count(given, "cache_creation_input_tokens");
  const reasoning = count(made, "reasoning_tokens") ?? count(given, "reasoning_tokens");
  const { input, output } = countSides(given, { cached: cached ?? 0, reasoning: reasoning ?? 0 }, rules);
  const sentDetails = settleDetails(sent, plainSent, { cached_tokens: cached, cache_write_tokens: written }, strict);
  const madeDetails = settleDetails(made, plainMade, { reasoning_tokens: reasoning }, strict);
  return {
    ...(strict ? pick(given, plainMembers) : given),
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output || (count(given, "total_tokens") ?? 0),
    ...(sentDetails !== undefined && { prompt_tokens_details: sentDetails }),
    ...(madeDetails !== undefined && { completion_tokens_details: madeDetails }),
  };
}
