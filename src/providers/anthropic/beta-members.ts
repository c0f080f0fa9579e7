import { isObject } from "../../lib/json.ts";
import type { ConversionOptions } from "../core/types.ts";

type Members = Record<string, unknown>;

/** Members that need a beta, and where they stand (https://platform.claude.com/docs/en/api/beta-headers). */
const ofTools: Readonly<Record<string, string>> = {
  defer_loading: "tool-search-tool-2025-10-19",
  input_examples: "tool-examples-2025-10-29",
  // Anthropic's own API has it without a beta, its hosts do not have it
  eager_input_streaming: "",
};
const contextBeta = "context-management-2025-06-27";
const scopeBeta = "prompt-caching-scope-2026-01-05";

/** Whether a beta is among those of a host, in any version. */
function has(betas: readonly string[], beta: string): boolean {
  const [name = ""] = beta.split(/-\d{4}-/);
  return name !== "" && betas.some((one) => one.startsWith(`${name}-`));
}

function fitTool(tool: unknown, betas: readonly string[], { drop }: ConversionOptions): unknown {
  if (!isObject(tool)) return tool;
  const left = Object.keys(ofTools).filter((name) => tool[name] !== undefined && !has(betas, ofTools[name] ?? ""));
  if (left.length === 0) return tool;
  for (const name of left) drop(`tools.${name}`);
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !left.includes(name)));
}

/** Members with blocks, and with what blocks hold. */
const holders = ["system", "messages", "tools", "content", "cache_control"] as const;

/** The value without `scope` in any `cache_control`; the same value where nothing has it. */
function withoutScope(value: unknown): unknown {
  if (Array.isArray(value)) {
    const made = value.map(withoutScope);
    return made.some((one, index) => one !== value[index]) ? made : value;
  }
  if (!isObject(value)) return value;
  let made = value;
  for (const name of holders) {
    const held = value[name];
    if (typeof held !== "object" || held === null) continue;
    const fitted = name === "cache_control" ? scopeless(held) : withoutScope(held);
    if (fitted !== held) made = { ...made, [name]: fitted };
  }
  return made;
}

function scopeless(control: object): object {
  if (!("scope" in control)) return control;
  const { scope: _, ...rest } = control;
  return rest;
}

/**
 * A Messages request without what its host lacks: agents write for Anthropic's own API, and hosts refuse members of betas that
 * they do not have ("Extra inputs are not permitted"). What is left out is reported.
 *
 * @param betas Betas that the host gets.
 */
export function fitBetaMembers(given: Members, betas: readonly string[], options: ConversionOptions): Members {
  let members = given;
  const set = (name: string, value: unknown) => {
    if (value !== members[name]) members = { ...members, [name]: value };
  };
  if (members.context_management !== undefined && !has(betas, contextBeta)) {
    options.drop("context_management");
    const { context_management: _, ...rest } = members;
    members = rest;
  }
  if (Array.isArray(members.tools)) {
    const { tools } = members;
    const fitted = tools.map((tool) => fitTool(tool, betas, options));
    if (fitted.some((tool, index) => tool !== tools[index])) set("tools", fitted);
  }
  if (!has(betas, scopeBeta)) {
    const scoped = withoutScope(members);
    if (scoped !== members) options.drop("cache_control.scope");
    members = isObject(scoped) ? scoped : members;
  }
  return members;
}
