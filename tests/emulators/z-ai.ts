import { isObject } from "../../src/lib/json.ts";
import { type Emulator, jsonResponse, type Rule, readRequest } from "./emulator.ts";
import { answerChat, chatPrefix, findUnmatched, messagesOf, nameRule, roleRule, textOnlyRule } from "./openai-chat.ts";

/** Pages of the documentation, as read in November 2026. */
const sources = {
  chat: "https://docs.z.ai/api-reference/llm/chat-completion",
  thinking: "https://docs.z.ai/guides/capabilities/thinking-mode",
  effort: "https://docs.z.ai/guides/llm/glm-5.3",
} as const;

/** The message of most refusals, with the reason that the provider leaves out. */
const invalid = (reason: string): string => `Invalid API parameter, please check the documentation. (${reason})`;

/** Bounds of numbers. */
const bounds = { temperature: [0, 1], top_p: [0.01, 1] } as const;

const rules: readonly Rule[] = [
  {
    id: "unanswered-calls",
    source: sources.chat,
    find: (request) => findUnmatched(messagesOf(request)) && "The messages parameter is illegal.",
  },
  nameRule(sources.chat),
  roleRule(sources.chat, (role) => invalid(`role ${role}`)),
  textOnlyRule(sources.chat, invalid("content")),
  {
    id: "thinking-type",
    source: sources.thinking,
    find: ({ body: { thinking }, model }) => {
      if (thinking === undefined) return undefined;
      const known = /^glm-5\.[3-9]/.test(model) ? ["enabled"] : ["enabled", "disabled"];
      return isObject(thinking) && known.includes(String(thinking.type)) ? undefined : invalid("thinking.type");
    },
  },
  {
    id: "effort-level",
    source: sources.effort,
    models: /^glm-5\.[3-9]/,
    find: ({ body: { reasoning_effort: effort } }) =>
      effort === undefined || ["low", "high", "max"].includes(String(effort)) ? undefined : invalid("reasoning_effort"),
  },
  {
    id: "tool-choice",
    source: `${sources.chat} (only auto)`,
    find: ({ body: { tool_choice: choice } }) =>
      choice === undefined || choice === "auto" ? undefined : invalid("tool_choice"),
  },
  {
    id: "bounds",
    source: sources.chat,
    find: ({ body }) => {
      const wrong = Object.entries(bounds).find(([name, [least, most]]) => {
        const value = body[name];
        return typeof value === "number" && (value < least || value > most);
      });
      return wrong && invalid(wrong[0]);
    },
  },
  {
    id: "output-limit",
    source: `${sources.chat} (max_tokens)`,
    find: ({ body }) =>
      body.max_completion_tokens === undefined ? undefined : invalid("max_completion_tokens is not a parameter"),
  },
];

/** Z.ai's chat API. GLM models think by default. */
export const zAi: Emulator = {
  name: "Z.ai chat",
  showsReasoning: () => true,
  rules,
  serves: ({ host, pathname }) => host === "api.z.ai" && pathname === "/api/paas/v4/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) => jsonResponse({ error: { code: "1210", message } }, 400),
  answer: answerChat({
    callId: (number) => `call_${String(number).padStart(20, "0")}`,
    reasoning: (text) => ({ reasoning_content: text }),
  }),
};
