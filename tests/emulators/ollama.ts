import { isObject } from "../../src/lib/json.ts";
import { type Emulator, objectsOf, type Rule, readRequest } from "./emulator.ts";
import { answerChat, callsOf, chatPrefix, messagesOf, parsedArgumentsRule, refuseChat } from "./openai-chat.ts";

/** The server's own code and its documentation, as read in November 2026. */
const sources = {
  code: "https://github.com/ollama/ollama/blob/main/openai/openai.go",
  thinking: "https://docs.ollama.com/capabilities/thinking",
} as const;

/** Models that think. */
const thinks = /^(?:gpt-oss|qwen3|deepseek-r1|deepseek-v3|magistral)/;

/** Where the emulated server runs. */
export const ollamaHost = "ollama.emulated.example";

const rules: readonly Rule[] = [
  {
    id: "content",
    source: `${sources.code} (FromChatRequest)`,
    find: (request) => {
      const wrong = messagesOf(request).find(
        (message) =>
          typeof message.content !== "string" && !Array.isArray(message.content) && callsOf(message).length === 0,
      );
      return wrong && "invalid message content type: <nil>";
    },
  },
  {
    id: "parts",
    source: `${sources.code} (FromChatRequest, decodeImageURL)`,
    find: (request) => {
      for (const { type, text, image_url: image } of messagesOf(request).flatMap(({ content }) => objectsOf(content))) {
        if (type === "text" && typeof text === "string") continue;
        const url = String(isObject(image) ? image.url : image);
        if (type !== "image_url") return "invalid message format";
        if (/^https?:/.test(url))
          return "image URLs are not currently supported, please use base64 encoded data instead";
        if (!/^data:(?:image\/(?:jpeg|jpg|png|webp))?;base64,/.test(url)) return "invalid image input";
      }
      return undefined;
    },
  },
  parsedArgumentsRule(`${sources.code} (FromCompletionToolCall: invalid tool call arguments)`),
  {
    id: "effort-level",
    source: `${sources.code} (FromChatRequest)`,
    find: ({ body: { reasoning_effort: effort } }) =>
      effort === undefined || ["high", "medium", "low", "none"].includes(String(effort))
        ? undefined
        : `invalid reasoning value: '${effort}' (must be "high", "medium", "low", or "none")`,
  },
  {
    id: "thinking",
    source: sources.thinking,
    find: ({ body: { reasoning_effort: effort }, model }) =>
      effort === undefined || effort === "none" || thinks.test(model)
        ? undefined
        : `"${model}" does not support thinking`,
  },
];

/** Ollama's endpoint in OpenAI's format. It gives every streamed call the index 0. */
export const ollama: Emulator = {
  name: "Ollama chat",
  showsReasoning: (model) => thinks.test(model),
  rules,
  serves: ({ host, pathname }) => host === ollamaHost && pathname === "/v1/chat/completions",
  read: readRequest,
  prefixOf: chatPrefix,
  refuse: refuseChat,
  answer: answerChat({
    callId: (number) => `call_${number.toString(36).padStart(8, "0")}`,
    callIndex: () => 0,
    reasoning: (text) => ({ reasoning: text }),
  }),
};
