import { isObject, parseJson } from "../../src/lib/json.ts";
import {
  argumentsText,
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
  toPieces,
} from "./emulator.ts";

import { effortRules, findToolFault, isReasoning, reasons } from "./openai-models.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://platform.openai.com/docs/api-reference/chat/create",
  functions: "https://platform.openai.com/docs/guides/function-calling",
  reasoning: "https://platform.openai.com/docs/guides/reasoning",
  models: "https://platform.openai.com/docs/guides/latest-model",
} as const;

export const messagesOf = ({ body }: EmulatedRequest): Members[] => objectsOf(body.messages);
export const functionsOf = ({ body }: EmulatedRequest): Members[] =>
  objectsOf(body.tools).flatMap(({ type, function: declared }) =>
    type === "function" && isObject(declared) ? [declared] : [],
  );

/** Calls of a message. */
export const callsOf = (message: Members | undefined): Members[] => objectsOf(message?.tool_calls);

/** The first call without its result right after, or result without its call right before. */
export function findUnmatched(messages: readonly Members[]): string | undefined {
  let open = new Set<unknown>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id)) {
        return `messages[${index}]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`;
      }
      continue;
    }
    if (open.size > 0) break;
    open = new Set(callsOf(message).map(({ id }) => id));
  }
  if (open.size === 0) return undefined;
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`;
}

/** A rule about names of functions. */
export const nameRule = (source: string, pattern = /^[a-zA-Z0-9_-]{1,64}$/): Rule => ({
  id: "function-names",
  source,
  find: (request) => {
    const called = messagesOf(request).flatMap((message) =>
      callsOf(message).map(({ function: made }) => (isObject(made) ? made.name : undefined)),
    );
    const names = [...functionsOf(request).map(({ name }) => name), ...called];
    const wrong = names.find((name) => !pattern.test(String(name)));
    return wrong === undefined
      ? undefined
      : `Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '${pattern.source}'.`;
  },
});

const rules: readonly Rule[] = [
  {
    id: "unanswered-calls",
    source: sources.functions,
    find: (request) => findUnmatched(messagesOf(request)),
  },
  nameRule(sources.functions),
  {
    id: "call-ids",
    source: sources.chat,
    find: (request) => {
      const ids = messagesOf(request).flatMap((message) => callsOf(message).map(({ id }) => String(id)));
      return ids.some((id) => id.length > 40)
        ? "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40."
        : undefined;
    },
  },
  {
    id: "tools",
    source: sources.functions,
    find: (request) => findToolFault(functionsOf(request)),
  },
  {
    id: "content",
    source: sources.chat,
    find: (request) => {
      const index = messagesOf(request).findIndex((message) => {
        const { role, content } = message;
        const isMissing = content === null || content === undefined;
        return (
          (isMissing && (role !== "assistant" || callsOf(message).length === 0)) ||
          (Array.isArray(content) && content.length === 0)
        );
      });
      return index < 0 ? undefined : `Invalid value for 'content': expected a string, got null. (messages[${index}])`;
    },
  },
  {
    id: "tool-media",
    source: `${sources.chat} (tool messages take text parts)`,
    find: (request) => {
      const media = messagesOf(request).some(
        ({ role, content }) => role === "tool" && objectsOf(content).some(({ type }) => type !== "text"),
      );
      return media ? "Invalid 'messages': Image URLs are only allowed for messages with role 'user'" : undefined;
    },
  },
  {
    id: "max-tokens",
    source: sources.reasoning,
    models: reasons,
    find: ({ body }) =>
      body.max_tokens === undefined
        ? undefined
        : "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  },
  {
    id: "sampling",
    source: sources.models,
    models: reasons,
    find: ({ body, model }) => {
      if (!isReasoning(model, body.reasoning_effort)) return undefined;
      if (body.temperature !== undefined && body.temperature !== 1) {
        return "Unsupported value: 'temperature' does not support this value with this model. Only the default (1) value is supported.";
      }
      return body.top_p !== undefined && body.top_p !== 1
        ? "Unsupported parameter: 'top_p' is not supported with this model."
        : undefined;
    },
  },
  {
    id: "effort-without-reasoning",
    source: sources.reasoning,
    models: /^(?:gpt-4|gpt-3|chatgpt-4o)/,
    find: ({ body }) =>
      body.reasoning_effort === undefined ? undefined : "Unrecognized request argument supplied: reasoning_effort",
  },
  ...effortRules("reasoning_effort", ({ body }) => body.reasoning_effort),
  {
    id: "tools-with-effort",
    source: `${sources.models} (from gpt-5.4)`,
    models: /^gpt-5\.[4-9]/,
    find: (request) => {
      if (functionsOf(request).length === 0) return undefined;
      const { reasoning_effort: effort } = request.body;
      const isDefaultOn = /^gpt-5\.[6-9]/.test(request.model) && (effort === undefined || effort === null);
      const isOn = typeof effort === "string" && effort !== "none";
      return isOn || isDefaultOn
        ? "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        : undefined;
    },
  },
  {
    id: "foreign-members",
    source: sources.chat,
    find: ({ body }) => {
      const foreign = ["thinking", "top_k", "system", "stop_sequences", "output_config"].find((name) => name in body);
      return foreign && `Unknown parameter: '${foreign}'.`;
    },
  },
];

/** How a host writes chat completions. */
export interface ChatForm {
  /** The id of a call from its number. */
  callId(number: number): string;
  /** The index that a streamed call carries. */
  callIndex?(index: number): number | undefined;
  /** Members of a message for its reasoning; absent where the host shows none. */
  reasoning?(text: string, number: number, request: EmulatedRequest): Members;
  /** Further members of a message, such as what belongs to its calls. */
  extend?(message: Members, asked: { model: string; number: number }): Members;
  /** Deltas of a stream whose message has further members. */
  stream?(deltas: readonly Members[], message: Members): Members[];
}

interface Spoken {
  content: string | null;
  reasoning: string;
  calls: Members[];
}

function speak(turn: ModelTurn, memory: Memory, form: ChatForm): Spoken {
  const textOf = (kind: "text" | "thinking") =>
    turn.said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join("");
  const calls = turn.said.flatMap((one) =>
    one.kind === "call"
      ? [
          {
            id: form.callId(memory.next()),
            type: "function",
            function: { name: one.name, arguments: argumentsText(one.arguments) },
          },
        ]
      : [],
  );
  const text = textOf("text");
  return { content: text === "" && calls.length > 0 ? null : text, reasoning: textOf("thinking"), calls };
}

const usage = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };

/** Chunks of a response. Names and ids come once, arguments in pieces. */
function toChunks({ content, calls }: Spoken, reasoning: Members, form: ChatForm): Members[] {
  const place = (index: number): Members => {
    const shown = form.callIndex ? form.callIndex(index) : index;
    return shown === undefined ? {} : { index: shown };
  };
  const ofReasoning = Object.entries(reasoning).flatMap(([name, value]) =>
    typeof value === "string" ? toPieces(value).map((piece) => ({ [name]: piece })) : [{ [name]: value }],
  );
  const ofCalls = calls.flatMap((call, index) => {
    const { name, arguments: given } = call.function as { name: string; arguments: string };
    const pieces = toPieces(given);
    const [first = "", ...rest] = form.callIndex ? [given] : pieces;
    return [
      { tool_calls: [{ ...place(index), id: call.id, type: "function", function: { name, arguments: first } }] },
      ...rest.map((piece) => ({ tool_calls: [{ ...place(index), function: { arguments: piece } }] })),
    ];
  });
  return [
    { role: "assistant", content: "" },
    ...ofReasoning,
    ...(content === null ? [] : toPieces(content).map((piece) => ({ content: piece }))),
    ...ofCalls,
  ];
}

/** Answers in the shape of a chat completion. */
export function answerChat(form: ChatForm) {
  return (turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response => {
    const spoken = speak(turn, memory, form);
    const number = memory.next();
    const reasoning = spoken.reasoning === "" ? {} : (form.reasoning?.(spoken.reasoning, number, request) ?? {});
    const { content, calls } = spoken;
    const said = { role: "assistant", content, ...reasoning, ...(calls.length > 0 && { tool_calls: calls }) };
    const message = { ...said, ...form.extend?.(said, { model: request.model, number }) };
    for (const { id } of calls) memory.hand(String(id), { model: request.model, blocks: [message] });
    const head = { id: `chatcmpl-${number}`, created: 1_795_000_000, model: request.model };
    const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
    if (!request.streams) {
      const choices = [{ index: 0, message, logprobs: null, finish_reason }];
      return jsonResponse({ ...head, object: "chat.completion", choices, usage });
    }
    const chunk = (delta: Members, finish: string | null = null): { data: unknown } => ({
      data: {
        ...head,
        object: "chat.completion.chunk",
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
      },
    });
    const { stream_options: options, usage: own } = request.body;
    // `usage` is the form of OpenRouter (https://openrouter.ai/docs/use-cases/usage-accounting)
    const asked = (isObject(options) && options.include_usage === true) || (isObject(own) && own.include === true);
    const deltas = toChunks(spoken, reasoning, form);
    return eventStream([
      ...(form.stream?.(deltas, message) ?? deltas).map((delta) => chunk(delta)),
      chunk({}, finish_reason),
      ...(asked ? [{ data: { ...head, object: "chat.completion.chunk", choices: [], usage } }] : []),
      { data: "[DONE]" },
    ]);
  };
}

export const chatPrefix = ({ body }: EmulatedRequest): readonly unknown[] => [
  body.tools ?? null,
  ...objectsOf(body.messages),
];

/** An error in OpenAI's shape. */
export const refuseChat = (message: string): Response =>
  jsonResponse({ error: { message, type: "invalid_request_error", param: null, code: null } }, 400);

/** A rule about the roles of messages. */
export const roleRule = (source: string, toMessage: (role: string) => string): Rule => ({
  id: "roles",
  source,
  find: (request) => {
    const known = ["system", "user", "assistant", "tool"];
    const wrong = messagesOf(request).find(({ role }) => !known.includes(String(role)));
    return wrong && toMessage(String(wrong.role));
  },
});

/** A rule about content: a string, or a list of text parts. */
export const textOnlyRule = (source: string, message: string): Rule => ({
  id: "text-only",
  source: `${source} (content is a string, or a list of text parts)`,
  find: (request) => {
    const part = messagesOf(request)
      .flatMap(({ content }) => (Array.isArray(content) ? content : []))
      .find((one) => !isObject(one) || one.type !== "text");
    return part === undefined ? undefined : message;
  },
});

/** The kind of call that a request demands: of any function, or of the named one; undefined where it demands none. */
export function demandedCall({ body }: EmulatedRequest): "required" | "specified" | undefined {
  if (body.tool_choice === "required") return "required";
  return isObject(body.tool_choice) ? "specified" : undefined;
}

/** Whether a request turns thinking off by the `thinking` field. */
export const isUnthinking = ({ body }: EmulatedRequest): boolean =>
  isObject(body.thinking) && body.thinking.type === "disabled";

/** Whether arguments of earlier calls are JSON objects, for hosts that parse them. */
export const parsedArgumentsRule = (source: string): Rule => ({
  id: "call-arguments",
  source,
  find: (request) => {
    const given = messagesOf(request).flatMap((message) =>
      callsOf(message).map(({ function: made }) => (isObject(made) ? made.arguments : undefined)),
    );
    const wrong = given.find((text) => typeof text !== "string" || !isObject(parseJson(text)));
    return wrong === undefined ? undefined : "tool call arguments must be a JSON object";
  },
});

/** OpenAI's chat completions API. Its reasoning is not shown. */
export const openaiChat: Emulator = {
  name: "OpenAI chat",
  native: "chat",
  showsReasoning: () => false,
  rules,
  serves: ({ host, pathname }) => host === "api.openai.com" && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: refuseChat,
  answer: answerChat({ callId: (number) => `call_${String(number).padStart(24, "0")}` }),
};
