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
import { callsOf, chatPrefix, findUnmatched, messagesOf } from "./openai-chat.ts";

/** Pages of the documentation and the types of the provider's SDK, as read in November 2026. */
const sources = {
  chat: "https://docs.cohere.com/reference/chat",
  reasoning: "https://docs.cohere.com/docs/reasoning",
  strict: "https://docs.cohere.com/docs/tool-use-parameter-types",
  messages: "cohere-python, types/chat_message_v2.py and its contents",
  calls: "https://github.com/oracle/langchain-oracle/issues/10 (the API's message)",
} as const;

/** Fields of a request. */
const fields = new Set(
  (
    "stream model messages tools strict_tools documents citation_options response_format safety_mode max_tokens " +
    "stop_sequences temperature seed frequency_penalty presence_penalty k p logprobs tool_choice thinking priority " +
    "raw_prompting return_prompt"
  ).split(" "),
);

/** Fields of messages by role. */
const messageFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls", "tool_plan", "citations"],
  tool: ["role", "content", "tool_call_id"],
};

/** Types of parts by role. */
const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  user: ["text", "image_url"],
  assistant: ["text", "thinking"],
  tool: ["text", "document"],
};

/** Least and greatest values. */
const bounds: Readonly<Record<string, readonly [number, number]>> = {
  p: [0.01, 0.99],
  k: [0, 500],
  frequency_penalty: [0, 1],
  presence_penalty: [0, 1],
};

/** Models that think, unless they are asked not to; the others plan their calls. */
const reasons = /^command-a-(?:reasoning|plus)/;

const functionsOf = ({ body }: EmulatedRequest): Members[] =>
  objectsOf(body.tools).flatMap(({ type, function: declared }) =>
    type === "function" && isObject(declared) ? [declared] : [],
  );

const rules: readonly Rule[] = [
  {
    id: "unknown-field",
    source: sources.chat,
    find: ({ body }) => {
      const unknown = Object.keys(body).find((name) => !fields.has(name));
      return unknown && `invalid request: unknown field '${unknown}'`;
    },
  },
  {
    id: "message-fields",
    source: sources.messages,
    find: (request) => {
      for (const message of messagesOf(request)) {
        const known = messageFields[String(message.role)];
        if (!known) return `invalid request: invalid role '${message.role}' in message`;
        const unknown = Object.keys(message).find((name) => !known.includes(name));
        if (unknown) return `invalid request: unknown field '${unknown}' in a message of role '${message.role}'`;
      }
      return undefined;
    },
  },
  { id: "unanswered-calls", source: sources.calls, find: (request) => findUnmatched(messagesOf(request)) },
  {
    id: "content",
    source: sources.messages,
    find: (request) => {
      for (const message of messagesOf(request)) {
        const { role, content } = message;
        const isMissing = content === undefined || content === null;
        if (isMissing && role === "assistant" && callsOf(message).length > 0) continue;
        if (isMissing) return `invalid request: a message of role '${role}' has no content`;
        if (typeof content === "string") continue;
        const wrong = objectsOf(content).find(({ type }) => !partTypes[String(role)]?.includes(String(type)));
        if (wrong) return `invalid request: content of type '${wrong.type}' is not supported for role '${role}'`;
        if (objectsOf(content).length === 0) return `invalid request: a message of role '${role}' has no content`;
      }
      return undefined;
    },
  },
  {
    id: "bounds",
    source: sources.chat,
    find: ({ body }) => {
      const wrong = Object.entries(bounds).find(([name, [least, most]]) => {
        const value = body[name];
        return value !== undefined && !(typeof value === "number" && value >= least && value <= most);
      });
      return wrong && `invalid request: ${wrong[0]} must be between ${wrong[1].join(" and ")}`;
    },
  },
  {
    id: "tools",
    source: sources.chat,
    find: ({ body, ...request }) => {
      const wrong = objectsOf(body.tools).find(
        ({ type, function: declared }) =>
          type !== "function" || !isObject(declared) || typeof declared.name !== "string",
      );
      if (wrong) return "invalid request: a tool must be a function with a name";
      const choice = body.tool_choice;
      if (choice !== undefined && !["REQUIRED", "NONE"].includes(String(choice)))
        return `invalid request: tool_choice must be REQUIRED or NONE, got ${choice}`;
      return choice === "REQUIRED" && functionsOf({ body, ...request }).length === 0
        ? "invalid request: tool_choice needs tools"
        : undefined;
    },
  },
  {
    id: "thinking",
    source: sources.reasoning,
    find: ({ body }) => {
      const { thinking } = body;
      if (thinking === undefined) return undefined;
      if (!isObject(thinking) || !["enabled", "disabled"].includes(String(thinking.type)))
        return "invalid request: thinking.type must be enabled or disabled";
      const { token_budget: budget } = thinking;
      return budget !== undefined && !(Number.isInteger(budget) && Number(budget) > 0)
        ? "invalid request: thinking.token_budget must be a positive integer"
        : undefined;
    },
  },
];

interface Spoken {
  thinking: string;
  plan: string;
  text: string;
  calls: Members[];
}

/** Whether the model thinks for a request. */
const thinks = ({ model, body }: EmulatedRequest): boolean =>
  reasons.test(model) && !(isObject(body.thinking) && body.thinking.type === "disabled");

function speak({ said }: ModelTurn, request: EmulatedRequest, memory: Memory): Spoken {
  const all = (kind: "text" | "thinking") => said.flatMap((one) => (one.kind === kind ? [one.text] : [])).join("");
  const calls = said.flatMap((one) =>
    one.kind === "call"
      ? [
          {
            id: `${one.name}_${memory.next()}`,
            type: "function",
            function: { name: one.name, arguments: argumentsText(one.arguments) },
          },
        ]
      : [],
  );
  const isPlanned = !reasons.test(request.model) && calls.length > 0;
  return {
    thinking: thinks(request) ? all("thinking") : "",
    plan: isPlanned ? all("thinking") : "",
    text: all("text"),
    calls,
  };
}

/** Events of a stream (https://docs.cohere.com/docs/streaming). */
function toEvents({ thinking, plan, text, calls }: Spoken): Members[] {
  const contents = [
    ...(thinking === "" ? [] : [{ type: "thinking", member: "thinking", said: thinking }]),
    ...(text === "" && calls.length > 0 ? [] : [{ type: "text", member: "text", said: text }]),
  ];
  const ofContents = contents.flatMap(({ type, member, said }, index) => [
    { type: "content-start", index, delta: { message: { content: { type, [member]: "" } } } },
    ...toPieces(said).map((piece) => ({
      type: "content-delta",
      index,
      delta: { message: { content: { [member]: piece } } },
    })),
    { type: "content-end", index },
  ]);
  const ofPlan =
    plan === ""
      ? []
      : toPieces(plan).map((piece) => ({ type: "tool-plan-delta", delta: { message: { tool_plan: piece } } }));
  const ofCalls = calls.flatMap((call, index) => {
    const made = call.function as { name: string; arguments: string };
    return [
      {
        type: "tool-call-start",
        index,
        delta: { message: { tool_calls: { ...call, function: { ...made, arguments: "" } } } },
      },
      ...toPieces(made.arguments).map((piece) => ({
        type: "tool-call-delta",
        index,
        delta: { message: { tool_calls: { function: { arguments: piece } } } },
      })),
      { type: "tool-call-end", index },
    ];
  });
  return [...ofContents, ...ofPlan, ...ofCalls];
}

const counts = {
  tokens: { input_tokens: 40, output_tokens: 12 },
  billed_units: { input_tokens: 40, output_tokens: 12 },
};

function answer(turn: ModelTurn, request: EmulatedRequest, memory: Memory): Response {
  const spoken = speak(turn, request, memory);
  const { thinking, plan, text, calls } = spoken;
  const id = `00000000-0000-4000-8000-${String(memory.next()).padStart(12, "0")}`;
  const finish_reason = calls.length > 0 ? "TOOL_CALL" : "COMPLETE";
  if (!request.streams) {
    const content = [
      ...(thinking === "" ? [] : [{ type: "thinking", thinking }]),
      ...(text === "" && calls.length > 0 ? [] : [{ type: "text", text }]),
    ];
    const message = {
      role: "assistant",
      ...(content.length > 0 && { content }),
      ...(plan !== "" && { tool_plan: plan }),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    return jsonResponse({ id, finish_reason, message, usage: counts });
  }
  const begun = { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] };
  const events: Members[] = [
    { type: "message-start", id, delta: { message: begun } },
    ...toEvents(spoken),
    { type: "message-end", id, delta: { finish_reason, usage: counts } },
  ];
  return eventStream(events.map((data) => ({ event: String(data.type), data })));
}

/** Cohere's chat API, version 2. */
export const cohere: Emulator = {
  name: "Cohere chat",
  showsReasoning: (_model, request) => thinks(request),
  rules,
  serves: ({ host, pathname }) => /^api\.cohere\.(?:ai|com)$/.test(host) && pathname === "/v2/chat",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) => jsonResponse({ id: "00000000-0000-4000-8000-000000000000", message }, 400),
  answer,
};
