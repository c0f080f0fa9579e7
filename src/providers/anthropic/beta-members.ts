import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";

type Members = Record<string, unknown>;

/** What one beta of Anthropic's own API allows in requests. */
const cacheScope = "prompt-caching-scope";
const eagerStreaming = "fine-grained-tool-streaming";

/** The same value where nothing in it changes. */
function mapList(list: unknown, change: (item: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  const made = list.map((item: unknown) => change(item));
  return made.some((item, index) => item !== list[index]) ? made : list;
}

/** Names of betas begin with what they allow; a date follows. */
const hasBeta = (betas: readonly string[], name: string): boolean => betas.some((beta) => beta.startsWith(name));

/** A block whose cache is not shared beyond the organisation: the default of hosts without that beta. */
function withoutScope(block: unknown, drop: (member: string) => void): unknown {
  if (!isObject(block)) return block;
  let made = block;
  if (isObject(block.cache_control) && block.cache_control.scope !== undefined) {
    const { scope: _, ...control } = block.cache_control;
    drop("cache_control.scope");
    made = { ...made, cache_control: control };
  }
  const content = mapList(block.content, (inner) => withoutScope(inner, drop));
  return content === block.content ? made : { ...made, content };
}

function withoutEagerStreaming(tool: unknown, drop: (member: string) => void): unknown {
  if (!isObject(tool) || tool.eager_input_streaming === undefined) return tool;
  const { eager_input_streaming: _, ...rest } = tool;
  drop("tools.eager_input_streaming");
  return rest;
}

/**
 * A Messages API request without what only betas allow that the host does not have
 * (https://platform.claude.com/docs/en/api/beta-headers): agents send their betas to every host, and cannot repair a refusal.
 *
 * @param betas Names of the betas that the host has.
 */
export function withoutBetaMembers(request: Members, betas: readonly string[], { drop }: ConversionOptions): Members {
  const made = { ...request };
  if (!hasBeta(betas, cacheScope)) {
    for (const name of ["system", "tools", "messages"]) {
      made[name] = mapList(made[name], (block) => withoutScope(block, drop));
      if (made[name] === undefined) delete made[name];
    }
  }
  if (!hasBeta(betas, eagerStreaming) && made.tools !== undefined) {
    made.tools = mapList(made.tools, (tool) => withoutEagerStreaming(tool, drop));
  }
  return made;
}
