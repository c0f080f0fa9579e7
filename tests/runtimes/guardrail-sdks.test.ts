import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { streamText } from "ai";
import OpenAI from "openai";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { words } from "../support/guarded.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const messages = [{ role: "user" as const, content: "Hello there" }];
const model = "echo-1";
const flagging = words("none", ["there"]);
const softly = { ...words("none", ["there"], { soft_deny_200: true }), deny: true };
const cutting = { "default.regexReplace": { rule: "/there/g", redactText: "[cut]" }, stream_mode: "buffer" };
const said = "A guardrail denied this request.";

const configs = [
  ["flags", { input_guardrails: [flagging], output_guardrails: [flagging] }, "Hello there"],
  ["denies softly", { input_guardrails: [softly] }, said],
  ["denies a held stream softly", { output_guardrails: [{ ...softly, stream_mode: "buffer" }] }, said],
  ["changes a held stream", { input_guardrails: [flagging], output_guardrails: [cutting] }, "Hello [cut]"],
] as const;

type Options = {
  fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  headers: Record<string, string>;
};

function openai({ fetch, headers }: Options): OpenAI {
  return new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: workspaceKey,
    maxRetries: 0,
    defaultHeaders: headers,
    fetch,
  });
}

/** How each client library reads a stream. */
const readers: Readonly<Record<string, (options: Options) => Promise<string | null | undefined>>> = {
  async "chunks of openai"(options) {
    let text = "";
    const chunks = await openai(options).chat.completions.create({ model, messages, stream: true });
    for await (const { choices } of chunks) text += choices[0]?.delta.content ?? "";
    return text;
  },
  async "the chat helper of openai"(options) {
    const answer = await openai(options).chat.completions.stream({ model, messages }).finalChatCompletion();
    return answer.choices[0]?.message.content;
  },
  async "completions of openai"(options) {
    let text = "";
    const chunks = await openai(options).completions.create({ model, prompt: "Hello there", stream: true });
    for await (const { choices } of chunks) text += choices[0]?.text ?? "";
    return text;
  },
  async "the responses helper of openai"(options) {
    const answer = await openai(options).responses.stream({ model, input: "Hello there" }).finalResponse();
    return answer.output_text;
  },
  async "the messages helper of anthropic"({ fetch, headers: defaultHeaders }) {
    const options = { baseURL: "http://gateway.test", apiKey: workspaceKey, maxRetries: 0, defaultHeaders, fetch };
    return new Anthropic(options).messages.stream({ model, max_tokens: 9, messages }).finalText();
  },
  async ai({ fetch, headers }) {
    let failure: unknown;
    const options = { name: "gateway", baseURL: "http://gateway.test/v1", apiKey: workspaceKey, headers };
    const read = Object.assign(fetch, { preconnect: () => {} });
    const answer = streamText({
      model: createOpenAICompatible({ ...options, fetch: read }).chatModel(model),
      maxRetries: 0,
      messages,
      onError({ error }) {
        failure = error;
      },
    });
    let text = "";
    for await (const part of answer.fullStream) if (part.type === "text-delta") text += part.text;
    if (failure !== undefined) throw failure;
    return text;
  },
};

for (const [name, read] of Object.entries(readers)) {
  for (const [what, config, text] of configs) {
    test(`${name} reads the stream of a guardrail that ${what}, strict or not`, async () => {
      for (const strict of ["true", "false"]) {
        const headers = {
          "x-gateway-provider": "echo",
          "x-gateway-config": JSON.stringify(config),
          "x-gateway-strict-open-ai-compliance": strict,
        };
        const fetch: Options["fetch"] = (input, init) => gateway.gateway.fetch(new Request(input, init));
        assert.equal(await read({ fetch, headers }), text);
      }
    });
  }
}
