import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, requestHeaders } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const gateway = await createTestGateway({ transport: wire.transport, limits: { jsonBodyBytes: 2_000 } });
after(() => gateway.close());

/** Types by status (https://docs.claude.com/en/api/errors). */
const types: readonly (readonly [number, string])[] = [
  [400, "invalid_request_error"],
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [408, "timeout_error"],
  [413, "request_too_large"],
  [422, "invalid_request_error"],
  [429, "rate_limit_error"],
  [500, "api_error"],
  [503, "api_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
];

const message = { model: "m", max_tokens: 5, messages: [{ role: "user", content: "x" }] };

async function ask(provider: string, body: object = message, more: Record<string, string | null> = {}) {
  const headers = requestHeaders({ "x-gateway-provider": provider, authorization: "Bearer fake", ...more });
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await gateway.gateway.fetch(new Request("http://gateway.test/v1/messages", init));
  const { type, error } = JSON.parse(await answer.text());
  return [answer.status, type, error.type];
}

/** Errors of a provider that has other types than Anthropic, or the same for many statuses. */
const bodies: Readonly<Record<string, (status: number) => object>> = {
  openai: () => ({ error: { message: "no", type: "invalid_request_error", code: "x", param: null } }),
  google: (code) => ({ error: { code, message: "no", status: "INVALID_ARGUMENT" } }),
  deepseek: () => ({ error: { message: "no", type: "api_error" } }),
};

for (const [provider, toBody] of Object.entries(bodies)) {
  test(`errors of ${provider} have Anthropic's types on /v1/messages, by their status`, async () => {
    for (const [status, type] of types) {
      wire.answer = () => Response.json(toBody(status), { status });
      for (const stream of [false, true]) {
        assert.deepEqual(await ask(provider, { ...message, stream }), [status, "error", type]);
      }
    }
  });
}

test("the gateway's own errors have Anthropic's types on /v1/messages", async () => {
  const wrongKey = { "x-gateway-api-key": "wrong-key-000000000000000" };
  assert.deepEqual(await ask("openai", message, wrongKey), [401, "error", "authentication_error"]);
  assert.deepEqual(await ask("openai", { ...message, model: 1 }), [400, "error", "invalid_request_error"]);
  const long = { ...message, system: "x".repeat(3_000) };
  assert.deepEqual(await ask("openai", long), [413, "error", "request_too_large"]);
});

test("an error in the middle of a converted stream has the type of its status", async () => {
  const chunk = { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "a" } }] };
  const error = { error: { message: "no", type: "requests", code: "rate_limit_exceeded" } };
  const events = [chunk, error].map((one) => `data: ${JSON.stringify(one)}\n\n`).join("");
  wire.answer = () => new Response(events, { headers: { "content-type": "text/event-stream" } });
  const headers = requestHeaders({ "x-gateway-provider": "openai", authorization: "Bearer fake" });
  const init = { method: "POST", headers, body: JSON.stringify({ ...message, stream: true }) };
  const answer = await gateway.gateway.fetch(new Request("http://gateway.test/v1/messages", init));
  assert.match(await answer.text(), /"type":"rate_limit_error"/);
});
