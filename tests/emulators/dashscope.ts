import { type EmulatedRequest, type Emulator, jsonResponse, type Rule, readRequest } from "./emulator.ts";
import {
  answerChat,
  chatPrefix,
  demandedCall,
  findUnmatched,
  messagesOf,
  nameRule,
  roleRule,
  textOnlyRule,
} from "./openai-chat.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://www.alibabacloud.com/help/en/model-studio/use-qwen-by-calling-api",
  thinking: "https://www.alibabacloud.com/help/en/model-studio/deep-thinking",
  errors: "https://www.alibabacloud.com/help/en/model-studio/error-code",
} as const;

/** Open models, which think by default and only in streams. */
const streamsOnly = /^qwen3-[0-9.]+b(?:-a[0-9.]+b)?$/;
/** Models that think unless they are asked not to. */
const isOnByDefault = /^(?:qwen3-[0-9.]+b|qwen3\.[5-9])/;

const thinksIn = ({ body, model }: EmulatedRequest): boolean =>
  body.enable_thinking === true || (body.enable_thinking === undefined && isOnByDefault.test(model));

/** Longest chain of thought in tokens. */
const longestOf = (model: string): number => (streamsOnly.test(model) ? 38_912 : 81_920);

const rules: readonly Rule[] = [
  {
    id: "unanswered-calls",
    source: sources.errors,
    find: (request) => {
      const fault = findUnmatched(messagesOf(request));
      return fault && `<400> InternalError.Algo.InvalidParameter: ${fault}`;
    },
  },
  nameRule(sources.chat),
  roleRule(sources.chat, (role) => `<400> InternalError.Algo.InvalidParameter: ${role} is not one of the roles`),
  textOnlyRule(sources.chat, "<400> InternalError.Algo.InvalidParameter: this model takes text only"),
  {
    id: "thinking-in-streams",
    source: sources.errors,
    models: streamsOnly,
    find: (request) =>
      thinksIn(request) && !request.streams
        ? "parameter.enable_thinking must be set to false for non-streaming calls"
        : undefined,
  },
  {
    id: "thinking-budget",
    source: sources.errors,
    find: ({ body: { thinking_budget: budget }, model }) => {
      if (budget === undefined) return undefined;
      const most = longestOf(model);
      const isTaken = Number.isInteger(budget) && Number(budget) > 0 && Number(budget) <= most;
      return isTaken
        ? undefined
        : `The thinking_budget parameter must be a positive integer and not greater than ${most}`;
    },
  },
  {
    id: "thinking-switch",
    source: sources.thinking,
    find: ({ body }) =>
      ["boolean", "undefined"].includes(typeof body.enable_thinking)
        ? undefined
        : "Input should be a valid boolean: parameters.enable_thinking",
  },
  {
    id: "demanded-calls",
    source: sources.errors,
    find: (request) =>
      demandedCall(request) && thinksIn(request)
        ? "The tool_choice parameter does not support being set to required or object in thinking mode"
        : undefined,
  },
];

/** DashScope's API in OpenAI's format. */
export const dashscope: Emulator = {
  name: "DashScope chat",
  showsReasoning: () => true,
  rules,
  serves: ({ host, pathname }) =>
    host === "dashscope-intl.aliyuncs.com" && pathname === "/compatible-mode/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) =>
    jsonResponse({ error: { message, type: "invalid_request_error", code: "invalid_parameter_error" } }, 400),
  answer: answerChat({
    callId: (number) => `call_${String(number).padStart(22, "0")}`,
    reasoning: (text) => ({ reasoning_content: text }),
  }),
};
