import { anthropic } from "./anthropic.ts";
import type { Emulator } from "./emulator.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";

const isAzure = ({ host }: URL): boolean => host.endsWith(".openai.azure.com");

/** First event of a stream of chat completions (https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-streaming). */
const filterEvent = `data: ${JSON.stringify({
  id: "",
  object: "",
  created: 0,
  model: "",
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: { hate: { filtered: false, severity: "safe" } } }],
})}\n\n`;

/**
 * Chat completions of Azure OpenAI: the models and rules of OpenAI at another address
 * (https://learn.microsoft.com/azure/ai-foundry/openai/latest). Streams begin with what the content filter says of the prompt.
 */
export const azureChat: Emulator = {
  ...openaiChat,
  name: "Azure OpenAI chat",
  serves: (url) => isAzure(url) && /^\/openai\/(?:v1|deployments\/[^/]+)\/chat\/completions$/.test(url.pathname),
  answer(turn, request, memory) {
    const response = openaiChat.answer(turn, request, memory);
    if (!request.streams || !response.body) return response;
    const events = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => controller.enqueue(new TextEncoder().encode(filterEvent)),
      }),
    );
    return new Response(events, { headers: response.headers });
  },
};

/** The Responses API of Azure OpenAI (https://learn.microsoft.com/azure/ai-foundry/openai/how-to/responses). */
export const azureResponses: Emulator = {
  ...openaiResponses,
  name: "Azure OpenAI Responses",
  serves: (url) => isAzure(url) && /^\/openai\/(?:v1\/)?responses$/.test(url.pathname),
};

/** Claude in Microsoft Foundry (https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry). */
export const foundryClaude: Emulator = {
  ...anthropic,
  name: "Claude in Microsoft Foundry",
  serves: ({ host, pathname }) => host.endsWith(".services.ai.azure.com") && pathname === "/anthropic/v1/messages",
};

/** Claude behind bedrock-mantle and Claude Platform on AWS (https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock). */
export const awsClaude: Emulator = {
  ...anthropic,
  name: "Claude on AWS",
  serves: ({ host, pathname }) =>
    /^(?:bedrock-mantle|aws-external-anthropic)\./.test(host) && pathname.endsWith("/v1/messages"),
};
