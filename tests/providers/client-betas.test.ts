import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fixture } from "../conformance/suite.ts";
import { chat, createTestGateway, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport });
after(() => gateway.close());

const hosts = {
  "vertex-ai": {
    model: "claude-sonnet-4-6",
    headers: { "x-gateway-vertex-project-id": "p" },
    answer: fixture("anthropic", "chat.json"),
    betasOf: (body: Record<string, unknown>) => body.anthropic_beta,
  },
  bedrock: {
    model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
    headers: { "x-gateway-aws-region": "eu-west-1" },
    answer: fixture("bedrock", "chat.json"),
    betasOf: (body: Record<string, unknown>) => Object(body.additionalModelRequestFields).anthropic_beta,
  },
} as const;

for (const [provider, { model, headers, answer, betasOf }] of Object.entries(hosts)) {
  const ask = async (beta: string) => {
    wire.answer = () => new Response(answer, { headers: { "content-type": "application/json" } });
    const body = { model, messages: [{ role: "user", content: "Hello" }] };
    const own = { "x-gateway-provider": provider, authorization: "Bearer provider-key", "anthropic-beta": beta };
    const response = await chat(gateway, body, { ...own, ...headers });
    assert.equal(response.status, 200, await response.text());
    assert.equal(wire.init?.headers["anthropic-beta"], undefined);
    const sent: Record<string, unknown> = JSON.parse(String(wire.init?.body));
    return { betas: betasOf(sent), dropped: response.headers.get("x-gateway-dropped-params") };
  };

  test(`${provider} gets the betas of a client's header in the body`, async () => {
    const { betas, dropped } = await ask("context-1m-2025-08-07,interleaved-thinking-2025-05-14");
    assert.deepEqual(betas, ["context-1m-2025-08-07", "interleaved-thinking-2025-05-14"]);
    assert.equal(dropped, null);
  });

  test(`${provider} drops and reports unknown betas of a client's header`, async () => {
    const { betas, dropped } = await ask("claude-code-20250219,context-1m-2025-08-07");
    assert.deepEqual(betas, ["context-1m-2025-08-07"]);
    assert.equal(dropped, "anthropic-beta");
  });

  test(`${provider} does not read a header with the gateway's key`, async () => {
    const { betas, dropped } = await ask(`context-1m-2025-08-07,${workspaceKey}`);
    assert.deepEqual([betas, dropped], [undefined, null]);
  });
}
