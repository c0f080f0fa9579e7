import { isObject } from "../../src/lib/json.ts";
import { type EmulatedRequest, type Emulator, jsonResponse, objectsOf, type Rule, readRequest } from "./emulator.ts";
import { answerChat, chatPrefix, findUnmatched, functionsOf, messagesOf, nameRule } from "./openai-chat.ts";
import { outputRule, responsesEmulator, sealRule, toolTypesRule } from "./openai-responses.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://docs.x.ai/docs/api-reference#chat-completions",
  functions: "https://docs.x.ai/docs/guides/function-calling",
  reasoning: "https://docs.x.ai/developers/model-capabilities/text/reasoning",
  content: "https://github.com/langchain-ai/langchain/issues/34140 (the API's message)",
  toolTypes: "https://github.com/maximhq/bifrost/issues/5428 (the API's message, July 2026)",
  seals: "https://github.com/chenyme/grok2api/issues/688 (the API's message, July 2026)",
  nullContent: "https://github.com/Wei-Shaw/sub2api/issues/4237 (the API's message, July 2026)",
  roots: "https://github.com/lidge-jun/opencodex/issues/1105 (the API's message)",
} as const;

/** Models that reason. */
const reasons = /^grok-(?:3-mini|4|code|build)(?!.*non-reasoning)/;

/** Effort levels by model; a model without levels refuses an effort. */
const levels: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^grok-3-mini/, ["low", "high"]],
  [/^grok-4\.3/, ["none", "low", "medium", "high"]],
  [/^grok-4\.20-multi-agent/, ["low", "medium", "high", "xhigh"]],
  [/^grok-4\.[56]/, ["low", "medium", "high"]],
  [/^grok-4\.7/, ["low", "medium", "high", "xhigh"]],
];

const levelsOf = (model: string): readonly string[] => levels.find(([pattern]) => pattern.test(model))?.[1] ?? [];

const effortRule = (effortOf: (request: EmulatedRequest) => unknown): Rule => ({
  id: "effort",
  source: sources.reasoning,
  find: (request) => {
    const effort = effortOf(request);
    if (effort === undefined || effort === null) return undefined;
    const known = levelsOf(request.model);
    if (known.length === 0) return `Model ${request.model} does not support parameter reasoningEffort.`;
    return known.includes(String(effort)) ? undefined : `Invalid reasoning effort: ${effort}`;
  },
});

const rules: readonly Rule[] = [
  { id: "unanswered-calls", source: sources.functions, find: (request) => findUnmatched(messagesOf(request)) },
  nameRule(sources.functions),
  effortRule(({ body }) => body.reasoning_effort),
  {
    id: "sampling-of-reasoning",
    source: sources.reasoning,
    models: reasons,
    find: ({ body, model }) => {
      const name = ["presence_penalty", "frequency_penalty", "stop"].find(
        (one) => (body[one] ?? undefined) !== undefined,
      );
      return name && `Argument not supported on this model: ${name} (${model})`;
    },
  },
  {
    id: "presence-penalty-of-grok-3",
    source:
      "https://docs.x.ai/developers/rest-api-reference/inference/chat-completions (presence_penalty), November 2026",
    models: /^grok-3(?!-mini)/,
    find: ({ body }) =>
      (body.presence_penalty ?? undefined) === undefined
        ? undefined
        : "Argument not supported on this model: presence_penalty",
  },
  {
    id: "content",
    source: sources.content,
    find: (request) => {
      const isMissing = messagesOf(request).some(
        ({ content }) => typeof content !== "string" && !(Array.isArray(content) && content.length > 0),
      );
      const isEmpty = messagesOf(request).some(({ role, content }) => role === "user" && content === "");
      return isMissing || isEmpty
        ? "Invalid request content: Each message must have at least one content element."
        : undefined;
    },
  },
  {
    id: "roots",
    source: sources.roots,
    find: (request) => {
      const wrong = functionsOf(request).find(({ parameters }) => isObject(parameters) && parameters.type !== "object");
      return wrong && `${wrong.name}: tool parameter root must be an object type`;
    },
  },
  {
    id: "tool-media",
    source: `${sources.functions} (results are text)`,
    find: (request) =>
      messagesOf(request).some(({ role, content }) => role === "tool" && typeof content !== "string")
        ? "Invalid request content: tool messages take text"
        : undefined,
  },
  {
    id: "tool-count",
    source: `${sources.functions} (at most 200 tools)`,
    find: (request) =>
      functionsOf(request).length > 200 ? "Maximum tools limit reached: at most 200 tools per request" : undefined,
  },
];

/** xAI's chat API. Only grok-3-mini shows its reasoning. */
export const xai: Emulator = {
  name: "xAI chat",
  showsReasoning: (model) => /^grok-3-mini/.test(model),
  rules,
  serves: ({ host, pathname }) => host === "api.x.ai" && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) => jsonResponse({ code: "Client specified an invalid argument", error: message }, 400),
  answer: answerChat({
    callId: (number) => `call_${String(number).padStart(8, "0")}`,
    reasoning: (text, _number, { model }) => (/^grok-3-mini/.test(model) ? { reasoning_content: text } : {}),
  }),
};

/** Kinds of tools that the Responses API does not know. */
const unknownTools = ["namespace", "custom", "tool_search", "local_shell", "apply_patch", "computer_use_preview"];

/** xAI's Responses API. */
export const xaiResponses = responsesEmulator({
  name: "xAI Responses",
  address: "api.x.ai/v1/responses",
  rules: [
    effortRule(({ body }) => (isObject(body.reasoning) ? body.reasoning.effort : undefined)),
    outputRule(sources.functions),
    toolTypesRule(
      sources.toolTypes,
      unknownTools,
      (type) =>
        `Failed to deserialize the JSON body into the target type: unknown variant \`${type}\`, expected one of \`function\`, \`web_search\`, \`x_search\`, \`image_generation\`, \`collections_search\`, \`file_search\`, \`code_execution\`, \`code_interpreter\`, \`mcp\`, \`shell\``,
    ),
    sealRule(sources.seals, "Could not decode the compaction blob. Ensure it is unmodified from the compact response."),
    {
      id: "null-content",
      source: sources.nullContent,
      find: ({ body }) =>
        objectsOf(body.input).some(({ type, content }) => type === "reasoning" && content === null)
          ? "Failed to deserialize the JSON body into the target type: data did not match any variant of untagged enum ModelInput"
          : undefined,
    },
    {
      id: "roots",
      source: sources.roots,
      find: ({ body }) => {
        const wrong = objectsOf(body.tools).find(
          ({ type, parameters }) => type === "function" && isObject(parameters) && parameters.type !== "object",
        );
        return wrong && `${wrong.name}: tool parameter root must be an object type`;
      },
    },
  ],
  thinking: reasons,
});
