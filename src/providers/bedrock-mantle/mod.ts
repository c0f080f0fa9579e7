import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { ModelList } from "../../schemas/models.ts";
import {
  claudeClientHeaders,
  claudeHeaders,
  claudeOperations,
  claudeVersions,
  nativeHeaders,
} from "../anthropic/mod.ts";
import { nativeOperations } from "../anthropic/native.ts";
import { AwsSettings, awsApiKey, awsRequirements, awsVirtualKeys, createAwsAuthorize } from "../auth/aws.ts";
import { bedrockNaming } from "../bedrock/model.ts";
import { defineProvider, passBelow } from "../core/define.ts";
import type { OperationAdapter } from "../core/types.ts";
import { correctCalls } from "../shared/call-corrector.ts";
import { withoutSignatures, withStreamUsage } from "../shared/plain.ts";
import { mantleFacts } from "./facts.ts";

/** A schema without `propertyNames`, which Gemma models reject. */
function withoutPropertyNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPropertyNames);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(([name]) => name !== "propertyNames");
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutPropertyNames(inner)]));
}

function withGemmaTools(request: ChatRequest): ChatRequest {
  if (!request.model.startsWith("google.gemma") || !request.tools) return request;
  const tools = request.tools.map((tool) => {
    const named = tool.function;
    if (!isObject(named)) return tool;
    return { ...tool, function: { ...named, parameters: withoutPropertyNames(named.parameters) } };
  });
  return { ...request, tools };
}

const claude = claudeOperations("bedrock-mantle").chat;
const isClaude = ({ model }: { model?: string }): boolean => model?.startsWith("anthropic.") === true;

/** Anthropic's models use the Messages API here; all other models use OpenAI's shapes. */
const chat: OperationAdapter<"chat"> = {
  path: (request) => (isClaude(request) ? "/anthropic/v1/messages" : "/v1/chat/completions"),
  headers: (request, given) =>
    isClaude(request) ? claudeVersions({ ...given, ...claudeHeaders(request, given) }, {}) : {},
  toUpstream: (request, options) =>
    isClaude(request)
      ? claude.toUpstream(request, options)
      : withStreamUsage({ ...withGemmaTools(request), messages: withoutSignatures(request.messages) }),
  fromUpstream: (body, request, options) =>
    isClaude(request) ? claude.fromUpstream(body, request, options) : undefined,
  streamMapper: (request, options) => (isClaude(request) ? claude.streamMapper(request, options) : undefined),
  chunkCorrector: (request) => (isClaude(request) ? undefined : correctCalls(request)),
  repair: claude.repair,
};

const native = nativeOperations({
  headers: (request, given) => claudeVersions({ ...given, ...nativeHeaders(request, given) }, {}),
  prefix: "/anthropic/v1",
  hasSystemTurns: false,
});

/** OpenAI's shapes on Amazon Bedrock (https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html). */
export const bedrockMantle = defineProvider({
  slug: "bedrock-mantle",
  settings: { prefix: "aws", requires: awsRequirements, virtualKeys: awsVirtualKeys, schema: AwsSettings },
  baseUrl: ({ region }) => `https://bedrock-mantle.${region}.api.aws`,
  pathPrefix: "/v1",
  // both APIs are on one host; Anthropic's has a path prefix
  passPath: (asked) => passBelow({ ...asked, isProxied: false }, asked.path.startsWith("/anthropic/") ? "" : "/v1"),
  clientHeaders: claudeClientHeaders,
  facts: mantleFacts,
  models: { canonical: bedrockNaming.canonical, variantOf: bedrockNaming.variantOf },
  authenticate: awsApiKey,
  authorize: createAwsAuthorize({ provider: "bedrock-mantle", service: "bedrock-mantle" }),
  operations: {
    chat,
    messages: { ...native.messages, serves: isClaude },
    // Anthropic's models are available through the Messages API only
    responses: { path: () => "/v1/responses", serves: (request) => !isClaude(request) },
    models: { method: "GET", path: () => "/v1/models", fromUpstream: (body) => v.parse(ModelList, body) },
  },
});
