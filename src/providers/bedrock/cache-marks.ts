import { isObject } from "../../lib/json.ts";
import { lastUserTurns, sortTools } from "../anthropic/cache-marks.ts";
import { cachePoints, type MessageRules } from "./messages.ts";
import { isNova, takesCachePoints } from "./model.ts";
import type { Block } from "./parts.ts";

/** The lists of a Converse request that cache points stand in. */
interface Prefix {
  messages: readonly { role: string; content: Block[] }[];
  system: Block[];
  toolConfig: Block | undefined;
}

const isPoint = (block: unknown): boolean => isObject(block) && "cachePoint" in block;

function nameOf({ toolSpec }: Block): string {
  return isObject(toolSpec) ? String(toolSpec.name) : "";
}

/**
 * Adds cache points behind the tools, in a stable order, the system prompt and the last turns of the user, where the
 * client sets none and the model takes them (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html).
 */
export function addCachePoints({ messages, system, toolConfig }: Prefix, rules: MessageRules): void {
  const { model, options } = rules;
  if (!options.promptCache || !takesCachePoints(model)) return;
  const tools: Block[] = Array.isArray(toolConfig?.tools) ? toolConfig.tools : [];
  if ([tools, system, ...messages.map(({ content }) => content)].some((list) => list.some(isPoint))) return;
  const control = { cache_control: { ttl: options.promptCache.ttl } };
  const turns = lastUserTurns(messages);
  const contents = messages.filter((_, index) => turns.has(index)).map(({ content }) => content);
  // Nova takes points behind text only, and caches no tools
  const places = [system, ...contents].filter((list) => !isNova(model) || "text" in (list.at(-1) ?? {}));
  if (toolConfig && !isNova(model)) {
    toolConfig.tools = [...sortTools(tools, nameOf), ...(tools.length > 0 ? cachePoints(control, rules) : [])];
  }
  for (const list of places) if (list.length > 0) list.push(...cachePoints(control, rules));
}
