import { isObject } from "../../src/lib/json.ts";
import { type EmulatedRequest, type Emulator, objectsOf, type Rule, readRequest } from "./emulator.ts";
import {
  answerChat,
  callsOf,
  chatPrefix,
  demandedCall,
  findUnmatched,
  isUnthinking,
  messagesOf,
  nameRule,
  refuseChat,
  roleRule,
} from "./openai-chat.ts";

/** Pages of the documentation and reports of its messages, as read in November 2026. */
const sources = {
  chat: "https://platform.kimi.ai/docs/api/chat",
  tools: "https://platform.kimi.ai/docs/guide/use-kimi-api-to-complete-tool-calls",
  thinking: "https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model",
  effort: "https://platform.kimi.ai/docs/guide/use-thinking-effort",
  vision: "https://platform.kimi.ai/docs/guide/use-kimi-vision-model",
  adaptive: "https://github.com/BigPizzaV3/CodexPlusPlus/pull/2183",
  enabled: "https://github.com/MoonshotAI/Kimi-K2/issues/141",
  both: "https://github.com/HKUDS/nanobot/issues/3939",
  temperature: "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5156",
  choice: "https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152",
  filled: "https://github.com/openclaw/openclaw/issues/70565",
} as const;

/** Models that think by effort levels, and cannot stop. */
const byEffort = /^kimi-k3/;
/** Models that think by a switch. */
const bySwitch = /^kimi-k2\.[5-9]/;
/** Models that always think by a switch. */
const isAlwaysOn = /^kimi-k2\.7/;
const thinks = /^kimi-k(?:2\.[5-9]|3)/;

/** The one temperature that a request may have. */
const temperatureOf = (request: EmulatedRequest): number => (isUnthinking(request) ? 0.6 : 1);

const rules: readonly Rule[] = [
  { id: "unanswered-calls", source: sources.tools, find: (request) => findUnmatched(messagesOf(request)) },
  nameRule(sources.tools, /^[a-zA-Z_][a-zA-Z0-9_-]{2,63}$/),
  roleRule(sources.chat, (role) => `Invalid request: unsupported role ${role}`),
  {
    id: "thinking-of-levels",
    source: `${sources.effort}, ${sources.adaptive}`,
    models: byEffort,
    find: ({ body }) =>
      body.thinking === undefined ? undefined : "invalid params, invalid thinking.type (allowed: adaptive, disabled)",
  },
  {
    id: "effort-level",
    source: sources.effort,
    models: byEffort,
    find: ({ body: { reasoning_effort: effort } }) =>
      effort === undefined || ["low", "high", "max"].includes(String(effort))
        ? undefined
        : `invalid reasoning_effort: ${effort}`,
  },
  {
    id: "thinking-type",
    source: `${sources.thinking}, ${sources.enabled}`,
    models: bySwitch,
    find: ({ body: { thinking }, model }) => {
      if (thinking === undefined) return undefined;
      const known = isAlwaysOn.test(model) ? ["enabled"] : ["enabled", "disabled"];
      const isKnown = isObject(thinking) && known.includes(String(thinking.type));
      return isKnown ? undefined : `invalid thinking: only type=${known.join("|")} is allowed for this model`;
    },
  },
  {
    id: "thinking-and-effort",
    source: sources.both,
    models: bySwitch,
    find: ({ body }) =>
      body.thinking !== undefined && body.reasoning_effort !== undefined
        ? "cannot specify both 'thinking' and 'reasoning_effort'"
        : undefined,
  },
  {
    id: "sampling",
    source: `${sources.chat}, ${sources.temperature}`,
    models: thinks,
    find: (request) => {
      const fixed = { temperature: temperatureOf(request), top_p: 0.95, frequency_penalty: 0, presence_penalty: 0 };
      const wrong = Object.entries(fixed).find(
        ([name, value]) => request.body[name] !== undefined && request.body[name] !== value,
      );
      return wrong && `invalid ${wrong[0]}: only ${wrong[1]} is allowed for this model`;
    },
  },
  {
    id: "reasoning-of-calls",
    source: `${sources.thinking}, ${sources.filled}`,
    models: thinks,
    find: (request) => {
      if (isUnthinking(request)) return undefined;
      const index = messagesOf(request).findIndex(
        (message) => callsOf(message).length > 0 && (message.reasoning_content ?? "") === "",
      );
      return index < 0
        ? undefined
        : `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`;
    },
  },
  {
    id: "demanded-calls",
    source: sources.choice,
    models: thinks,
    find: (request) => {
      const demanded = demandedCall(request);
      const isTaken = byEffort.test(request.model) ? demanded !== "specified" : isUnthinking(request);
      return demanded && !isTaken ? `tool_choice '${demanded}' is incompatible with thinking enabled` : undefined;
    },
  },
  {
    id: "image-addresses",
    source: `${sources.vision} (base64, or an uploaded file)`,
    find: (request) => {
      const images = messagesOf(request).flatMap(({ content }) => objectsOf(content));
      const wrong = images.find(
        ({ type, image_url: image }) =>
          type === "image_url" && isObject(image) && !/^(?:data:|ms:)/.test(String(image.url)),
      );
      return wrong && "Invalid request: unsupported image url";
    },
  },
];

/** Moonshot's chat API. Kimi models think by default. */
export const moonshot: Emulator = {
  name: "Moonshot chat",
  showsReasoning: (model) => thinks.test(model),
  rules,
  serves: ({ host, pathname }) => host === "api.moonshot.cn" && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: refuseChat,
  answer: answerChat({
    callId: (number) => `Read:${number}`,
    reasoning: (text) => ({ reasoning_content: text }),
  }),
};
