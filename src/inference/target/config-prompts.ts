import type { CallRecord } from "../../context/call-record.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { listLeaves, storedNameOf } from "./config-target.ts";

/** A saved prompt that targets of a config name, filled in for a request. */
interface TargetPrompt {
  readonly request: Readonly<Record<string, unknown>>;
  readonly record: NonNullable<CallRecord["prompt"]>;
  /** The stored provider of targets that name none; undefined without one. */
  readonly provider: string | undefined;
}

/** Such prompts by their names in the config. */
export type TargetPrompts = ReadonlyMap<string, TargetPrompt>;

/** The saved prompts that the targets of a config name, each once. */
export function listPromptNames(config: ConfigNode): string[] {
  return [...new Set(listLeaves(config).flatMap(({ promptId }) => promptId ?? []))];
}

/** A target with the provider of its prompt, where it names none. */
export function atPrompt(node: ConfigNode, { provider }: TargetPrompt): ConfigNode {
  const isNamed = node.provider !== undefined || node.passthrough || storedNameOf(node) !== undefined;
  return isNamed || provider === undefined ? node : { ...node, provider: `@${provider}` };
}
