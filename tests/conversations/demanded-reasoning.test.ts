// Reasoning that hosts demand back with the calls it led to.

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createChatClient } from "./chat-client.ts";
import { type Client, type Members, objectsOf, type Setup, type Step } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { createMessagesClient } from "./messages-client.ts";
import { createResponsesClient } from "./responses-client.ts";

let gateway: TestGateway;
let sent: Members[] = [];
let answers: (() => Response)[] = [];
before(async () => {
  const send: Transport["send"] = async (_url, { body }) => {
    sent.push(JSON.parse(String(body)));
    return (answers.shift() ?? whole({ role: "assistant", content: "Done." }))();
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const setup = (streams: boolean, effort?: string): Setup => ({
  instructions: "",
  tools: [{ name: "read", description: "Reads.", schema: { type: "object", properties: { p: { type: "string" } } } }],
  effort,
  temperature: undefined,
  streams,
  maxTokens: 1_000,
});

const head = { id: "c", created: 1, model: "m" };

/** A whole response. */
const whole =
  (message: Members, finish = "stop", model = "m") =>
  (): Response =>
    Response.json({
      ...head,
      model,
      object: "chat.completion",
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });

/** A stream of deltas. */
const stream =
  (deltas: readonly Members[], finish: string, model = "m") =>
  (): Response => {
    const choices = [
      ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
      { index: 0, delta: {}, finish_reason: finish },
    ];
    const chunks = choices.map((choice) => ({ ...head, model, object: "chat.completion.chunk", choices: [choice] }));
    const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
    return new Response(`${text}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  };

async function ask(client: Client, provider: string, step: Partial<Step>, model: string): Promise<Response> {
  const body = client.ask({ outcomes: [], text: "", hasImage: false, instruction: "", ...step }, model);
  const response = await gateway.fetch(client.path(model), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      ...client.headers,
    },
    body: JSON.stringify(body),
  });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.clone().text());
  return response;
}

/** The message that a client sends back after a call, as it reaches the provider. */
async function returned(client: Client, provider: string, answer: () => Response, model: string): Promise<Members> {
  sent = [];
  answers = [answer];
  await client.hear(await ask(client, provider, { text: "Read it" }, model));
  const second = await ask(client, provider, { outcomes: [{ text: "Six.", isError: false, hasImage: false }] }, model);
  await second.body?.cancel();
  const message = objectsOf(sent[1]?.messages).find(({ role }) => role === "assistant");
  assert.ok(message);
  return message;
}

const call = { id: "call_1", type: "function", function: { name: "read", arguments: '{"p":"a"}' } };
const callDelta: Members = { tool_calls: [{ index: 0, ...call }] };
const text = { type: "reasoning.text", text: "Check hours.", format: "google-gemini-v1", index: 0 };
const sealed = { type: "reasoning.encrypted", id: "call_1", data: "c2VhbGVk", format: "google-gemini-v1", index: 0 };

/** Hosts with the member they demand back, and how they send it. */
const hosts: readonly { slug: string; model: string; members: Members }[] = [
  { slug: "deepseek", model: "deepseek-chat", members: { reasoning_content: "Check hours." } },
  { slug: "moonshot", model: "kimi-k2.6", members: { reasoning_content: "Check hours." } },
  { slug: "moonshot", model: "kimi-k3", members: { reasoning_content: "Check hours." } },
  { slug: "z-ai", model: "glm-5.3", members: { reasoning_content: "Check hours." } },
  { slug: "zhipu", model: "glm-4.6", members: { reasoning_content: "Check hours." } },
  { slug: "openrouter", model: "google/gemini-3.1-pro", members: { reasoning_details: [text, sealed] } },
  { slug: "fal-ai", model: "google/gemini-3.1-pro", members: { reasoning_details: [text, sealed] } },
];

for (const { slug, model, members } of hosts) {
  for (const streams of [false, true]) {
    const how = streams ? "streams" : "returns";
    test(`reasoning that ${slug} ${how} with a call of ${model} comes back in default chats`, async () => {
      const message = { role: "assistant", content: null, ...members, tool_calls: [call] };
      const answer = streams
        ? stream([{ role: "assistant", content: "" }, members, callDelta], "tool_calls", model)
        : whole(message, "tool_calls", model);
      const found = await returned(createChatClient(setup(streams)), slug, answer, model);
      for (const [name, value] of Object.entries(members)) assert.deepEqual(found[name], value);
    });

    test(`reasoning that ${slug} ${how} without a call stays out of default chats of ${model}`, async () => {
      const answer = streams
        ? stream([{ role: "assistant", content: "" }, members, { content: "Six." }], "stop", model)
        : whole({ role: "assistant", content: "Six.", ...members }, "stop", model);
      answers = [answer];
      const client = createChatClient({ ...setup(streams), tools: [] });
      const response = await ask(client, slug, { text: "When?" }, model);
      const received = await response.text();
      assert.match(received, /Six\./);
      assert.doesNotMatch(received, /Check hours|c2VhbGVk/);
    });
  }
}

test("members that a host adds to calls stay in default chats", async () => {
  const google = { extra_content: { google: { thought_signature: "c2lnbmVk" } } };
  for (const slug of ["moonshot", "openrouter", "fireworks-ai", "together-ai"]) {
    const answer = whole({ role: "assistant", content: null, tool_calls: [{ ...call, ...google }] }, "tool_calls");
    answers = [answer];
    const response = await ask(createChatClient(setup(false)), slug, { text: "Read it" }, "google/gemini-3.1-pro");
    const { choices } = (await response.json()) as { choices: { message: Members }[] };
    assert.deepEqual(objectsOf(choices[0]?.message.tool_calls)[0]?.extra_content, google.extra_content, slug);
  }
});

const signed = {
  type: "reasoning.text",
  text: "Check hours.",
  signature: "c2ln",
  format: "anthropic-claude-v1",
  index: 0,
};
const summary = { type: "reasoning.summary", summary: "Check hours.", format: "openai-responses-v1", index: 0 };
const ofItem = { type: "reasoning.encrypted", id: "rs_1", data: "c2VhbGVk", format: "openai-responses-v1", index: 0 };

/** Details of vendors, and the deltas they are streamed in. */
const vendors: Readonly<Record<string, { details: Members[]; deltas: Members[]; model: string }>> = {
  "signed text": {
    model: "anthropic/claude-sonnet-4.6",
    details: [signed],
    deltas: [
      { reasoning: "Check ", reasoning_details: [{ ...signed, text: "Check ", signature: null }] },
      { reasoning: "hours.", reasoning_details: [{ ...signed, text: "hours.", signature: null }] },
      { reasoning_details: [{ ...signed, text: undefined }] },
      callDelta,
    ],
  },
  "encrypted data with a call": {
    model: "google/gemini-3.1-pro",
    details: [text, sealed],
    deltas: [
      { reasoning: "Check hours.", reasoning_details: [text] },
      { ...callDelta, reasoning_details: [sealed] },
    ],
  },
  "encrypted data after a call": {
    model: "google/gemini-3.1-pro",
    details: [sealed],
    deltas: [callDelta, { content: "", reasoning_details: [sealed] }],
  },
  "encrypted data of an item": {
    model: "openai/gpt-5.4",
    details: [summary, ofItem],
    deltas: [{ reasoning: "Check hours.", reasoning_details: [summary] }, { reasoning_details: [ofItem] }, callDelta],
  },
};

const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  gemini: createGeminiClient,
  responses: createResponsesClient,
};

for (const [kind, { details, deltas, model }] of Object.entries(vendors)) {
  for (const [dialect, createClient] of Object.entries(clients)) {
    // OpenRouter serves the Responses API itself
    const slug = dialect === "responses" ? "fal-ai" : "openrouter";
    for (const effort of [undefined, "high"]) {
      test(`${kind} from ${slug} comes back from ${dialect} clients, with effort ${effort}`, async () => {
        const message = { role: "assistant", content: null, reasoning: "Check hours.", reasoning_details: details };
        const unstreamed = whole({ ...message, tool_calls: [call] }, "tool_calls", model);
        const streamed = stream([{ role: "assistant", content: "" }, ...deltas], "tool_calls", model);
        for (const streams of [false, true]) {
          const found = await returned(
            createClient(setup(streams, effort)),
            slug,
            streams ? streamed : unstreamed,
            model,
          );
          // Gemini clients get no text of reasoning that they do not ask for, so nothing that signs it either
          const hasText = dialect !== "gemini" || effort !== undefined;
          const wanted = details.filter(({ type }) => hasText || type === "reasoning.encrypted");
          assert.deepEqual(found.reasoning_details ?? [], wanted);
          assert.equal(found.reasoning, undefined);
          const [returnedCall] = objectsOf(found.tool_calls);
          assert.deepEqual(Object.keys(returnedCall ?? {}).sort(), ["function", "id", "type"]);
        }
      });
    }
  }
}

test("what a call carries for its model has no text that guardrails have not seen", async () => {
  const { details, model } = vendors["signed text"] as (typeof vendors)[string];
  const message = { role: "assistant", content: null, reasoning: "Check hours.", reasoning_details: details };
  for (const createClient of [createMessagesClient, createGeminiClient]) {
    answers = [whole({ ...message, tool_calls: [call] }, "tool_calls", model)];
    const client = createClient(setup(false, "high"));
    const text = await (await ask(client, "openrouter", { text: "Read it" }, model)).text();
    assert.equal(text.split("Check hours.").length, 2);
    for (const [, signature = ""] of text.matchAll(/[sS]ignature": ?"([^"]*)"/g)) {
      assert.doesNotMatch(Buffer.from(signature, "base64").toString(), /Check hours/);
    }
  }
});

test("details of OpenRouter do not reach other providers after a fallback", async () => {
  const { details, model } = vendors["encrypted data with a call"] as (typeof vendors)[string];
  const message = { role: "assistant", content: null, reasoning_details: details, tool_calls: [call] };
  for (const [dialect, createClient] of Object.entries(clients)) {
    if (dialect === "responses") continue;
    for (const provider of ["groq", "mistral-ai", "google", "anthropic", "cerebras"]) {
      const client = createClient(setup(false));
      sent = [];
      answers = [
        whole(message, "tool_calls", model),
        () => Response.json({ error: { message: "enough" } }, { status: 400 }),
      ];
      await client.hear(await ask(client, "openrouter", { text: "Read it" }, model));
      const step = { outcomes: [{ text: "Six.", isError: false, hasImage: false }] };
      await ask(client, provider, step, "some-model").catch(() => undefined);
      if (dialect === "messages" && provider === "anthropic") continue;
      if (dialect === "gemini" && provider === "google") continue;
      assert.ok(isObject(sent[1]), `${dialect} to ${provider}`);
      assert.doesNotMatch(JSON.stringify(sent[1]), /c2VhbGVk|reasoning_details|details:/, `${dialect} to ${provider}`);
    }
  }
});
