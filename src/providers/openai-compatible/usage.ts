import { isObject } from "../../lib/json.ts";

/** How a provider counts tokens where it does not count as OpenAI does. */
export interface UsageRules {
  /** Tokens of reasoning are not part of `completion_tokens`. */
  reasoningApart?: boolean;
  /** Answers without usage get one of zeros. */
  zeros?: boolean;
}

type Counts = Record<string, unknown>;

function count(holder: unknown, name: string): number | undefined {
  const value = isObject(holder) ? holder[name] : undefined;
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Counts of input and output: everything sent, cached or not, and everything generated, reasoning included. */
function countSides(usage: Counts, known: { cached: number; reasoning: number }, { reasoningApart }: UsageRules) {
  let input = count(usage, "prompt_tokens") ?? 0;
  let output = count(usage, "completion_tokens") ?? 0;
  const told = count(usage, "total_tokens");
  if (known.cached > input) input += known.cached;
  // a total that is input and output alone says that the reasoning is among them
  if (reasoningApart && told !== input + output) output += known.reasoning;
  return { input, output };
}

const plainMembers = [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_tokens_details",
  "completion_tokens_details",
];

/**
 * Usage in the gateway's shape. Counts that providers put elsewhere are moved to the details: `prompt_cache_hit_tokens` and
 * `cached_tokens` (https://api-docs.deepseek.com/guides/kv_cache, https://platform.moonshot.ai/docs/api/chat), and
 * `reasoning_tokens` (https://docs.perplexity.ai/api-reference/chat-completions-post).
 */
export function normaliseUsage(given: unknown, rules: UsageRules, strict: boolean): Counts | undefined {
  if (!isObject(given)) return rules.zeros ? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } : undefined;
  const { prompt_tokens_details: sent, completion_tokens_details: made } = given;
  const cached =
    count(sent, "cached_tokens") ?? count(given, "prompt_cache_hit_tokens") ?? count(given, "cached_tokens");
  const reasoning = count(made, "reasoning_tokens") ?? count(given, "reasoning_tokens");
  const { input, output } = countSides(given, { cached: cached ?? 0, reasoning: reasoning ?? 0 }, rules);
  const kept = strict ? plainMembers.filter((name) => given[name] !== undefined) : Object.keys(given);
  return {
    ...Object.fromEntries(kept.map((name) => [name, given[name]])),
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output || (count(given, "total_tokens") ?? 0),
    ...(cached !== undefined && { prompt_tokens_details: { ...(isObject(sent) && sent), cached_tokens: cached } }),
    ...(reasoning !== undefined && {
      completion_tokens_details: { ...(isObject(made) && made), reasoning_tokens: reasoning },
    }),
  };
}
