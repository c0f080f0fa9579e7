import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { ModelList } from "../../schemas/models.ts";
import { AwsSettings, awsApiKey, createAwsAuthorize } from "../auth/aws.ts";
import { defineProvider } from "../types.ts";

/** A schema without `propertyNames`, which Gemma models refuse. */
function withoutPropertyNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPropertyNames);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => name !== "propertyNames");
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutPropertyNames(inner)]));
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

/** Requests go through; streams are always asked for their usage. Models of Anthropic speak another shape here. */
function toUpstream(request: ChatRequest): ChatRequest {
  if (request.model.startsWith("anthropic.")) {
    throw new InvalidRequestError("Cannot chat with models of Anthropic here: use the provider bedrock", {
      ...{ param: "model", code: "unsupported_model" },
    });
  }
  const known = withGemmaTools(request);
  if (known.stream !== true) return known;
  return { ...known, stream_options: { ...known.stream_options, include_usage: true } };
}

/** OpenAI's shapes on Amazon Bedrock (https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html). */
export const bedrockMantle = defineProvider({
  slug: "bedrock-mantle",
  settings: { prefix: "aws", schema: AwsSettings },
  baseUrl: ({ region }) => `https://bedrock-mantle.${region}.api.aws/v1`,
  authenticate: awsApiKey,
  authorize: createAwsAuthorize({ provider: "bedrock-mantle", service: "bedrock-mantle" }),
  operations: {
    chat: { path: () => "/chat/completions", toUpstream },
    models: { method: "GET", path: () => "/models", fromUpstream: (body) => v.parse(ModelList, body) },
  },
});
