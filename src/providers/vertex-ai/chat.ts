import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { withoutThinking } from "../anthropic/repair.ts";
import { type ClaudeHost, toClaudeRequest } from "../anthropic/request.ts";
import { fromClaudeReply } from "../anthropic/response.ts";
import { createClaudeStream } from "../anthropic/stream.ts";
import type { OperationAdapter } from "../core/types.ts";
import { fromGeminiAnswer } from "../google/answer.ts";
import { type GeminiHost, toGeminiRequest } from "../google/request.ts";
import { createGeminiMapper } from "../google/stream.ts";
import { mapWithoutBegun, withoutBegun } from "../mistral-ai/prefix.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "../shared/openai-like.ts";
import { createOpenModelMapper, fromOpenModelAnswer, toMistralRequest, toOpenModelRequest } from "./open-models.ts";
import { chatPath, readModel } from "./publishers.ts";
import type { VertexSettings } from "./settings.ts";

const slug = "vertex-ai";

/** A string as a valid label value (https://cloud.google.com/resource-manager/docs/labels-overview#requirements). */
function toLabel(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[^\p{Ll}\p{Lo}\p{N}_-]/gu, "_")
    .slice(0, 63);
}

/** Billing labels of a request; empty ones are dropped. */
export function toLabels({ metadata, labels }: Record<string, unknown>): Record<string, unknown> {
  const given = { ...(isObject(metadata) && metadata), ...(isObject(labels) && labels) };
  const made = Object.entries(given)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([name, value]) => [toLabel(name), toLabel(String(value))] as const)
    .filter(([name, value]) => name !== "" && value !== "");
  return made.length === 0 ? {} : { labels: Object.fromEntries(made) };
}

/** Gemini on Vertex AI. */
export const host: GeminiHost = {
  slug,
  ownMembers: { metadata: toLabels, labels: toLabels, service_tier: () => ({}) },
};

/** Claude on Vertex AI (https://docs.claude.com/en/api/claude-on-vertex-ai). */
export const claudeHost: ClaudeHost = {
  version: "vertex-2023-10-16",
  hasBetasInBody: true,
  betas: new Map([
    ...[
      "computer-use-2025-01-24",
      "context-1m-2025-08-07",
      "context-management-2025-06-27",
      "interleaved-thinking-2025-05-14",
      "tool-search-tool-2025-10-19",
      "web-search-2025-03-05",
    ].map((name) => [name, name] as const),
    ["advanced-tool-use-2025-11-20", "tool-search-tool-2025-10-19"],
  ]),
  omits: ["model", "service_tier", "speed", "container", "mcp_servers"],
};

const requestType = "x-vertex-ai-llm-request-type";
const sharedRequestType = "x-vertex-ai-llm-shared-request-type";

/**
 * Headers that select the priority of a request
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/provisioned-throughput/use-provisioned-throughput). Clients
 * may send them themselves.
 */
export const tierHeaderNames: readonly string[] = [requestType, sharedRequestType];

/** Headers for a request's `service_tier`. */
function tierHeaders({ service_tier: tier }: ChatRequest): Record<string, string> {
  if (tier === "dedicated" || tier === "shared") return { [requestType]: tier };
  if (tier === "flex" || tier === "priority") return { [sharedRequestType]: tier };
  return {};
}

/** Chat with the models of all publishers. */
export function createChat(settings: VertexSettings): OperationAdapter<"chat"> {
  return {
    path: ({ model, stream }) => chatPath(model, stream === true, settings),
    headers: tierHeaders,
    toUpstream(request, options) {
      const model = readModel(request.model);
      switch (model.dialect) {
        case "openai":
          return toOpenModelRequest(request, model);
        case "mistral":
          return toMistralRequest(request, model, options);
        case "claude":
          return toClaudeRequest({ ...request, model: model.name }, options, claudeHost);
        case "gemini":
          return toGeminiRequest({ ...request, model: model.name }, options, host);
      }
    },
    fromUpstream(body, request, options) {
      switch (readModel(request.model).dialect) {
        case "claude":
          return fromClaudeReply(body, request, options);
        case "gemini":
          return fromGeminiAnswer(body, request, { ...options, slug });
        case "mistral":
          return withoutBegun(fromOpenaiLike(body, request, options), request);
        default:
          return fromOpenModelAnswer(body);
      }
    },
    streamMapper(request, options) {
      switch (readModel(request.model).dialect) {
        case "claude":
          return createClaudeStream(request, { ...options, provider: slug });
        case "gemini":
          return createGeminiMapper(request, options, host);
        case "mistral":
          return mapWithoutBegun(createOpenaiLikeMapper(slug, request, options), request);
        default:
          return createOpenModelMapper(slug);
      }
    },
    repair: (request, failure, options) =>
      readModel(request.model).dialect === "claude" ? withoutThinking(request, failure, options) : undefined,
  };
}
