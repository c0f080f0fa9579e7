import { readBetas } from "../anthropic/request.ts";
import type { ConversionOptions } from "../core/types.ts";
import type { BedrockModel } from "./model.ts";

/** Betas by the names they have elsewhere, where Bedrock names them otherwise; none where it refuses them. */
const renamed: ReadonlyMap<string, string | undefined> = new Map([
  ["advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19"],
  ...["files-api-2025-04-14", "mcp-client-2025-04-04", "oauth-2025-04-20", "code-execution-2025-05-22"].map(
    (name) => [name, undefined] as const,
  ),
]);

/**
 * Betas Bedrock knows: it refuses a request that names any other
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
 * Betas as members of a request: those its body names, less the ones that are refused, and of those in the client's header
 * the ones that are known, for agents send all they have unasked.
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
