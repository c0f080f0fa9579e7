import { isObject } from "../../src/lib/json.ts";
import { type EmulatedRequest, type Emulator, type Rule, readRequest } from "./emulator.ts";
import { answerChat, chatPrefix, findUnmatched, functionsOf, messagesOf, nameRule, refuseChat } from "./openai-chat.ts";
import { outputRule, responsesEmulator, toolTypesRule } from "./openai-responses.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://console.groq.com/docs/api-reference#chat-create",
  reasoning: "https://console.groq.com/docs/reasoning",
  missing: "https://console.groq.com/docs/openai#currently-unsupported-openai-features",
  responses: "https://console.groq.com/docs/responses-api",
  members: "https://github.com/tashfeenahmed/freellmapi/issues/1070 (the API's message)",
  replay: "https://github.com/vercel/ai/pull/8057 (the API's message)",
} as const;

const reasons = /^(?:openai\/gpt-oss|qwen\/)/;

/** Effort levels by model; a model without levels refuses an effort. */
const levels: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^openai\/gpt-oss/, ["low", "medium", "high"]],
  [/^qwen\//, ["none", "default"]],
];

const levelsOf = (model: string): readonly string[] => levels.find(([pattern]) => pattern.test(model))?.[1] ?? [];

const effortRule = (effortOf: (request: EmulatedRequest) => unknown): Rule => ({
  id: "effort",
  source: sources.reasoning,
  find: (request) => {
    const effort = effortOf(request);
    if (effort === undefined || effort === null) return undefined;
    const known = levelsOf(request.model);
    if (known.length === 0) return "reasoning_effort is not supported with this model";
    return known.includes(String(effort))
      ? undefined
      : `\`reasoning_effort\` must be one of ${known.map((level) => `\`${level}\``).join(" or ")}`;
  },
});

/** Fields of messages by role. */
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  developer: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "reasoning"],
  tool: ["role", "content", "tool_call_id"],
};

const rules: readonly Rule[] = [
  { id: "unanswered-calls", source: sources.chat, find: (request) => findUnmatched(messagesOf(request)) },
  nameRule(sources.chat),
  effortRule(({ body }) => body.reasoning_effort),
  {
    id: "missing-features",
    source: sources.missing,
    find: ({ body }) => {
      const name = ["logprobs", "logit_bias", "top_logprobs"].find((one) => body[one] !== undefined);
      if (name) return `property '${name}' is unsupported`;
      return Number(body.n ?? 1) > 1 ? "'n' : number must be at most 1" : undefined;
    },
  },
  {
    id: "foreign-members",
    source: sources.chat,
    find: ({ body }) => {
      const name = ["thinking", "top_k", "system", "output_config", "reasoning"].find((one) => one in body);
      return name && `property '${name}' is unsupported`;
    },
  },
  {
    id: "message-members",
    source: `${sources.members}; names: ${sources.missing}`,
    find: (request) => {
      for (const [index, message] of messagesOf(request).entries()) {
        const known = messageFields[String(message.role)];
        if (!known) return `'messages.${index}' : discriminator property 'role' has invalid value`;
        const unknown = Object.keys(message).find((name) => !known.includes(name));
        if (unknown === undefined) continue;
        return `'messages.${index}' : for 'role:${message.role}' the following must be satisfied[('messages.${index}' : property '${unknown}' is unsupported)]`;
      }
      return undefined;
    },
  },
  {
    id: "reasoning-of-turns",
    source: sources.replay,
    find: (request) => {
      if (reasons.test(request.model)) return undefined;
      const index = messagesOf(request).findIndex(({ reasoning }) => reasoning !== undefined);
      return index < 0 ? undefined : `messages[${index}].reasoning: reasoning is not supported with this model`;
    },
  },
  {
    id: "reasoning-format",
    source: sources.reasoning,
    find: (request) => {
      const { reasoning_format: format, include_reasoning: includes, response_format: answer } = request.body;
      if (format === undefined) return undefined;
      if (!/^qwen\//.test(request.model)) return "reasoning_format is not supported with this model";
      if (includes !== undefined) return "cannot specify both reasoning_format and include_reasoning";
      if (!["parsed", "raw", "hidden"].includes(String(format)))
        return "reasoning_format must be one of parsed, raw, hidden";
      const isStructured = isObject(answer) && answer.type !== "text";
      return format === "raw" && (functionsOf(request).length > 0 || isStructured)
        ? "reasoning_format raw is not supported with tools or JSON mode"
        : undefined;
    },
  },
];

/** Whether the model thinks for a request. */
const thinks = ({ model, body }: EmulatedRequest): boolean =>
  reasons.test(model) && body.reasoning_effort !== "none" && body.reasoning_format !== "hidden";

/** Groq's chat API. Its reasoning models think by default. */
export const groq: Emulator = {
  name: "Groq chat",
  showsReasoning: (_model, request) => thinks(request),
  rules,
  serves: ({ host, pathname }) => host === "api.groq.com" && pathname === "/openai/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: refuseChat,
  answer: (turn, request, memory) => {
    // without a format, Qwen's reasoning stands in the text
    const isRaw = /^qwen\//.test(request.model) && request.body.reasoning_format === undefined && thinks(request);
    const isPlain = isRaw && functionsOf(request).length === 0;
    const said = isPlain
      ? turn.said.map((one) =>
          one.kind === "thinking" ? ({ kind: "text", text: `<think>${one.text}</think>` } as const) : one,
        )
      : turn.said;
    return answerAsGroq({ said }, request, memory);
  },
};

const answerAsGroq = answerChat({
  callId: (number) => `fc_${String(number).padStart(9, "0")}`,
  reasoning: (text, _number, request) => (thinks(request) ? { reasoning: text } : {}),
});

const unknownTool = (type: string): string => `'tools.0.type' : discriminator property has invalid value \`${type}\``;

/** Groq's Responses API. */
export const groqResponses = responsesEmulator({
  name: "Groq Responses",
  address: "api.groq.com/openai/v1/responses",
  rules: [
    effortRule(({ body }) => (isObject(body.reasoning) ? body.reasoning.effort : undefined)),
    outputRule(sources.responses),
    toolTypesRule(`${sources.responses} (functions and built-in tools)`, ["namespace", "custom"], unknownTool),
  ],
  thinking: reasons,
});
