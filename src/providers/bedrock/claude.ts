import * as v from "valibot";
import { toBase64 } from "../../lib/base64.ts";
import type { CountTokensRequest, MessagesRequest } from "../../schemas/messages.ts";
import { repairMessages, toHostRequest } from "../anthropic/native.ts";
import { type ClaudeHost, toClaudeRequest } from "../anthropic/request.ts";
import type { ConversionOptions, OperationAdapters, StreamMapper } from "../core/types.ts";
import { betaFields } from "./betas.ts";
import { readChunk } from "./chunks.ts";
import { readModel } from "./model.ts";

/** Claude on Amazon Bedrock (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html). */
const host: ClaudeHost = {
  version: "bedrock-2023-05-31",
  omits: ["model", "stream", "service_tier", "speed", "container", "mcp_servers", "inference_geo", "fallbacks"],
};

const encoder = new TextEncoder();
function createChunkReader(): StreamMapper {
  let isComplete = false;
  return {
    map(event) {
      const said = readChunk(event);
      if (!said) return [];
      // metrics added by Bedrock, which the Messages API does not have
      const { "amazon-bedrock-invocationMetrics": _, ...inner } = said;
      if (inner.type === "message_stop") isComplete = true;
      return [inner];
    },
    isComplete: () => isComplete,
    usage: () => undefined,
  };
}

/** The body for counting tokens: Bedrock expects a complete request, including `max_tokens`. */
function toCount(request: object): object {
  const body = toBase64(encoder.encode(JSON.stringify({ ...request, max_tokens: 1 })));
  return { input: { invokeModel: { body } } };
}

const digits = v.pipe(v.string(), v.regex(/^[0-9]{1,15}$/), v.transform(Number));
const Count = v.looseObject({ inputTokens: v.union([v.number(), digits]) });

/** Builds the paths of calls. */
type PathMaker = (model: string, action: string) => string;

/** The Messages API through InvokeModel, which takes the model's native requests and responses. */
export function claudeOperations(toPath: PathMaker, stated: string | undefined) {
  const native: ClaudeHost = {
    ...host,
    readBetas: (request, options) =>
      betaFields(request, readModel(String(request.model), stated), options).anthropic_beta ?? [],
  };
  const toBody = (request: MessagesRequest | CountTokensRequest, options: ConversionOptions) =>
    toHostRequest(request, native, options);
  const serves = ({ model }: { model: string }) => readModel(model, stated).vendor === "anthropic";
  return {
    messages: {
      serves,
      path: ({ model, stream }) => toPath(model, stream === true ? "invoke-with-response-stream" : "invoke"),
      toUpstream: (request, options) => toBody(request, options),
      streamMapper: createChunkReader,
      repair: repairMessages,
      framing: "aws",
    },
    countTokens: {
      serves,
      path: ({ model }) => toPath(model, "count-tokens"),
      toUpstream: (request, options) => toCount(toBody(request, options)),
      fromUpstream: (body) => ({ input_tokens: v.parse(Count, body).inputTokens }),
    },
    countChat: {
      serves,
      path: ({ model }) => toPath(model, "count-tokens"),
      toUpstream: (request, options) => toCount(toClaudeRequest(request, { ...options, drop: () => {} }, host)),
      fromUpstream: (body) => ({ input_tokens: v.parse(Count, body).inputTokens }),
    },
  } satisfies OperationAdapters;
}
