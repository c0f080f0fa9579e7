// What agents send to models on Amazon Bedrock and Azure, where the host takes it in another form or not at all.

import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { fromBase64 } from "../../src/lib/base64.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { awsClaude } from "../emulators/azure.ts";
import { createEmulatedWorld, type EmulatedWorld, type Members, type Said } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { pixel } from "./client.ts";

let world: EmulatedWorld;
let gateway: TestGateway;
/** Responses of web servers by their address. */
const pages = new Map<string, () => Response>();
let fetched: string[] = [];

before(async () => {
  world = createEmulatedWorld([...providers.flatMap(({ emulators }) => emulators), awsClaude]);
  const { send } = world.transport;
  const sendChecked: Transport["send"] = async (url, init) => {
    const page = pages.get(url);
    if (!page) return send(url, init);
    fetched.push(url);
    return page();
  };
  gateway = await createTestGateway({ transport: { send, sendChecked } });
});
after(() => gateway.close());
beforeEach(() => {
  world.requests.length = 0;
  world.refusals.length = 0;
  world.script.length = 0;
  fetched = [];
  pages.clear();
});

const image = (): Response =>
  new Response(Uint8Array.from(fromBase64(pixel)), { headers: { "content-type": "image/png" } });

/** Sends a request; the last request that an emulator received. */
async function send(provider: string, path: string, body: object, headers: Record<string, string> = {}) {
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": provider,
      authorization: "Bearer fake-provider-key",
      ...providers.find(({ slug, host }) => slug === provider && host === undefined)?.headers,
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const dropped = response.headers.get("x-gateway-dropped-params") ?? "";
  const last = world.requests.at(-1);
  return { status: response.status, text, dropped, sent: last?.request.body ?? {}, emulator: last?.emulator.name };
}

const claude = "us.anthropic.claude-opus-4-8";
const older = "anthropic.claude-haiku-4-5-20251001-v1:0";
const nova = "amazon.nova-pro-v1:0";
const nova2 = "global.amazon.nova-2-lite-v1:0";
const hello = { role: "user", content: "hi" };
const read = { type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } };

function assertTaken({ status, text }: { status: number; text: string }): void {
  assert.deepEqual(
    world.refusals.map(({ rule, message }) => [rule, message]),
    [],
  );
  assert.equal(status, 200, text);
}

test("a Messages request of an agent reaches Claude on Bedrock without what belongs to betas that the host lacks", async () => {
  const tool = { name: "read", input_schema: { type: "object" }, eager_input_streaming: true, defer_loading: true };
  const result = await send(
    "bedrock",
    "/v1/messages",
    {
      model: claude,
      max_tokens: 100,
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral", scope: "global" } }],
      tools: [{ ...tool, cache_control: { type: "ephemeral", scope: "global" } }],
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      messages: [
        hello,
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "done" }] },
        { role: "system", content: [{ type: "text", text: "Note this." }] },
      ],
    },
    { "anthropic-beta": "mid-conversation-system-2026-04-07,prompt-caching-scope-2026-01-05" },
  );
  assertTaken(result);
  const names = result.dropped.split(/,\s*/);
  for (const name of [
    "cache_control.scope",
    "tools.eager_input_streaming",
    "tools.defer_loading",
    "context_management",
  ]) {
    assert.ok(names.includes(name), `${name} in ${result.dropped}`);
  }
  assert.deepEqual((result.sent.messages as Members[]).at(-1), {
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "toolu_1", content: "done" },
      { type: "text", text: "Note this." },
    ],
  });
  assert.deepEqual(result.sent.system, [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }]);
});

test("an instruction between a call and its result follows the result on Bedrock", async () => {
  const result = await send("bedrock", "/v1/messages", {
    model: claude,
    max_tokens: 100,
    tools: [{ name: "read", input_schema: { type: "object" } }],
    messages: [
      hello,
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "read", input: {} }] },
      { role: "system", content: "Note this." },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "done" }] },
    ],
  });
  assertTaken(result);
  const [, , last] = result.sent.messages as Members[];
  assert.ok(last);
  assert.deepEqual(
    (last.content as Members[]).map(({ type }) => type),
    ["tool_result", "text"],
  );
});

test("members of betas that Bedrock has stay", async () => {
  const edits = { edits: [{ type: "clear_tool_uses_20250919" }] };
  const result = await send(
    "bedrock",
    "/v1/messages",
    {
      model: claude,
      max_tokens: 100,
      tools: [{ name: "read", input_schema: { type: "object" }, defer_loading: true }],
      context_management: edits,
      messages: [hello],
    },
    { "anthropic-beta": "context-management-2025-06-27,advanced-tool-use-2025-11-20" },
  );
  assertTaken(result);
  assert.deepEqual(result.sent.context_management, edits);
  assert.equal((result.sent.tools as Members[])[0]?.defer_loading, true);
});

for (const model of [claude, older, nova]) {
  test(`broken JSON in the arguments of an earlier call does not end the conversation with ${model}`, async () => {
    const call = { id: "call_1", type: "function", function: { name: "read", arguments: '{"path": "unfin' } };
    const messages = [
      hello,
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "" },
    ];
    const result = await send("bedrock", "/v1/chat/completions", { model, messages, tools: [read] });
    assertTaken(result);
    assert.equal(result.dropped, "messages.tool_calls.arguments");
    assert.ok(JSON.stringify(result.sent).includes("unfin"));
  });

  test(`a failed call without a word, and blank text, reach ${model}`, async () => {
    const result = await send("bedrock", "/v1/messages", {
      model: model === nova ? nova : claude,
      max_tokens: 100,
      tools: [{ name: "read", input_schema: { type: "object" } }],
      messages: [hello],
    });
    assertTaken(result);
    const call = { id: "call:1", type: "function", function: { name: "read", arguments: "{}" } };
    const chat = await send("bedrock", "/v1/chat/completions", {
      model,
      tools: [read],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "hi" },
            { type: "text", text: " \n" },
          ],
        },
        { role: "assistant", content: "  ", tool_calls: [call] },
        { role: "tool", tool_call_id: "call:1", content: "", is_error: true },
      ],
    });
    assertTaken(chat);
  });
}

const drawing = "https://images.example/drawing.png";
const address = { type: "image_url", image_url: { url: drawing } };
const callOf = { type: "tool_use", id: "toolu_1", name: "read", input: {} };
/** Requests of each dialect whose only image is on the web, and the field that holds its address. */
const withImage: Readonly<Record<string, { path: (model: string) => string; body: object; field: string }>> = {
  chat: {
    path: () => "/v1/chat/completions",
    body: { messages: [{ role: "user", content: [address] }] },
    field: "messages.0.content.0.image_url",
  },
  messages: {
    path: () => "/v1/messages",
    body: {
      max_tokens: 100,
      tools: [{ name: "read", input_schema: { type: "object" } }],
      messages: [
        hello,
        { role: "assistant", content: [callOf] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [{ type: "image", source: { type: "url", url: drawing } }],
            },
          ],
        },
      ],
    },
    field: "messages.2.content.0.content.0.source.url",
  },
  responses: {
    path: () => "/v1/responses",
    body: { input: [{ role: "user", content: [{ type: "input_image", image_url: drawing }] }] },
    field: "input.0.content.0.image_url",
  },
  gemini: {
    path: (model) => `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
    body: { contents: [{ role: "user", parts: [{ fileData: { fileUri: drawing, mimeType: "image/png" } }] }] },
    field: "contents.0.parts.0.fileData",
  },
};

for (const [dialect, { path, body, field }] of Object.entries(withImage)) {
  for (const model of [claude, nova]) {
    test(`an image on the web reaches ${model} from a ${dialect} client`, async () => {
      pages.set(drawing, () => new Response(null, { status: 302, headers: { location: "/moved.png" } }));
      pages.set("https://images.example/moved.png", image);
      const result = await send("bedrock", path(model), { model, ...body });
      assertTaken(result);
      assert.ok(JSON.stringify(result.sent).includes(pixel));
      assert.deepEqual(fetched, [drawing, "https://images.example/moved.png"]);
    });
  }

  test(`an image that cannot be fetched is refused with its field to a ${dialect} client`, async () => {
    pages.set(drawing, () => new Response("gone", { status: 404 }));
    const { status, text } = await send("bedrock", path(claude), { model: claude, ...body });
    assert.equal(status, 400, text);
    assert.ok(text.includes(field), text);
    assert.ok(text.includes("404"), text);
    assert.deepEqual(world.requests, []);
  });
}

/** Addresses that give no image, and what the client reads about it. */
const unusable: readonly [name: string, url: string, page: (() => Response) | undefined, reason: RegExp][] = [
  ["a private address", "http://10.0.0.7/a.png", undefined, /Cannot call this address/],
  [
    "a page",
    "https://images.example/page",
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    /not an image/,
  ],
  [
    "a redirect to a private address",
    "https://images.example/inner",
    () => new Response(null, { status: 302, headers: { location: "http://169.254.169.254/latest" } }),
    /Cannot call this address/,
  ],
  [
    "an endless redirect",
    "https://images.example/loop",
    () => new Response(null, { status: 302, headers: { location: "/loop" } }),
    /302/,
  ],
  [
    "a file that is too large",
    "https://images.example/huge.png",
    () => new Response("x", { headers: { "content-type": "image/png", "content-length": String(11 * 1024 * 1024) } }),
    /large/,
  ],
];
for (const [name, url, page, reason] of unusable) {
  test(`an image at ${name} is refused with 400`, async () => {
    if (page) pages.set(url, page);
    const messages = [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }];
    const { status, text } = await send("bedrock", "/v1/chat/completions", { model: claude, messages });
    assert.equal(status, 400, text);
    assert.match(text, reason);
    assert.ok(text.includes("messages.0.content.0.image_url"), text);
    assert.deepEqual(world.requests, []);
  });
}

for (const [provider, model] of [
  ["moonshot", "kimi-k3"],
  ["ollama", "qwen3-vl"],
] as const) {
  test(`an image on the web reaches ${model} on ${provider}, which takes bytes only`, async () => {
    pages.set(drawing, image);
    const messages = [{ role: "user", content: [address] }];
    await send(provider, "/v1/chat/completions", { model, messages });
    assert.deepEqual(fetched, [drawing]);
    assert.ok(JSON.stringify(world.requests.at(-1)?.request.body).includes(pixel));
  });
}

test("providers that fetch images themselves get the address", async () => {
  const messages = [{ role: "user", content: [address] }];
  const result = await send("openai", "/v1/chat/completions", { model: "gpt-4.1", messages });
  assertTaken(result);
  assert.deepEqual(fetched, []);
  assert.ok(JSON.stringify(result.sent).includes(drawing));
});

const dictionary = {
  type: "json_schema",
  json_schema: {
    name: "prices",
    schema: { type: "object", properties: { by_day: { type: "object", additionalProperties: { type: "number" } } } },
  },
};
for (const [provider, model] of [
  ["bedrock", "anthropic.claude-sonnet-4-6"],
  ["bedrock", claude],
  ["anthropic", "claude-opus-4-8"],
  ["azure-ai", "claude-opus-4-8"],
] as const) {
  test(`a dictionary in a response schema is reported as left out: ${provider}, ${model}`, async () => {
    const body = { model, messages: [hello], response_format: dictionary };
    const result = await send(provider, "/v1/chat/completions", body);
    assertTaken(result);
    assert.equal(result.dropped, "response_format.json_schema.schema.additionalProperties");
  });
}

test("a mark for the cache that Nova refuses beside a tool result or an image is left out and reported", async () => {
  const mark = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };
  const shown = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
  const result = await send("bedrock", "/v1/chat/completions", {
    model: nova,
    tools: [{ ...read, ...mark }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "hi", ...mark },
          { ...shown, ...mark },
        ],
      },
      { role: "assistant", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "done", ...mark },
    ],
  });
  assertTaken(result);
  assert.equal(result.dropped, "cache_control");
  assert.equal(JSON.stringify(result.sent).match(/cachePoint/g)?.length, 1);
});

test("Nova is asked for reasoning with an effort, and without what it refuses at the highest one", async () => {
  const body = { model: nova2, messages: [hello], max_tokens: 4_000, temperature: 0.3 };
  for (const [asked, sent, dropped] of [
    [{ reasoning_effort: "xhigh" }, "high", "temperature,max_tokens"],
    [{ reasoning_effort: "medium" }, "medium", ""],
    [{ thinking: { type: "enabled", budget_tokens: 2_000 } }, "medium", ""],
    [{ thinking: { type: "disabled" } }, undefined, ""],
  ] as const) {
    const result = await send("bedrock", "/v1/chat/completions", { ...body, ...asked });
    assertTaken(result);
    const fields = result.sent.additionalModelRequestFields as Members | undefined;
    assert.equal((fields?.reasoningConfig as Members | undefined)?.maxReasoningEffort, sent);
    const reported = result.dropped.split(/,\s*/).filter((name) => name !== "reasoning_effort");
    assert.deepEqual(reported.sort(), dropped === "" ? (result.dropped === "" ? [""] : []) : dropped.split(",").sort());
  }
  const first = await send("bedrock", "/v1/chat/completions", { ...body, model: nova, reasoning_effort: "low" });
  assertTaken(first);
  assert.equal(first.dropped, "reasoning_effort");
});

/** Hosts of Claude with what an agent asks that its newest models refuse. */
const hosts: readonly [provider: string, model: string, headers: Record<string, string>][] = [
  ["bedrock", claude, {}],
  [
    "bedrock",
    "arn:aws:bedrock:us-east-1:111122223333:application-inference-profile/abc",
    { "x-gateway-aws-bedrock-model": claude },
  ],
  ["azure-ai", "claude-opus-4-8", {}],
  ["azure-ai", "my-claude", {}],
  ["bedrock-mantle", "anthropic.claude-opus-4-8", { "x-gateway-aws-region": "us-east-1" }],
  ["claude-platform-aws", "claude-opus-4-8", { "x-gateway-aws-region": "us-east-1" }],
];
for (const [provider, model, headers] of hosts) {
  test(`sampling is left out, and a budget becomes an effort: ${provider}, ${model}`, async () => {
    const body = {
      model,
      max_tokens: 32_000,
      temperature: 0.3,
      thinking: { type: "enabled", budget_tokens: 8_000 },
      tools: [
        {
          type: "function",
          function: {
            name: "draw",
            parameters: { oneOf: [{ type: "object", properties: { a: {} }, required: ["a"] }] },
          },
        },
      ],
      messages: [{ role: "system", content: "Be brief." }, hello, { role: "system", content: "Note this." }],
    };
    const result = await send(provider, "/v1/chat/completions", body, headers);
    assertTaken(result);
    assert.equal(result.dropped, "temperature");
    const sent = JSON.stringify(result.sent);
    assert.ok(sent.includes('"thinking":{"type":"adaptive","display":"summarized"}'), sent);
    assert.ok(sent.includes('"effort":"medium"'), sent);
    assert.ok(!sent.includes("oneOf"), sent);
    assert.ok(JSON.stringify(result.sent.messages).includes("Note this."));
    assert.ok(!JSON.stringify(result.sent.system).includes("Note this."));
  });
}

const between: readonly Said[] = [
  { kind: "thinking", text: "First." },
  { kind: "text", text: "Reading." },
  { kind: "call", name: "read", arguments: { path: "a" } },
  { kind: "thinking", text: "Then." },
  { kind: "call", name: "read", arguments: { path: "b" } },
];
for (const provider of ["bedrock", "azure-ai", "anthropic"] as const) {
  for (const stream of [false, true]) {
    test(`reasoning between calls keeps its place for chat clients that send blocks back: ${provider}, streamed ${stream}`, async () => {
      const model = provider === "bedrock" ? claude : "claude-opus-4-8";
      world.script.push({ said: between });
      const loose = { "x-gateway-strict-open-ai-compliance": "false" };
      const asked = { model, tools: [read], messages: [hello], reasoning_effort: "low" };
      const first = await send(provider, "/v1/chat/completions", { ...asked, stream }, loose);
      assertTaken(first);
      const message = stream ? joinChunks(first.text) : JSON.parse(first.text).choices[0].message;
      const results = message.tool_calls.map(({ id }: Members) => ({
        role: "tool",
        tool_call_id: id,
        content: "done",
      }));
      const second = await send(
        provider,
        "/v1/chat/completions",
        { ...asked, messages: [hello, message, ...results] },
        loose,
      );
      assertTaken(second);
    });
  }
}

/** A message of a stream, as clients put it together: blocks by their index. */
function joinChunks(text: string) {
  const blocks: Members[] = [];
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
  let content = "";
  for (const [, data = ""] of text.matchAll(/^data: (\{.*)$/gm)) {
    const delta = JSON.parse(data).choices[0]?.delta ?? {};
    content += delta.content ?? "";
    for (const { index, delta: added } of delta.content_blocks ?? []) {
      const held = blocks[index] ?? {};
      blocks[index] = held;
      for (const [name, value] of Object.entries(added)) {
        held[name] = typeof held[name] === "string" ? held[name] + String(value) : value;
      }
    }
    for (const { index, ...call } of delta.tool_calls ?? []) {
      const held = calls[index];
      if (held) held.function.arguments += call.function.arguments;
      else calls[index] = call;
    }
  }
  return { role: "assistant", content, content_blocks: blocks.filter(Boolean), tool_calls: calls };
}

const azure = { "x-gateway-azure-api-version": "v1" };
/** Deployments, and the API that serves tools with reasoning. */
const deployments: readonly [name: string, model: string, headers: Record<string, string>, api: string][] = [
  ["named as its model", "gpt-5.4", azure, "Azure OpenAI Responses"],
  ["with the name of its model inside", "team-gpt-5.4-prod", azure, "Azure OpenAI Responses"],
  [
    "whose settings name its model",
    "prod",
    { ...azure, "x-gateway-azure-model-name": "gpt-5.4" },
    "Azure OpenAI Responses",
  ],
  ["of a model that chat serves", "gpt-5.1", azure, "Azure OpenAI chat"],
  ["whose model nobody names", "prod", azure, "Azure OpenAI chat"],
  [
    "of an API version without the Responses API",
    "gpt-5.4",
    { "x-gateway-azure-api-version": "2024-10-21", "x-gateway-azure-deployment-id": "gpt-5.4" },
    "Azure OpenAI chat",
  ],
  [
    "of an API version with a date that has the Responses API",
    "gpt-5.4",
    { "x-gateway-azure-api-version": "2025-04-01-preview", "x-gateway-azure-deployment-id": "gpt-5.4" },
    "Azure OpenAI Responses",
  ],
];
for (const [name, model, headers, api] of deployments) {
  test(`tools with reasoning reach a deployment ${name}`, async () => {
    const tools = [{ name: "read", input_schema: { type: "object" } }];
    const messages = await send(
      "azure-openai",
      "/v1/messages",
      { model, max_tokens: 4_000, tools, messages: [hello], thinking: { type: "enabled", budget_tokens: 2_000 } },
      headers,
    );
    assertTaken(messages);
    assert.equal(messages.emulator, api);
    const path = `/v1beta/models/${model}:generateContent`;
    const gemini = await send(
      "azure-openai",
      path,
      {
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
        tools: [{ functionDeclarations: [{ name: "read", parameters: { type: "object", properties: {} } }] }],
        generationConfig: { thinkingConfig: { thinkingLevel: "low" } },
      },
      headers,
    );
    assertTaken(gemini);
    assert.equal(gemini.emulator, api);
  });
}

test("a chat of an OpenAI client reaches Azure OpenAI as it came", async () => {
  const body = { model: "gpt-5.1", messages: [hello], tools: [read], reasoning_effort: "low" };
  const result = await send("azure-openai", "/v1/chat/completions", body);
  assertTaken(result);
  assert.deepEqual(result.sent, body);
});
