// LangChain with OpenAI's and Anthropic's classes. GATEWAY is the address of the gateway, GATEWAY_KEY one of its keys, and MODEL a
// model of a stored provider, whatever the provider.
//
//   npm install && node langchain.ts

import { ChatAnthropic } from "@langchain/anthropic";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";

const gateway = process.env.GATEWAY ?? "http://127.0.0.1:8787";
const apiKey = process.env.GATEWAY_KEY ?? "";
const model = process.env.MODEL ?? "@main/gpt-4o-mini";
const prompt = "Hello";

const models: Record<string, BaseChatModel> = {
  openai: new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${gateway}/v1` } }),
  responses: new ChatOpenAI({ model, apiKey, useResponsesApi: true, configuration: { baseURL: `${gateway}/v1` } }),
  anthropic: new ChatAnthropic({ model, apiKey, anthropicApiUrl: gateway }),
};

for (const [name, one] of Object.entries(models)) {
  const message = await one.invoke(prompt);
  console.log(`${name}: ${message.text} (${message.usage_metadata?.total_tokens} tokens)`);
  let streamed = "";
  for await (const part of await one.stream(prompt)) streamed += part.text;
  console.log(`${name}, streamed: ${streamed}`);
}
