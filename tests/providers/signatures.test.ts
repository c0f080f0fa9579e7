// Signatures of Gemini's calls, in conversations that go to other hosts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInProviders } from "../../src/providers/registry.ts";
import { createTestGateway, workspaceKey } from "../support/gateway.ts";

const signature = "c2lnbmF0dXJl";
const signed = {
  id: "abcdefghi",
  type: "function",
  thought_signature: signature,
  function: { name: "f", arguments: "{}", thought_signature: signature },
  extra_content: { google: { thought_signature: signature } },
};
const request = {
  model: "m",
  messages: [
    { role: "user", content: "Hello" },
    { role: "assistant", content: null, tool_calls: [signed] },
    { role: "tool", tool_call_id: "abcdefghi", content: "1" },
  ],
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
};
const settings: Readonly<Record<string, string>> = {
  "azure-resource-name": "r",
  "azure-deployment-id": "d",
  "azure-api-version": "v1",
  "oracle-compartment-id": "c",
  "databricks-workspace": "w",
  "vertex-project-id": "p",
};

/** Hosts of Gemini, which take the signature, and a provider that repeats what it is sent. */
const taking = ["google", "vertex-ai", "databricks", "echo"];

for (const provider of builtInProviders) {
  const bound = provider.bind((name) => settings[name] ?? null);
  const { chat } = bound.operations;
  if (!chat || taking.includes(provider.slug)) continue;
  for (const isConverted of [true, false]) {
    test(`${provider.slug} gets no signature of Gemini's calls, converted ${isConverted}`, (context) => {
      let body: unknown;
      try {
        body = chat.toUpstream?.(request, { strict: true, isConverted, drop: () => {} }) ?? request;
      } catch (error) {
        // a provider without tools has no calls
        assert.match(String(error), /tools/);
        context.skip();
        return;
      }
      assert.ok(!JSON.stringify(body).includes(signature));
    });
  }
}

test("signatures of Gemini survive the Messages API over Google's OpenAI-compatible endpoint", async () => {
  const sent: Record<string, unknown>[] = [];
  const { thought_signature: _own, function: _function, ...call } = signed;
  const message = {
    role: "assistant",
    content: null,
    tool_calls: [{ ...call, function: { name: "f", arguments: "{}" } }],
  };
  const send = async (_url: string, { body }: { body?: unknown }) => {
    sent.push(JSON.parse(String(body)));
    return Response.json({
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    });
  };
  const gateway = await createTestGateway({ transport: { send, sendChecked: send } });
  const messages: object[] = [{ role: "user", content: "Hello" }];
  const ask = async (): Promise<{ content: { type: string; id: string }[] }> => {
    const response = await gateway.fetch("/v1/messages", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": workspaceKey,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": "https://generativelanguage.googleapis.com/v1beta/openai",
        authorization: "Bearer fake-provider-key",
      },
      body: JSON.stringify({
        model: "gemini-3.1-pro-preview",
        max_tokens: 9,
        messages,
        tools: [{ name: "f", input_schema: { type: "object" } }],
      }),
    });
    return JSON.parse(await response.text());
  };
  const { content } = await ask();
  const called = content.find(({ type }) => type === "tool_use");
  messages.push({ role: "assistant", content });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: called?.id, content: "1" }] });
  await ask();
  await gateway.close();
  assert.match(
    JSON.stringify(sent[1]),
    new RegExp(`"extra_content":\\{"google":\\{"thought_signature":"${signature}"`),
  );
});
