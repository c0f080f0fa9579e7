import { readBetas } from "../anthropic/request.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { BedrockModel } from "./model.ts";

/** Bedrock's names of betas it spells differently; undefined for betas it rejects. */
const renamed: ReadonlyMap<string, string | undefined> = new Map([
  ["advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19"],
  ...["files-api-2025-04-14", "mcp-client-2025-04-04", "oauth-2025-04-20", "code-execution-2025-05-22"].map(
    (name) => [name, undefined] as const,
  ),
]);

/**
 * Betas Bedrock supports. It rejects a request with any other beta
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html).
 */
const known: ReadonlySet<string> = new Set([
  "computer-use-2024-10-22",
  "computer-use-2025-01-24",
  "computer-use-2025-11-24",
  "effort-2025-11-24",
  "token-efficient-tools-2025-02-19",
  "output-128k-2025-02-19",
  "dev-full-thinking-2025-05-14",
  "interleaved-thinking-2025-05-14",
  "context-1m-2025-08-07",
  "context-management-2025-06-27",
  "fine-grained-tool-streaming-2025-05-14",
  "tool-search-tool-2025-10-19",
  "tool-examples-2025-10-29",
]);

function toKnownName(name: string): string | undefined {
  return renamed.has(name) ? renamed.get(name) : name;
}

/**
 * Betas for a request body: those in the request's body, less the rejected ones, and the supported ones of the client's
 * header. Agents send all their betas by default, so unsupported ones must be filtered.
 */
export function betaFields(
  { anthropic_beta: given }: Readonly<Record<string, unknown>>,
  { vendor }: BedrockModel,
  { clientHeader, drop }: ConversionOptions,
): { anthropic_beta?: readonly string[] } {
  const asked = readBetas(given);
  const ofClient = vendor === "anthropic" ? readBetas(clientHeader?.("anthropic-beta")) : [];
  const taken = asked.flatMap((name) => toKnownName(name) ?? []);
  const takenOfClient = ofClient.flatMap((name) => toKnownName(name) ?? []).filter((name) => known.has(name));
  if (taken.length < asked.length) drop("anthropic_beta");
  if (takenOfClient.length < ofClient.length) drop("anthropic-beta");
  const betas = [...new Set([...taken, ...takenOfClient])];
  return betas.length > 0 ? { anthropic_beta: betas } : {};
}
