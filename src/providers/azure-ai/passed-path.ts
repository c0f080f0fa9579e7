import type { PassedPath, PassedTarget } from "../core/types.ts";
import { addQuery } from "../shared/hosts.ts";

/** Paths below the resource itself, whichever of its URLs is configured. */
const ofResource = /^\/(?:openai|anthropic|models\/(?:chat\/completions|embeddings|images\/embeddings|info)(?:[/?]|$))/;

/** Records that are stored at the resource (https://learn.microsoft.com/azure/ai-foundry/openai/reference). */
const ofRecords = /^\/(?:files|batches|fine_tuning|responses)(?:\/|$)/;

/** Whether a path starts at the resource rather than below the configured URL. */
export function isOfResource(path: string): boolean {
  return ofResource.test(path);
}

/**
 * Whether a URL or path belongs to Claude's own API
 * (https://docs.claude.com/en/docs/build-with-claude/claude-in-microsoft-foundry).
 */
export function isClaudeAddress(url: string): boolean {
  return /\/anthropic(?:\/|$)/.test(url);
}

/** Upstream path of a passthrough request: below the configured URL, or at the resource itself. */
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
