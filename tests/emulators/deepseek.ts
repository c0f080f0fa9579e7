import { isObject } from "../../src/lib/json.ts";
import { type Emulator, type Rule, readRequest } from "./emulator.ts";
import {
  answerChat,
  callsOf,
  chatPrefix,
  findUnmatched,
  isUnthinking,
  messagesOf,
  nameRule,
  refuseChat,
  roleRule,
  textOnlyRule,
} from "./openai-chat.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://api-docs.deepseek.com/api/create-chat-completion",
  thinking: "https://api-docs.deepseek.com/guides/thinking_mode",
} as const;

const rules: readonly Rule[] = [
  { id: "unanswered-calls", source: sources.chat, find: (request) => findUnmatched(messagesOf(request)) },
  nameRule(sources.chat),
  roleRule(
    sources.chat,
    (role) => `Failed to deserialize the JSON body into the target type: unknown variant \`${role}\``,
  ),
  textOnlyRule(sources.chat, "Failed to deserialize the JSON body into the target type: unknown variant"),
  {
    id: "thinking-type",
    source: sources.thinking,
    find: ({ body }) => {
      const { thinking } = body;
      if (thinking === undefined) return undefined;
      const isKnown = isObject(thinking) && ["enabled", "disabled"].includes(String(thinking.type));
      return isKnown ? undefined : "Invalid value for thinking.type: expected one of enabled, disabled";
    },
  },
  {
    id: "effort-level",
    source: sources.thinking,
    find: ({ body }) => {
      const { reasoning_effort: effort } = body;
      return effort === undefined || ["low", "medium", "high", "xhigh", "max"].includes(String(effort))
        ? undefined
        : `Invalid value for reasoning_effort: ${effort}`;
    },
  },
  {
    id: "reasoning-of-calls",
    source: `${sources.thinking}#tool-calls`,
    find: (request) => {
      if (isUnthinking(request)) return undefined;
      const index = messagesOf(request).findIndex(
        (message) => callsOf(message).length > 0 && typeof message.reasoning_content !== "string",
      );
      return index < 0 ? undefined : "The `reasoning_content` in the thinking mode must be passed back to the API.";
    },
  },
];

/** DeepSeek's chat API. It thinks by default. */
export const deepseek: Emulator = {
  name: "DeepSeek chat",
  showsReasoning: () => true,
  rules,
  serves: ({ host, pathname }) => host === "api.deepseek.com" && pathname.endsWith("/chat/completions"),
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: refuseChat,
  answer: answerChat({
    callId: (number) => `call_00_${String(number).padStart(22, "0")}`,
    reasoning: (text) => ({ reasoning_content: text }),
  }),
};
