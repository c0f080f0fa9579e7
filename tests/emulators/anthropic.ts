import { isObject } from "../../src/lib/json.ts";
import { countInput } from "./claude-cache.ts";
import {
  type EmulatedRequest,
  type Emulator,
  eventStream,
  jsonResponse,
  type Members,
  type Memory,
  type ModelTurn,
  objectsOf,
  type Rule,
  readRequest,
  type Said,
  toPieces,
} from "./emulator.ts";

/** Pages of the documentation, as read in November 2026. */
const docs = "https://platform.claude.com/docs/en";
const sources = {
  messages: `${docs}/api/messages`,
  thinking: `${docs}/build-with-claude/extended-thinking`,
  adaptive: `${docs}/build-with-claude/adaptive-thinking`,
  effort: `${docs}/build-with-claude/effort`,
  tools: `${docs}/agents-and-tools/tool-use/implement-tool-use`,
  caching: `${docs}/build-with-claude/prompt-caching`,
  migration: `${docs}/about-claude/models/migration-guide`,
  systemTurns: `${docs}/build-with-claude/mid-conversation-system-messages`,
} as const;

/** Models that choose their own thinking budget and take no sampling (Opus 4.7 and later). */
const withoutSampling = /claude-(?:opus-4-[789]|fable|[a-z]+-[5-9])/;
const adaptiveOnly = withoutSampling;
const withoutPrefill = /claude-(?:opus-4-[6-9]|sonnet-4-[6-9]|fable|[a-z]+-[5-9])/;

interface Turn {
  role: string;
  content: unknown;
}

const turnsOf = ({ body }: EmulatedRequest): Turn[] =>
  objectsOf(body.messages).map(({ role, content }) => ({ role: String(role), content }));

/** Blocks of a turn; a string is one block. */
const blocksOf = ({ content }: Turn): Members[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);

const toolsOf = ({ body }: EmulatedRequest): Members[] => objectsOf(body.tools);
const isReasoning = ({ type }: Members): boolean => type === "thinking" || type === "redacted_thinking";
const thinkingType = ({ body }: EmulatedRequest): unknown => (isObject(body.thinking) ? body.thinking.type : undefined);

const topLevel = new Set([
  "model",
  "messages",
  "max_tokens",
  "system",
  "temperature",
  "top_p",
  "top_k",
  "stop_sequences",
  "stream",
  "metadata",
  "thinking",
  "tools",
  "tool_choice",
  "output_config",
  "service_tier",
  "container",
  "context_management",
  "mcp_servers",
  "cache_control",
  "inference_geo",
  "speed",
  "fallbacks",
]);

function findUnmatched(turns: readonly Turn[]): string | undefined {
  for (const [index, turn] of turns.entries()) {
    const calls = turn.role === "assistant" ? blocksOf(turn).filter(({ type }) => type === "tool_use") : [];
    const following = turns[index + 1];
    const results = following ? blocksOf(following).filter(({ type }) => type === "tool_result") : [];
    const answered = new Set(results.map(({ tool_use_id: id }) => id));
    const missing = calls.find(({ id }) => !answered.has(id));
    if (missing) {
      return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.id}.`;
    }
    const made = new Set(calls.map(({ id }) => id));
    const stray = results.find(({ tool_use_id: id }) => !made.has(id));
    if (stray)
      return `messages.${index + 1}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${stray.tool_use_id}.`;
  }
  return undefined;
}

/** Whether the reasoning of a turn is what the model handed out: same blocks, same order, same place. */
function findChangedReasoning(turn: Turn, index: number, memory: Memory): string | undefined {
  const blocks = blocksOf(turn);
  for (const [at, block] of blocks.entries()) {
    if (!isReasoning(block)) continue;
    const handed = memory.find(block.signature ?? block.data);
    if (!handed) return `messages.${index}.content.${at}: Invalid \`signature\` in \`thinking\` block`;
  }
  const token = blocks.find(isReasoning);
  const handed = token && memory.find(token.signature ?? token.data);
  if (!handed) return undefined;
  // text may be split or joined; reasoning and calls have their places
  const places = (all: readonly Members[]) =>
    all.filter(({ type }) => type !== "text").map((one) => one.signature ?? one.data ?? one.id);
  if (JSON.stringify(places(blocks)) === JSON.stringify(places(handed.blocks))) return undefined;
  return `messages.${index}.content: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`;
}

/** Rules of the Messages API, at every host that speaks it. */
export const claudeRules: readonly Rule[] = [
  {
    id: "unknown-member",
    source: sources.messages,
    find: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !topLevel.has(name));
      return unknown && `${unknown}: Extra inputs are not permitted`;
    },
  },
  {
    id: "max-tokens",
    source: sources.messages,
    find: ({ body }) => (Number(body.max_tokens) >= 1 ? undefined : "max_tokens: Field required"),
  },
  {
    id: "first-role",
    source: sources.messages,
    find: (request) =>
      turnsOf(request)[0]?.role === "user" ? undefined : 'messages: first message must use the "user" role',
  },
  {
    id: "empty-text",
    source: sources.messages,
    find: (request) => {
      const isBlank = ({ type, text }: Members) => type === "text" && String(text ?? "").trim() === "";
      const index = turnsOf(request).findIndex((turn) => {
        const blocks = blocksOf(turn);
        return blocks.length === 0 || blocks.some(isBlank);
      });
      const inSystem = objectsOf(request.body.system).some(isBlank);
      if (inSystem) return "system: text content blocks must be non-empty";
      return index < 0 ? undefined : `messages.${index}: text content blocks must contain non-whitespace text`;
    },
  },
  {
    id: "trailing-whitespace",
    source: sources.messages,
    find: (request) => {
      const last = turnsOf(request).at(-1);
      const text = last?.role === "assistant" ? blocksOf(last).at(-1)?.text : undefined;
      return typeof text === "string" && text !== text.trimEnd()
        ? "messages: final assistant content cannot end with trailing whitespace"
        : undefined;
    },
  },
  {
    id: "prefill",
    source: sources.migration,
    models: withoutPrefill,
    find: (request) =>
      turnsOf(request).at(-1)?.role === "assistant"
        ? "This model does not support assistant message prefill. The conversation must end with a user message."
        : undefined,
  },
  {
    id: "role",
    source: `${sources.systemTurns} (from Opus 4.8, directly behind a turn of the user, last or before an answer, without a beta)`,
    find: (request) => {
      const takesSystem = /claude-(?:opus-4-[89]|fable|[a-z]+-[5-9])/.test(request.model);
      const turns = turnsOf(request);
      const wrong = turns.find(({ role }, index) => {
        if (role === "user" || role === "assistant") return false;
        const next = turns[index + 1]?.role;
        const isPlaced = turns[index - 1]?.role === "user" && (next === undefined || next === "assistant");
        return role !== "system" || !takesSystem || !isPlaced;
      });
      return wrong && `messages: Unexpected role "${wrong.role}". Allowed roles are "user" or "assistant".`;
    },
  },
  {
    id: "call-ids",
    source: sources.tools,
    find: (request) => {
      const ids = turnsOf(request).flatMap((turn) =>
        blocksOf(turn).flatMap(({ type, id }) => (type === "tool_use" ? [String(id)] : [])),
      );
      const wrong = ids.find((id) => !/^[a-zA-Z0-9_-]+$/.test(id));
      if (wrong) return `messages.content.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
      return new Set(ids).size === ids.length ? undefined : "messages: `tool_use` ids must be unique";
    },
  },
  { id: "unanswered-calls", source: sources.tools, find: (request) => findUnmatched(turnsOf(request)) },
  {
    id: "results-first",
    source: sources.tools,
    find: (request) => {
      const index = turnsOf(request).findIndex((turn) => {
        const types = blocksOf(turn).map(({ type }) => type === "tool_result");
        return types.includes(true) && types.lastIndexOf(true) > types.indexOf(false) && types.includes(false);
      });
      return index < 0 ? undefined : `messages.${index}: \`tool_result\` blocks must come first in the content`;
    },
  },
  {
    id: "tool-references",
    source: `${docs}/agents-and-tools/tool-use/tool-search-tool#custom-tool-search-implementation`,
    find: (request) => {
      const names = new Set(toolsOf(request).map(({ name }) => name));
      const results = turnsOf(request)
        .flatMap(blocksOf)
        .filter(({ type }) => type === "tool_result");
      const references = results
        .flatMap(({ content }) => objectsOf(content))
        .filter(({ type }) => type === "tool_reference");
      const wrong = references.find(({ tool_name: name }) => !names.has(name));
      return wrong && `Tool reference '${wrong.tool_name}' not found in available tools`;
    },
  },
  {
    id: "error-content",
    source: "https://github.com/can1357/oh-my-pi/issues/12809 (the API's message, 2026)",
    find: (request) => {
      const index = turnsOf(request).findIndex((turn) =>
        blocksOf(turn).some(
          ({ is_error: isError, content }) =>
            isError === true && objectsOf(content).some(({ type }) => type !== "text"),
        ),
      );
      return index < 0
        ? undefined
        : `messages.${index}.content.0.tool_result: all content must be type \`text\` if \`is_error\` is true`;
    },
  },
  {
    id: "call-input",
    source: sources.tools,
    find: (request) => {
      const blocks = turnsOf(request).flatMap(blocksOf);
      const wrong = blocks.some(({ type, input }) => type === "tool_use" && !isObject(input));
      return wrong ? "messages.content.tool_use.input: Input should be a valid dictionary" : undefined;
    },
  },
  {
    id: "tool-names",
    source: sources.tools,
    find: (request) => {
      const names = toolsOf(request).map(({ name }) => String(name));
      const wrong = names.find((name) => !/^[a-zA-Z0-9_-]{1,128}$/.test(name));
      if (wrong !== undefined) return `tools.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`;
      return new Set(names).size === names.length ? undefined : "tools: Tool names must be unique.";
    },
  },
  {
    id: "tool-schemas",
    source: `${sources.tools} (input_schema)`,
    find: (request) => {
      const own = toolsOf(request).filter(({ type }) => type === undefined || type === "custom");
      for (const [index, { input_schema: schema }] of own.entries()) {
        if (!isObject(schema) || schema.type !== "object")
          return `tools.${index}.custom.input_schema.type: Field required`;
        if (["oneOf", "allOf", "anyOf"].some((name) => name in schema)) {
          return `tools.${index}.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
        }
      }
      return undefined;
    },
  },
  {
    id: "sampling",
    source: sources.migration,
    models: withoutSampling,
    find: ({ body }) => {
      const name = ["temperature", "top_p", "top_k"].find((one) => body[one] !== undefined);
      return name && `\`${name}\` is deprecated for this model.`;
    },
  },
  {
    id: "one-sampler",
    source: sources.migration,
    models: /claude-[a-z]+-4-[1-6]|claude-haiku-4/,
    find: ({ body }) =>
      body.temperature !== undefined && body.top_p !== undefined
        ? "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        : undefined,
  },
  {
    id: "thinking-sampling",
    source: sources.thinking,
    find: (request) => {
      const type = thinkingType(request);
      if (type !== "enabled" && type !== "adaptive") return undefined;
      const { temperature, top_k, top_p } = request.body;
      if (temperature !== undefined && temperature !== 1)
        return "`temperature` may only be set to 1 when thinking is enabled.";
      if (top_k !== undefined) return "`top_k` must be unset when thinking is enabled.";
      if (top_p !== undefined && Number(top_p) < 0.95)
        return "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.";
      return undefined;
    },
  },
  {
    id: "thinking-type",
    source: sources.adaptive,
    models: adaptiveOnly,
    find: (request) =>
      thinkingType(request) === "enabled"
        ? '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        : undefined,
  },
  {
    id: "adaptive-thinking",
    source: sources.adaptive,
    models: /claude-(?:haiku-4|(?:opus|sonnet)-4-[0-5]|3)/,
    find: (request) =>
      thinkingType(request) === "adaptive" ? "adaptive thinking is not supported on this model" : undefined,
  },
  {
    id: "thinking-budget",
    source: sources.thinking,
    find: ({ body }) => {
      if (!isObject(body.thinking) || body.thinking.type !== "enabled") return undefined;
      const budget = Number(body.thinking.budget_tokens);
      if (!(budget >= 1024)) return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024";
      return budget < Number(body.max_tokens)
        ? undefined
        : "`max_tokens` must be greater than `thinking.budget_tokens`.";
    },
  },
  {
    id: "thinking-forced-tool",
    source: sources.thinking,
    find: (request) => {
      const { tool_choice: choice } = request.body;
      const isForced = isObject(choice) && (choice.type === "any" || choice.type === "tool");
      const type = thinkingType(request);
      return isForced && (type === "enabled" || type === "adaptive")
        ? "Thinking may not be enabled when tool_choice forces tool use."
        : undefined;
    },
  },
  {
    id: "thinking-blocks",
    source: `${sources.thinking}#preserving-thinking-blocks`,
    find: (request, memory) => {
      for (const [index, turn] of turnsOf(request).entries()) {
        const problem = turn.role === "assistant" ? findChangedReasoning(turn, index, memory) : undefined;
        if (problem) return problem;
      }
      return undefined;
    },
  },
  {
    id: "thinking-first",
    source: `${sources.thinking}#extended-thinking-with-tool-use`,
    find: (request) => {
      if (thinkingType(request) !== "enabled") return undefined;
      const turns = turnsOf(request);
      const last = turns.findLastIndex(({ role }) => role === "assistant");
      const [first] = last < 0 ? [] : blocksOf(turns[last] as Turn);
      const isOpen =
        last >= 0 && blocksOf(turns[last] as Turn).some(({ type }) => type === "tool_use") && last === turns.length - 2;
      return isOpen && first && !isReasoning(first)
        ? `messages.${last}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`
        : undefined;
    },
  },
  {
    id: "effort",
    source: sources.effort,
    find: ({ body, model }) => {
      const effort = isObject(body.output_config) ? body.output_config.effort : undefined;
      if (effort === undefined) return undefined;
      if (/claude-(?:haiku|3|sonnet-4-[0-5]|opus-4-[0-4])/.test(model))
        return "This model does not support the effort parameter.";
      const levels = ["low", "medium", "high"];
      if (!/opus-4-5/.test(model)) levels.push("max");
      if (withoutSampling.test(model)) levels.push("xhigh");
      return levels.includes(String(effort)) ? undefined : `output_config.effort: Input should be ${levels.join(", ")}`;
    },
  },
  {
    id: "cache-blocks",
    source: sources.caching,
    find: ({ body }) => {
      const count = JSON.stringify(body).match(/"cache_control":\{/g)?.length ?? 0;
      return count > 4 ? `A maximum of 4 blocks with cache_control may be provided. Found ${count}.` : undefined;
    },
  },
];

/** The model's blocks, with fresh ids and signatures that it knows again. */
export function claudeBlocks(turn: ModelTurn, { model }: EmulatedRequest, memory: Memory): Members[] {
  const blocks = turn.said.map((one) => toBlock(one, memory));
  const handed = { model, blocks };
  for (const block of blocks) {
    const token = block.signature ?? block.id;
    if (typeof token === "string") memory.hand(token, handed);
  }
  return blocks;
}

function toBlock(said: Said, memory: Memory): Members {
  const number = memory.next();
  if (said.kind === "text") return { type: "text", text: said.text };
  if (said.kind === "thinking")
    return { type: "thinking", thinking: said.text, signature: `claude-signature-${number}==` };
  const input = isObject(said.arguments) ? said.arguments : {};
  return { type: "tool_use", id: `toolu_${String(number).padStart(20, "0")}`, name: said.name, input };
}

const stopReason = (blocks: readonly Members[]): string =>
  blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";

/** A block in events (https://platform.claude.com/docs/en/build-with-claude/streaming). */
function toEvents(block: Members, index: number): Members[] {
  const deltas = (type: string, member: string, text: string): Members[] =>
    toPieces(text).map((piece) => ({ type, [member]: piece }));
  const [empty, changes]: [Members, Members[]] =
    block.type === "text"
      ? [{ type: "text", text: "" }, deltas("text_delta", "text", String(block.text))]
      : block.type === "thinking"
        ? [
            { type: "thinking", thinking: "", signature: "" },
            [
              ...deltas("thinking_delta", "thinking", String(block.thinking)),
              { type: "signature_delta", signature: block.signature },
            ],
          ]
        : [{ ...block, input: {} }, deltas("input_json_delta", "partial_json", JSON.stringify(block.input))];
  return [
    { type: "content_block_start", index, content_block: empty },
    ...changes.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
}

/** A message of Claude, whole and as the events of a stream. */
export function claudeAnswer(
  turn: ModelTurn,
  request: EmulatedRequest,
  memory: Memory,
): { whole: Members; events: readonly Members[] } {
  const content = claudeBlocks(turn, request, memory);
  const usage = countInput(request, memory);
  const head = { id: `msg_${memory.next()}`, type: "message", role: "assistant", model: request.model };
  const stop_reason = stopReason(content);
  const events: Members[] = [
    { type: "message_start", message: { ...head, content: [], stop_reason: null, stop_sequence: null, usage } },
    ...content.flatMap(toEvents),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 12 } },
    { type: "message_stop" },
  ];
  return { whole: { ...head, content, stop_reason, stop_sequence: null, usage }, events };
}

/** A message, or its events. */
export function answer(turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response {
  const { whole, events } = claudeAnswer(turn, request, memory);
  if (!request.streams) return jsonResponse(whole);
  return eventStream(events.map((data) => ({ event: String(data.type), data })));
}

export const claudePrefix = ({ body }: EmulatedRequest): readonly unknown[] => [
  body.system ?? null,
  body.tools ?? null,
  ...objectsOf(body.messages),
];

/** An error in Anthropic's shape. */
export const refuseClaude = (message: string): Response =>
  jsonResponse({ type: "error", error: { type: "invalid_request_error", message } }, 400);

/** Anthropic's Messages API. */
export const anthropic: Emulator = {
  name: "Anthropic Messages",
  native: "messages",
  showsReasoning: () => true,
  // with a budget it always thinks; with an adaptive one it may not
  thinksFirst: (request) => thinkingType(request) === "enabled",
  rules: claudeRules,
  serves: ({ host, pathname }) => host === "api.anthropic.com" && pathname === "/v1/messages",
  read: readRequest,
  prefixOf: claudePrefix,
  refuse: refuseClaude,
  answer,
};
