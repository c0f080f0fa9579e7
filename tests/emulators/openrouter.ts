import { isObject } from "../../src/lib/json.ts";
import {
  type Emulator,
  jsonResponse,
  type Members,
  type Memory,
  objectsOf,
  type Rule,
  readRequest,
} from "./emulator.ts";
import { answerChat, callsOf, chatPrefix, findUnmatched, messagesOf, nameRule } from "./openai-chat.ts";
import { openaiResponses, toolTypesRule } from "./openai-responses.ts";

/** Pages of the documentation and reports of its messages, as read in November 2026. */
const sources = {
  reasoning: "https://openrouter.ai/docs/use-cases/reasoning-tokens",
  preserved: "https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks",
  tools: "https://openrouter.ai/docs/features/tool-calling",
  errors: "https://openrouter.ai/docs/api-reference/errors",
  gemini: "https://github.com/microsoft/agent-framework/issues/2947",
} as const;

const isGemini = /^google\/gemini-3/;
const isClaude = /^anthropic\/claude/;
const isSealed = /^openai\//;

const efforts = ["xhigh", "high", "medium", "low", "minimal", "none"];

/** Details with the pieces of one text put together: streams send them in pieces. */
function joinDetails(details: readonly Members[]): Members[] {
  const joined: Members[] = [];
  for (const detail of details) {
    const last = joined.at(-1);
    const isMore = last !== undefined && last.type === detail.type && last.index === detail.index;
    if (!isMore || detail.type === "reasoning.encrypted") {
      joined.push({ ...detail });
      continue;
    }
    for (const [name, value] of Object.entries(detail)) {
      if (name === "text" || name === "summary") last[name] = `${last[name] ?? ""}${value}`;
      else if (value !== null && value !== undefined) last[name] = value;
    }
  }
  return joined;
}

/** Details as text; the order of their members says nothing. */
const write = (details: readonly Members[]): string =>
  JSON.stringify(joinDetails(details).map((detail) => Object.fromEntries(Object.entries(detail).sort())));

/** Details that the vendor verifies. */
const isVerified = ({ type, signature }: Members): boolean => type === "reasoning.encrypted" || signature !== undefined;

/** Whether a request asks the model to think. */
const asksToThink = ({ reasoning }: Members): boolean =>
  isObject(reasoning) && reasoning.enabled !== false && reasoning.effort !== "none";

/** Whether Google's placeholder stands for the details that a client lost (https://github.com/cline/cline/issues/8214). */
const hasPlaceholder = ({ reasoning_details: details }: Members, call: Members | undefined): boolean =>
  objectsOf(details).some(
    ({ type, id, data }) =>
      type === "reasoning.encrypted" && id === call?.id && data === "skip_thought_signature_validator",
  );

/** Whether a message belongs to the calls that are being answered: Claude demands the reasoning of these. */
const isOpen = (messages: readonly Members[]): ((index: number) => boolean) => {
  const last = messages.findLastIndex(({ role }) => role === "user");
  return (index) => index > last;
};

/**
 * The first message with calls whose details are not those that came with them: changed, in another order, or without what the
 * vendor verifies.
 */
function findChangedDetails(
  messages: readonly Members[],
  memory: Memory,
  isDemandedAt: (index: number) => boolean,
): string | undefined {
  for (const [index, message] of messages.entries()) {
    const [call] = callsOf(message);
    const handed = memory.find(call?.id)?.blocks[0];
    if (!handed?.reasoning_details || hasPlaceholder(message, call)) continue;
    const isDemanded = isDemandedAt(index);
    const wanted = joinDetails(objectsOf(handed.reasoning_details));
    const found = joinDetails(objectsOf(message.reasoning_details)).map((detail) => write([detail]));
    const rest = wanted.filter((detail) => found.includes(write([detail])) || (isDemanded && isVerified(detail)));
    if (JSON.stringify(found) !== JSON.stringify(rest.map((detail) => write([detail])))) {
      return `${found} instead of ${write(wanted)}`;
    }
  }
  return undefined;
}

const rules: readonly Rule[] = [
  { id: "unanswered-calls", source: sources.tools, find: (request) => findUnmatched(messagesOf(request)) },
  nameRule(sources.tools),
  {
    id: "reasoning",
    source: sources.reasoning,
    find: ({ body: { reasoning } }) => {
      if (reasoning === undefined) return undefined;
      if (!isObject(reasoning)) return "reasoning: Expected object";
      const { effort, max_tokens: budget, enabled } = reasoning;
      if (effort !== undefined && budget !== undefined) {
        return 'Only one of "reasoning.effort" and "reasoning.max_tokens" can be specified';
      }
      if (effort !== undefined && !efforts.includes(String(effort))) return "reasoning.effort: Invalid enum value";
      return enabled === undefined || typeof enabled === "boolean" ? undefined : "reasoning.enabled: Expected boolean";
    },
  },
  {
    id: "effort-level",
    source: sources.reasoning,
    find: ({ body: { reasoning_effort: effort } }) =>
      effort === undefined || efforts.includes(String(effort)) ? undefined : "reasoning_effort: Invalid enum value",
  },
  {
    id: "details-of-gemini",
    source: `${sources.preserved}, ${sources.gemini}`,
    models: isGemini,
    find: (request, memory) => {
      const fault = findChangedDetails(messagesOf(request), memory, () => true);
      return fault && `Gemini models require OpenRouter reasoning details to be preserved in each request. (${fault})`;
    },
  },
  {
    id: "details-of-claude",
    source: `${sources.preserved}; of the calls that are answered: https://platform.claude.com/docs/en/build-with-claude/extended-thinking#preserving-thinking-blocks`,
    models: isClaude,
    find: (request, memory) => {
      const messages = messagesOf(request);
      const isDemanded = asksToThink(request.body) ? isOpen(messages) : () => false;
      const fault = findChangedDetails(messages, memory, isDemanded);
      return fault && `The thinking blocks in an assistant message cannot be modified. (${fault})`;
    },
  },
];

/** Details of a message, in the form of the model's vendor. */
function toDetails({ reasoning, tool_calls: calls }: Members, model: string, number: number): Members[] {
  const text = typeof reasoning === "string" ? reasoning : "";
  const [first] = objectsOf(calls);
  if (isClaude.test(model)) {
    const format = "anthropic-claude-v1";
    return text === "" ? [] : [{ type: "reasoning.text", text, format, index: 0, signature: `claude-${number}` }];
  }
  if (isGemini.test(model)) {
    const format = "google-gemini-v1";
    const shown = text === "" ? [] : [{ type: "reasoning.text", text, format, index: 0 }];
    const sealed = { type: "reasoning.encrypted", id: first?.id, data: `gemini-${number}`, format, index: 0 };
    return first ? [...shown, sealed] : shown;
  }
  if (text === "") return [];
  if (!isSealed.test(model)) return [{ type: "reasoning.text", text, format: "unknown", index: 0 }];
  const format = "openai-responses-v1";
  return [
    { type: "reasoning.summary", summary: text, format, index: 0 },
    { type: "reasoning.encrypted", id: `rs_${number}`, data: `openai-${number}`, format, index: 0 },
  ];
}

/** A part of a detail without what comes at the end of it. */
function toPiece({ signature: _, text: _text, summary: _summary, ...detail }: Members, text: unknown): Members {
  return { ...detail, ...(detail.type === "reasoning.summary" ? { summary: text } : { text }) };
}

/**
 * Deltas as OpenRouter streams them: details beside the pieces of their text, a signature after these, and what belongs to a call
 * with it.
 */
function streamDetails(deltas: readonly Members[], { reasoning_details: given }: Members): Members[] {
  const details = objectsOf(given);
  const shown = details.find(({ type }) => type !== "reasoning.encrypted");
  const sealed = details.filter(({ type }) => type === "reasoning.encrypted");
  const [ofCall, ofReasoning] = [
    sealed.filter(({ id }) => !/^rs_/.test(String(id))),
    sealed.filter(({ id }) => /^rs_/.test(String(id))),
  ];
  const signed = shown?.signature === undefined ? [] : [{ ...toPiece(shown, ""), signature: shown.signature }];
  const last = deltas.findLastIndex(({ reasoning }) => reasoning !== undefined);
  const firstCall = deltas.findIndex(({ tool_calls: calls }) => calls !== undefined);
  return deltas.flatMap((delta, index): Members[] => {
    const beside =
      shown && delta.reasoning !== undefined ? { reasoning_details: [toPiece(shown, delta.reasoning)] } : {};
    const made = {
      ...delta,
      ...beside,
      ...(index === firstCall && ofCall.length > 0 && { reasoning_details: ofCall }),
    };
    const after = index === last ? [...signed, ...ofReasoning] : [];
    return after.length > 0 ? [made, { content: "", reasoning_details: after }] : [made];
  });
}

/** OpenRouter's chat API. */
export const openrouter: Emulator = {
  name: "OpenRouter chat",
  showsReasoning: () => true,
  rules,
  serves: ({ host, pathname }) => host === "openrouter.ai" && pathname === "/api/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: (message) => jsonResponse({ error: { message, code: 400, metadata: { provider_name: "Emulated" } } }, 400),
  answer: answerChat({
    callId: (number) => `tool_${String(number).padStart(12, "0")}`,
    reasoning: (text) => ({ reasoning: text }),
    extend: (message, { model, number }) => {
      const details = toDetails(message, model, number);
      return details.length > 0 ? { reasoning_details: details } : {};
    },
    stream: streamDetails,
  }),
};

/** OpenRouter's Responses API, whose requests and responses have OpenAI's form but for groups of tools. */
export const openrouterResponses: Emulator = {
  ...openaiResponses,
  native: undefined,
  name: "OpenRouter Responses",
  rules: [
    ...openaiResponses.rules,
    toolTypesRule(
      "https://github.com/openai/codex/issues/32318 (the API's answer, 2026)",
      ["namespace"],
      (type) => `No endpoints found that support native ${type} tools`,
    ),
  ],
  serves: ({ host, pathname }) => host === "openrouter.ai" && pathname === "/api/v1/responses",
};
