import { isObject } from "../../src/lib/json.ts";
import { awsStream, chunkStream } from "../support/aws-message.ts";
import { claudeAnswer, claudeBlocks, claudeRules } from "./anthropic.ts";
import { converseRules } from "./bedrock-rules.ts";
import {
  type EmulatedRequest,
  type Emulator,
  jsonResponse,
  type Members,
  type Memory,
  type ModelTurn,
  objectsOf,
  type Rule,
  readRequest,
  toPieces,
} from "./emulator.ts";

const pathForm = /^\/model\/([^/]+)\/(converse|converse-stream|invoke|invoke-with-response-stream)$/;
const isRuntime = ({ host }: URL): boolean => /^bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com$/.test(host);
const isClaude = (model: string): boolean => model.includes("anthropic.claude");

/** A request whose path names the model and whether the response is streamed. */
function readModelRequest(url: URL, init: Parameters<Emulator["read"]>[1]): EmulatedRequest {
  const [, model = "", action = ""] = pathForm.exec(url.pathname) ?? [];
  return { ...readRequest(url, init), model: decodeURIComponent(model), streams: action.endsWith("stream") };
}

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html */
const refuse = (message: string): Response =>
  new Response(JSON.stringify({ message }), {
    status: 400,
    headers: { "content-type": "application/json", "x-amzn-errortype": "ValidationException" },
  });

const streamed = (bytes: Uint8Array<ArrayBuffer>): Response =>
  new Response(bytes, { headers: { "content-type": "application/vnd.amazon.eventstream" } });

/** A block of Claude in the form of Converse. */
function toConverseBlock(block: Members): Members {
  if (block.type === "text") return { text: block.text };
  if (block.type === "tool_use") return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
  return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
}

/** Nova's blocks: its reasoning is redacted and not signed (https://docs.aws.amazon.com/nova/latest/nova2-userguide/reasoning-capabilities.html). */
function toNovaBlocks({ said }: ModelTurn, { model, body }: EmulatedRequest, memory: Memory): Members[] {
  const fields = isObject(body.additionalModelRequestFields) ? body.additionalModelRequestFields : {};
  const reasons = model.includes("nova-2") && isObject(fields.reasoningConfig);
  return said.flatMap((one): Members[] => {
    if (one.kind === "text") return [{ text: one.text }];
    if (one.kind === "thinking")
      return reasons ? [{ reasoningContent: { reasoningText: { text: "[REDACTED]" } } }] : [];
    const input = isObject(one.arguments) ? one.arguments : {};
    return [{ toolUse: { toolUseId: `tooluse_nova${memory.next()}`, name: one.name, input } }];
  });
}

/** Events of a block (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html). */
function toEvents(block: Members, contentBlockIndex: number): { type: string; data: Members }[] {
  const deltas = (make: (text: string) => Members, text: unknown) =>
    toPieces(String(text)).map((piece) => ({
      type: "contentBlockDelta",
      data: { contentBlockIndex, delta: make(piece) },
    }));
  const stop = { type: "contentBlockStop", data: { contentBlockIndex } };
  if (typeof block.text === "string") return [...deltas((text) => ({ text }), block.text), stop];
  if (isObject(block.toolUse)) {
    const { input, ...named } = block.toolUse;
    const start = { type: "contentBlockStart", data: { contentBlockIndex, start: { toolUse: named } } };
    return [start, ...deltas((text) => ({ toolUse: { input: text } }), JSON.stringify(input)), stop];
  }
  const { reasoningText } = block.reasoningContent as { reasoningText: Members };
  const sealed = { type: "contentBlockDelta", data: { contentBlockIndex, delta: {} } };
  const { signature, text } = reasoningText;
  return [
    ...deltas((piece) => ({ reasoningContent: { text: piece } }), text),
    ...(signature === undefined
      ? []
      : [{ ...sealed, data: { contentBlockIndex, delta: { reasoningContent: { signature } } } }]),
    stop,
  ];
}

const usage = { inputTokens: 40, outputTokens: 12, totalTokens: 52 };

function converse(turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response {
  const content = isClaude(request.model)
    ? claudeBlocks(turn, request, memory).map(toConverseBlock)
    : toNovaBlocks(turn, request, memory);
  const stopReason = content.some(({ toolUse }) => toolUse !== undefined) ? "tool_use" : "end_turn";
  const metrics = { latencyMs: 12 };
  if (!request.streams)
    return jsonResponse({ output: { message: { role: "assistant", content } }, stopReason, usage, metrics });
  const events = [
    { type: "messageStart", data: { role: "assistant" } },
    ...content.flatMap(toEvents),
    { type: "messageStop", data: { stopReason } },
    { type: "metadata", data: { usage, metrics } },
  ];
  return streamed(awsStream(events));
}

/** Converse and ConverseStream of Amazon Bedrock. Claude's reasoning is shown, Nova's is not. */
export const bedrockConverse: Emulator = {
  name: "Bedrock Converse",
  showsReasoning: isClaude,
  rules: converseRules,
  serves: (url) => isRuntime(url) && /\/converse(?:-stream)?$/.test(url.pathname),
  read: readModelRequest,
  prefixOf: ({ body }) => [body.system ?? null, body.toolConfig ?? null, ...objectsOf(body.messages)],
  refuse,
  answer: converse,
};

/** Pages of the documentation, as read in November 2026. */
const messagesPage =
  "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html";

/** Betas that Bedrock knows. */
const betas = new Set(
  (
    "computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24 token-efficient-tools-2025-02-19 " +
    "interleaved-thinking-2025-05-14 output-128k-2025-02-19 dev-full-thinking-2025-05-14 context-1m-2025-08-07 " +
    "context-management-2025-06-27 effort-2025-11-24 tool-search-tool-2025-10-19 tool-examples-2025-10-29 " +
    "fine-grained-tool-streaming-2025-05-14"
  ).split(" "),
);

const extra = (name: string): string => `${name}: Extra inputs are not permitted`;
const betasOf = ({ body }: EmulatedRequest): unknown[] =>
  Array.isArray(body.anthropic_beta) ? body.anthropic_beta : [];

/** The place of the first object with a member that holds a further member. */
function findMember(value: unknown, holder: string, member: string, path = ""): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, one] of Object.entries(value)) {
    const place = path === "" ? name : `${path}.${name}`;
    if (name === holder && isObject(one) && one[member] !== undefined) return `${place}.${member}`;
    // schemas are the tools' own
    const found = name === "input_schema" ? undefined : findMember(one, holder, member, place);
    if (found) return found;
  }
  return undefined;
}

const invokeRules: readonly Rule[] = [
  {
    id: "version",
    source: messagesPage,
    find: ({ body }) =>
      body.anthropic_version === "bedrock-2023-05-31" ? undefined : "anthropic_version: Field required",
  },
  {
    id: "betas",
    source: `${messagesPage} (anthropic_beta); https://github.com/anthropics/claude-code/issues/56595`,
    find: (request) => (betasOf(request).every((beta) => betas.has(String(beta))) ? undefined : "invalid beta flag"),
  },
  {
    id: "hosted-members",
    source: messagesPage,
    find: ({ body }) => {
      const names = [
        "model",
        "stream",
        "service_tier",
        "speed",
        "container",
        "mcp_servers",
        "inference_geo",
        "fallbacks",
      ];
      const name = names.find((one) => body[one] !== undefined);
      return name && extra(name);
    },
  },
  {
    id: "cache-scope",
    source: "https://github.com/Wei-Shaw/claude-relay-service/pull/965 (cache_control takes type and ttl)",
    find: ({ body }) => {
      const place = findMember(body, "cache_control", "scope");
      return place && extra(place);
    },
  },
  {
    id: "eager-input-streaming",
    source: "https://github.com/anthropics/claude-code/issues/32820",
    find: ({ body }) => {
      const index = objectsOf(body.tools).findIndex((tool) => tool.eager_input_streaming !== undefined);
      return index < 0 ? undefined : extra(`tools.${index}.custom.eager_input_streaming`);
    },
  },
  {
    id: "deferred-tools",
    source: "https://github.com/anthropics/claude-code/issues/82549 (needs the beta of tool search)",
    find: (request) => {
      if (betasOf(request).includes("tool-search-tool-2025-10-19")) return undefined;
      const index = objectsOf(request.body.tools).findIndex((tool) => tool.defer_loading !== undefined);
      return index < 0 ? undefined : extra(`tools.${index}.custom.defer_loading`);
    },
  },
  {
    id: "context-management",
    source: `${messagesPage} (beta context-management-2025-06-27)`,
    find: (request) =>
      request.body.context_management === undefined || betasOf(request).includes("context-management-2025-06-27")
        ? undefined
        : extra("context_management"),
  },
  {
    id: "media-urls",
    source: `${messagesPage} (source: base64)`,
    find: ({ body }) => {
      const place = findMember(body, "source", "url");
      return place && "messages.content.image.source.base64.media_type: Field required";
    },
  },
  ...claudeRules.map((rule): Rule => {
    const own = ({ body, ...request }: EmulatedRequest): EmulatedRequest => {
      const { anthropic_version: _version, anthropic_beta: _betas, ...rest } = body;
      return { ...request, headers: {}, body: rest };
    };
    return { ...rule, find: (request, memory) => rule.find(own(request), memory) };
  }),
];

/** The turns without those that the host does not have. */
const withoutSystemTurns = (messages: unknown): Members[] =>
  objectsOf(messages).filter(({ role }) => role !== "system");

/** InvokeModel of Amazon Bedrock with Claude: the native Messages API. */
export const bedrockInvoke: Emulator = {
  name: "Bedrock InvokeModel with Claude",
  native: "messages",
  asSdkSends({ body, ...request }) {
    const { model: _model, stream: _stream, messages, ...rest } = body;
    const own = { ...rest, messages: withoutSystemTurns(messages), anthropic_version: "bedrock-2023-05-31" };
    return { ...request, headers: {}, body: own };
  },
  showsReasoning: () => true,
  rules: invokeRules,
  serves: (url) => isRuntime(url) && /\/invoke(?:-with-response-stream)?$/.test(url.pathname),
  read: readModelRequest,
  prefixOf: ({ body }) => [body.system ?? null, body.tools ?? null, ...objectsOf(body.messages)],
  refuse,
  answer(turn, request, memory) {
    const { whole, events } = claudeAnswer(turn, request, memory);
    return request.streams ? streamed(chunkStream(events)) : jsonResponse(whole);
  },
};
