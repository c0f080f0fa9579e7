import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { secretSetting } from "../core/settings.ts";
import type { OperationAdapters } from "../core/types.ts";
import { claudeBatches } from "./batches.ts";
import { createCompletion } from "./complete.ts";
import { createCountChat } from "./count.ts";
import { claudeFacts } from "./facts.ts";
import { models } from "./models.ts";
import { nativeOperations } from "./native.ts";
import { claudeRecords } from "./records.ts";
import { withoutThinking } from "./repair.ts";
import { betasOf, readBetas, toClaudeRequest } from "./request.ts";
import { fromClaudeReply } from "./response.ts";
import { createClaudeStream } from "./stream.ts";

type Headers = Readonly<Record<string, string>>;

/** Headers of Anthropic's API (https://docs.claude.com/en/api/versioning). */
const versionHeader = "anthropic-version";
const betaHeader = "anthropic-beta";
const defaultVersion = "2023-06-01";

/** Merges beta lists into one header without duplicates; no header for empty lists. */
function betaHeaders(...lists: readonly unknown[]): Record<string, string> {
  const betas = new Set<string>();
  for (const list of lists) {
    if (list === undefined) continue;
    for (const beta of readBetas(list)) betas.add(beta);
  }
  return betas.size === 0 ? {} : { [betaHeader]: [...betas].join(",") };
}

/** Headers for a converted request. The body may contain the version and the betas. */
export function claudeHeaders(request: Partial<ChatRequest>, given: Headers): Record<string, string> {
  return nativeHeaders({ anthropic_version: request.anthropic_version, anthropic_beta: betasOf(request) }, given);
}

/** As `claudeHeaders`, for native requests, which name the betas they need themselves. */
export function nativeHeaders(
  { anthropic_version: version, anthropic_beta: beta }: Readonly<Record<string, unknown>>,
  given: Headers,
): Record<string, string> {
  const named = given[versionHeader] ?? version;
  return { ...(typeof named === "string" && { [versionHeader]: named }), ...betaHeaders(given[betaHeader], beta) };
}

/** Version and betas of a call, including those from the settings. */
export function claudeVersions(
  given: Headers,
  settings: ClaudeSettings,
  betas: readonly string[] = [],
): Record<string, string> {
  return {
    [versionHeader]: settings.version ?? given[versionHeader] ?? defaultVersion,
    ...betaHeaders(given[betaHeader], settings.beta, betas),
  };
}

/** Settings of hosts that speak Anthropic's API. */
interface ClaudeSettings {
  version?: string | undefined;
  /** Betas, separated by commas. */
  beta?: string | undefined;
}

/**
 * Operations of hosts that speak Anthropic's API.
 *
 * @param options.hasSystemTurns Whether the host has turns of the role `system` in mid conversation. Default: no.
 */
export function claudeOperations(provider: string, { hasSystemTurns = false }: { hasSystemTurns?: boolean } = {}) {
  return {
    chat: {
      path: () => "/messages",
      toUpstream: (request, options) => toClaudeRequest(request, options, { hasSystemTurns }),
      fromUpstream: fromClaudeReply,
      streamMapper: (request, options) => createClaudeStream(request, { ...options, provider }),
      headers: claudeHeaders,
      repair: withoutThinking,
    },
    complete: createCompletion(provider),
    models,
    ...nativeOperations({ headers: nativeHeaders, hasSystemTurns }),
    countChat: createCountChat(claudeHeaders, { hasSystemTurns }),
  } satisfies OperationAdapters;
}

/** Names of the client headers these hosts read. */
export const claudeClientHeaders: readonly string[] = [versionHeader, betaHeader];

/** Whether a credential is the login token of a command-line client rather than an API key. */
const isLoginToken = (credential: string) => credential.startsWith("sk-ant-oat");

/** Anthropic (https://docs.claude.com/en/api/overview). */
export const anthropic = defineProvider({
  slug: "anthropic",
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
  searches: (operation) => operation === "messages",
  baseUrl: "https://api.anthropic.com/v1",
  settings: {
    prefix: "anthropic",
    open: true,
    // configs and integrations made for other gateways have them
    unread: {
      anthropic_api_key: secretSetting(v.unknown()),
      anthropic_inspect_stream_for_overloaded_error: v.boolean("must be true or false"),
    },
    schema: v.object({ version: v.optional(v.string()), beta: v.optional(v.string()) }),
  },
  clientHeaders: claudeClientHeaders,
  nativeGroups: ["legacy_complete"],
  authenticate(credential): Record<string, string> {
    if (credential === undefined) return {};
    return isLoginToken(credential) ? bearer(credential) : { "x-api-key": credential };
  },
  callHeaders: (headers, settings, credential) =>
    claudeVersions(headers, settings, credential && isLoginToken(credential) ? ["oauth-2025-04-20"] : []),
  operations: claudeOperations("anthropic", { hasSystemTurns: true }),
  facts: claudeFacts,
  records: () => claudeRecords,
  batches: claudeBatches,
});
