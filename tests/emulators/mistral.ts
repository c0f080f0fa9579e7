import { isObject } from "../../src/lib/json.ts";
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
import { callsOf, chatPrefix, functionsOf, messagesOf } from "./openai-chat.ts";

/** Pages of the documentation and the provider's own validator, as read in November 2026. */
const sources = {
  chat: "https://docs.mistral.ai/api/#tag/chat",
  reasoning: "https://docs.mistral.ai/capabilities/reasoning/adjustable",
  validator: "mistral-common 1.13.1, protocol/instruct/validator.py",
} as const;

/** Versions of tokenizers by model; others have the newest. */
const versions: readonly (readonly [RegExp, number])[] = [
  [/^(?:open-mistral-7b|open-mixtral)/, 3],
  [/^(?:mistral-large-24|mistral-small-2[45]01|pixtral)/, 7],
  [/^magistral-.*-250[67]/, 11],
  [/^(?:magistral-.*-2509|mistral-medium-25|mistral-large-25|mistral-small-2506|devstral|codestral)/, 13],
];

/** The version of a model's tokenizer, on which rules depend. */
export const versionOf = (model: string): number => versions.find(([pattern]) => pattern.test(model))?.[1] ?? 15;

/** Fields of a request. */
const fields = new Set(
  (
    "model messages temperature top_p max_tokens stream stop random_seed metadata response_format tools tool_choice " +
    "presence_penalty frequency_penalty n prediction parallel_tool_calls reasoning_effort prompt_mode guardrails " +
    "prompt_cache_key safe_prompt"
  ).split(" "),
);

/** Fields of messages by role. */
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "prefix"],
  tool: ["role", "content", "tool_call_id", "name"],
};

/** Roles that may follow a role. */
const following: Readonly<Record<string, readonly string[]>> = {
  system: ["user", "assistant", "system"],
  user: ["assistant", "system", "user"],
  assistant: ["assistant", "user", "tool"],
  tool: ["assistant", "tool", "user"],
};

/** Types of parts that a message may have, by its role and the version. */
function partTypes(role: string, version: number): readonly string[] {
  const text = ["text"];
  if (role === "user")
    return version >= 7 ? [...text, "image_url", "input_audio", "document_url", "file"] : [...text, "image_url"];
  if (role === "assistant") return version >= 11 ? [...text, "thinking"] : text;
  return role === "system" && version >= 7 && version < 15 ? [...text, "thinking"] : text;
}

const nine = /^[a-zA-Z0-9]{9}$/;

function findWrongCallId(request: EmulatedRequest): string | undefined {
  const isOld = versionOf(request.model) < 13;
  const isWrong = (id: unknown): boolean =>
    isOld ? !nine.test(String(id)) : typeof id !== "string" || id === "" || id === "null";
  for (const message of messagesOf(request)) {
    const ids = message.role === "tool" ? [message.tool_call_id] : callsOf(message).map(({ id }) => id);
    const wrong = ids.find(isWrong);
    if (wrong === undefined && !ids.includes(undefined)) continue;
    return isOld
      ? `Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`
      : "Tool call id must be a non-empty string other than 'null' for tokenizer version 13 or newer.";
  }
  return undefined;
}

const unequal = "Not the same number of function calls and responses";

/** Whether calls and results differ in number, which is all that tokenizers before version 11 look at. */
function findUncounted(request: EmulatedRequest): string | undefined {
  let open = 0;
  for (const message of messagesOf(request).slice(1)) {
    if (message.role === "tool") open -= 1;
    if (message.role !== "assistant") continue;
    if (open !== 0) return unequal;
    open = callsOf(message).length;
  }
  return open === 0 ? undefined : unequal;
}

/** The first call and result that do not belong together. */
function findUnpaired(request: EmulatedRequest): string | undefined {
  if (versionOf(request.model) < 11) return findUncounted(request);
  const open = new Set<unknown>();
  const seen = new Set<unknown>();
  for (const message of messagesOf(request).slice(1)) {
    if (message.role === "tool") {
      const { tool_call_id: id } = message;
      if (seen.has(id)) return `Duplicate tool call id ${id} in tool results`;
      if (!open.has(id)) return `Unexpected tool call id ${id} in tool results`;
      seen.add(id);
    } else if (message.role === "assistant") {
      if (open.size !== seen.size) return unequal;
      open.clear();
      seen.clear();
      for (const { id } of callsOf(message)) {
        if (open.has(id)) return `Duplicate tool call id ${id} in assistant message`;
        open.add(id);
      }
    }
  }
  return open.size === seen.size ? undefined : unequal;
}

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

const wrongLast = ({ role }: Members): string =>
  `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${role}`;

const rules: readonly Rule[] = [
  {
    id: "unknown-field",
    source: `${sources.chat} (the API forbids other fields)`,
    find: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !fields.has(name));
      return unknown && `Extra inputs are not permitted: body.${unknown}`;
    },
  },
  {
    id: "message-fields",
    source: `${sources.chat} (messages of ${sources.validator} forbid other fields)`,
    find: (request) => {
      for (const [index, message] of messagesOf(request).entries()) {
        const known = messageFields[String(message.role)];
        if (!known) return `Input tag '${message.role}' found using 'role' does not match any of the expected tags`;
        const unknown = Object.keys(message).find((name) => !known.includes(name));
        if (unknown) return `Extra inputs are not permitted: body.messages.${index}.${message.role}.${unknown}`;
      }
      return undefined;
    },
  },
  {
    id: "role-order",
    source: sources.validator,
    find: (request) => {
      let before: string | undefined;
      for (const { role } of messagesOf(request)) {
        if (before !== undefined && !following[before]?.includes(String(role))) {
          return `Unexpected role '${role}' after role '${before}'`;
        }
        before = String(role);
      }
      return undefined;
    },
  },
  {
    id: "last-role",
    source: sources.validator,
    find: (request) => {
      const messages = messagesOf(request);
      const last = messages.at(-1);
      if (messages.length < 2) {
        return last?.role === "user" || last?.role === "system"
          ? undefined
          : "Conversation must start with a user message or system message";
      }
      return last?.role !== "assistant" || last.prefix === true ? undefined : wrongLast(last);
    },
  },
  {
    id: "last-instruction",
    source: `${sources.validator} (as its messages and its description say; its code does not refuse it)`,
    find: (request) => {
      const messages = messagesOf(request);
      const last = messages.at(-1);
      return messages.length > 1 && last?.role === "system" ? wrongLast(last) : undefined;
    },
  },
  {
    id: "prefix",
    source: sources.validator,
    find: (request) =>
      messagesOf(request)
        .slice(0, -1)
        .some(({ prefix }) => prefix === true)
        ? "Assistant message with prefix True must be last message"
        : undefined,
  },
  { id: "call-ids", source: sources.validator, find: findWrongCallId },
  { id: "unanswered-calls", source: sources.validator, find: findUnpaired },
  {
    id: "parts",
    source: sources.validator,
    find: (request) => {
      for (const { role, content } of messagesOf(request)) {
        if (role === "tool" && versionOf(request.model) >= 15) continue;
        const allowed = partTypes(String(role), versionOf(request.model));
        const wrong = objectsOf(content).find(({ type }) => !allowed.includes(String(type)));
        if (wrong) return `Unexpected content chunk types in ${role} message: ['${wrong.type}']`;
      }
      return undefined;
    },
  },
  {
    id: "content",
    source: sources.validator,
    find: (request) => {
      const wrong = messagesOf(request).find(
        ({ role, content }) => role !== "assistant" && typeof content !== "string" && !Array.isArray(content),
      );
      return wrong && `Input should be a valid string: body.messages.${wrong.role}.content`;
    },
  },
  {
    id: "content-or-calls",
    source: `${sources.validator} (before version 7)`,
    models: /^(?:open-mistral-7b|open-mixtral)/,
    find: (request) =>
      messagesOf(request).some(
        (message) => message.role === "assistant" && Boolean(message.content) === callsOf(message).length > 0,
      )
        ? "Assistant message must have either content or tool_calls, but not both."
        : undefined,
  },
  {
    id: "function-names",
    source: sources.validator,
    find: (request) => {
      const called = messagesOf(request).flatMap((message) =>
        callsOf(message).map(({ function: made }) => (isObject(made) ? made.name : undefined)),
      );
      const wrong = [...functionsOf(request).map(({ name }) => name), ...called].find(
        (name) => !namePattern.test(String(name)),
      );
      return wrong === undefined
        ? undefined
        : `Function name was ${wrong} but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64.`;
    },
  },
  {
    id: "parameters",
    source: `${sources.chat} (parameters are required)`,
    find: (request) =>
      functionsOf(request).some(({ parameters }) => !isObject(parameters))
        ? "Field required: body.tools.function.parameters"
        : undefined,
  },
  {
    id: "effort",
    source: sources.reasoning,
    find: ({ body, model }) => {
      const { reasoning_effort: effort } = body;
      if (effort === undefined || effort === null) return undefined;
      if (versionOf(model) < 15) return `reasoning_effort='${effort}' is not supported for this model`;
      return ["none", "high"].includes(String(effort))
        ? undefined
        : `Invalid reasoning_effort '${effort}': expected one of none, high`;
    },
  },
];

/** Whether the model thinks: by itself, or because it is asked to. */
const thinks = ({ model, body }: EmulatedRequest): boolean =>
  /^magistral-.*-25/.test(model) || (versionOf(model) >= 15 && body.reasoning_effort === "high");

const thinkingPart = (text: string): Members => ({ type: "thinking", thinking: [{ type: "text", text }] });

interface Spoken {
  thinking: string;
  text: string;
  calls: Members[];
}

function speak({ said }: ModelTurn, request: EmulatedRequest, memory: Memory): Spoken {
  const all = (kind: "text" | "thinking") => said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join("");
  const calls = said.flatMap((one) =>
    one.kind === "call"
      ? [
          {
            // nine letters and digits
            id: `c${String(memory.next()).padStart(8, "0")}`,
            type: "function",
            function: { name: one.name, arguments: argumentsText(one.arguments) },
          },
        ]
      : [],
  );
  return { thinking: thinks(request) ? all("thinking") : "", text: all("text"), calls };
}

/** Deltas of a stream: thinking as parts, text as strings, calls whole. The index of a call is 0 where it is not given. */
const toDeltas = ({ thinking, text, calls }: Spoken): Members[] => [
  { role: "assistant", content: "" },
  ...(thinking === "" ? [] : toPieces(thinking).map((piece) => ({ content: [thinkingPart(piece)] }))),
  ...(text === "" ? [] : toPieces(text).map((piece) => ({ content: piece }))),
  ...calls.map((call) => ({ tool_calls: [{ ...call, index: 0 }] })),
];

const usage = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 };

function answer(turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response {
  const spoken = speak(turn, request, memory);
  const head = { id: `cmpl-${memory.next()}`, created: 1_795_000_000, model: request.model };
  const finish_reason = spoken.calls.length > 0 ? "tool_calls" : "stop";
  const { thinking, text, calls } = spoken;
  const parts = [thinkingPart(thinking), ...(text === "" ? [] : [{ type: "text", text }])];
  if (!request.streams) {
    const content = thinking === "" ? text : parts;
    const message = { role: "assistant", content, tool_calls: calls.length > 0 ? calls : null };
    return jsonResponse({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage });
  }
  const chunk = (delta: Members, finish: string | null = null, counts: Members = {}): { data: unknown } => ({
    data: {
      ...head,
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...counts,
    },
  });
  const deltas = toDeltas(spoken).map((delta) => chunk(delta));
  return eventStream([...deltas, chunk({ content: "" }, finish_reason, { usage }), { data: "[DONE]" }]);
}

/** The rule that a request breaks, of those that the validator enforces too. */
export function findMistralFault(body: Members): string | undefined {
  const request: EmulatedRequest = { path: "", headers: {}, body, model: String(body.model), streams: false };
  for (const rule of rules) {
    if (rule.id === "last-instruction" || (rule.models && !rule.models.test(request.model))) continue;
    const message = rule.find(request, undefined as never); // these rules remember nothing
    if (message !== undefined) return `${rule.id}: ${message}`;
  }
  return undefined;
}

/** Mistral's chat API. */
export const mistral: Emulator = {
  name: "Mistral chat",
  showsReasoning: (_model, request) => thinks(request),
  rules,
  serves: ({ host, pathname }) => host === "api.mistral.ai" && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) =>
    jsonResponse({ object: "error", message, type: "invalid_request_error", param: null, code: "3051" }, 400),
  answer,
};
