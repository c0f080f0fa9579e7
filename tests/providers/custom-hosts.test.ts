import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chat, createTestGateway, readJson, requestHeaders } from "../support/gateway.ts";
import { testCalls } from "../support/provider-calls.ts";
import { createWire } from "../support/wire.ts";

const hosts = { bare: "https://models.example.com", versioned: "https://models.example.com/v1" } as const;
const claude = { model: "anthropic.claude-haiku-4-5", messages: [{ role: "user", content: "Hello" }] };

for (const [name, host] of Object.entries(hosts)) {
  const headers = { "x-gateway-custom-host": host };
  await testCalls("bedrock-mantle", [
    {
      name: `calls OpenAI's models at a ${name} custom host`,
      headers,
      url: "https://models.example.com/v1/chat/completions",
    },
    ...(name === "bare"
      ? [
          {
            name: "calls Anthropic's models at the same custom host",
            headers,
            body: claude,
            url: "https://models.example.com/anthropic/v1/messages",
          },
        ]
      : []),
  ]);
}

await testCalls("bedrock-mantle", [
  {
    name: "forwards paths of OpenAI's API",
    path: "/proxy/models",
    url: "https://bedrock-mantle.us-east-1.api.aws/v1/models",
  },
  {
    name: "forwards paths of Anthropic's API",
    path: "/proxy/anthropic/v1/messages",
    body: claude,
    url: "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1/messages",
  },
]);

await testCalls("workers-ai", [
  {
    name: "needs no account with a custom host",
    headers: { "x-gateway-custom-host": "https://models.example.com/run" },
    body: { model: "@cf/meta/llama", messages: [{ role: "user", content: "Hello" }] },
    url: "https://models.example.com/run/@cf/meta/llama",
  },
]);

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

interface Failure {
  error: { message: string; code: string | null };
}
const ask = (provider: string, body: object) =>
  chat(
    gateway,
    { model: "gemini-2.5-flash", messages: [{ role: "user", content: "Hello" }], ...body },
    {
      "x-gateway-provider": provider,
      "x-gateway-vertex-project-id": "p",
      authorization: "Bearer key",
    },
  );

const quota = { error: { code: 429, message: "fixture: out of quota", status: "RESOURCE_EXHAUSTED" } };
for (const provider of ["google", "vertex-ai"]) {
  for (const [form, data] of [
    ["an object", quota],
    ["a list", [quota]],
  ] as const) {
    test(`${provider} failures in the first frame of a stream, as ${form}, keep status and message`, async () => {
      const headers = { "content-type": "text/event-stream" };
      wire.answer = () => new Response(`data: ${JSON.stringify(data)}\r\n\r\n`, { headers });
      const response = await ask(provider, { stream: true });
      const { error } = await readJson<Failure>(response);
      assert.deepEqual([response.status, error.code], [429, "RESOURCE_EXHAUSTED"]);
      assert.match(error.message, /fixture: out of quota/);
    });
  }
}

test("first frames that are a list without a failure are invalid responses", async () => {
  wire.answer = () => new Response("data: [1]\n\n", { headers: { "content-type": "text/event-stream" } });
  assert.equal((await ask("google", { stream: true })).status, 502);
});

const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
for (const [name, body, status, wanted] of [
  ["is not UTF-8", latin1('{"error":{"message":"fixture: caf\xe9 closed"}}'), 429, /fixture: caf\ufffd closed/],
  ["is not UTF-8 and no JSON", latin1("fixture: caf\xe9"), 503, /fixture: caf\ufffd/],
  ["is too deep to be parsed", latin1("[".repeat(3000)), 400, /openai/],
] as const) {
  test(`failures whose body ${name} keep their status`, async () => {
    wire.answer = () => new Response(body, { status, headers: { "content-type": "application/json" } });
    const response = await ask("openai", {});
    const { error } = await readJson<Failure>(response);
    assert.equal(response.status, status, error.message);
    assert.match(error.message, wanted);
  });
}

test("responses that are not UTF-8 are invalid", async () => {
  wire.answer = () =>
    new Response(latin1('{"choices":[],"a":"\xe9"}'), { headers: { "content-type": "application/json" } });
  assert.equal((await ask("openai", {})).status, 502);
});

test("failures of a file route whose body is not UTF-8 keep their status", async () => {
  wire.answer = () => new Response(latin1('{"error":{"message":"caf\xe9"}}'), { status: 404 });
  const headers = requestHeaders({ "x-gateway-provider": "anthropic", authorization: "Bearer key" });
  const response = await gateway.fetch("/v1/files/f", { headers });
  assert.equal(response.status, 404, await response.text());
});
