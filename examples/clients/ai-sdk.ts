// The AI SDK with three of its providers. GATEWAY is the address of the gateway, GATEWAY_KEY one of its keys, and MODEL a model
// of a stored provider, whatever the provider: each of these speaks to all of them.
//
//   npm install && node ai-sdk.ts

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const baseURL = `${process.env.GATEWAY ?? "http://127.0.0.1:8787"}/v1`;
const apiKey = process.env.GATEWAY_KEY ?? "";
const model = process.env.MODEL ?? "@main/gpt-4o-mini";
const prompt = "Hello";

const models = {
  // the Responses API; createOpenAI({ ... }).chat(model) uses chat completions
  openai: createOpenAI({ baseURL, apiKey })(model),
  anthropic: createAnthropic({ baseURL, apiKey })(model),
  "openai-compatible": createOpenAICompatible({ name: "gateway", baseURL, apiKey, includeUsage: true })(model),
};

for (const [name, one] of Object.entries(models)) {
  const { text, usage } = await generateText({ model: one, prompt, maxOutputTokens: 100 });
  console.log(`${name}: ${text} (${usage.totalTokens} tokens)`);
  let streamed = "";
  for await (const part of streamText({ model: one, prompt, maxOutputTokens: 100 }).textStream) streamed += part;
  console.log(`${name}, streamed: ${streamed}`);
}
