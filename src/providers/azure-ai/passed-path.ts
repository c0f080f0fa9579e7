import type { PassedPath, PassedTarget } from "../core/types.ts";
import { addQuery } from "../shared/hosts.ts";

/** Paths that begin at the resource, whichever of its addresses the settings name. */
const ofResource = /^\/(?:openai|anthropic|models\/(?:chat\/completions|embeddings|images\/embeddings|info)(?:[/?]|$))/;

/** Records a resource keeps beside its models (https://learn.microsoft.com/azure/ai-foundry/openai/reference). */
const ofRecords = /^\/(?:files|batches|fine_tuning|responses)(?:\/|$)/;

/** Whether a path begins at the resource and not below the address the settings name. */
export function isOfResource(path: string): boolean {
  return ofResource.test(path);
}

/** Whether an address or a path is that of Claude's own API (https://docs.claude.com/en/docs/build-with-claude/claude-in-microsoft-foundry). */
export function isClaudeAddress(url: string): boolean {
  return /\/anthropic(?:\/|$)/.test(url);
}

/** Where a path leads that is passed on as it is: below the address of the settings, or at its resource. */
export function passPath(
  { path, query }: PassedPath,
  {
    foundry_url: url = "",
    api_version: version,
  }: { foundry_url?: string | undefined; api_version?: string | undefined },
): PassedTarget {
  const isClaude = isClaudeAddress(path) || (isClaudeAddress(url) && !isOfResource(path));
  const hasRecords = /\/models$|\/openai\/deployments\/[^/]+$/.test(url);
  const whole = hasRecords && ofRecords.test(path) ? `/openai${path}` : path;
  const isPlain = version === undefined || isClaude || whole.startsWith("/openai/v1/");
  return { path: whole + (isPlain ? query : addQuery(query, "api-version", version)) };
}
