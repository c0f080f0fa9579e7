import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestGateway, requestHeaders, type TestGateway } from "../support/gateway.ts";
import { configHeader } from "../support/routed.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

// A check that blocks tools finds them in every place from which a provider takes them.

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  upstream = await startRecordingUpstream((_request, response) => response.writeHead(503).end());
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const user = { role: "user", content: "hi" };
const server = { type: "mcp", server_label: "docs", server_url: "https://docs.example" };
const added = { type: "additional_tools", role: "developer", tools: [server] };
const own = { name: "run", input_schema: { type: "object" } };
const attachments = [{ file_id: "file-1", tools: [{ type: "function" }] }];
const requests: readonly [path: string, provider: string, body: object][] = [
  ["/v1/responses", "openai", { input: [added, user] }],
  ["/v1/responses", "openai", { input: [{ type: "tool_search_output", tools: [server] }, user] }],
  ["/v1/responses/input_tokens", "openai", { input: [added, user] }],
  ["/v1/responses/compact", "openai", { input: [added, user] }],
  ["/v1/conversations", "openai", { items: [added] }],
  ["/v1/messages/batches", "anthropic", { requests: [{ params: { messages: [user], tools: [own] } }] }],
  ["/v1/proxy/v1/messages/batches", "anthropic", { requests: [{ params: { messages: [user], tools: [own] } }] }],
  ["/v1/proxy/model/m/converse", "bedrock", { messages: [], toolConfig: { tools: [{ toolSpec: { name: "run" } }] } }],
  ["/v1/threads/thread_1/messages", "openai", { ...user, attachments }],
  ["/v1/threads/runs", "openai", { assistant_id: "a", thread: { messages: [{ ...user, attachments }] } }],
  ["/v1/realtime/client_secrets", "openai", { session: { type: "realtime", tools: [server] } }],
];

for (const [path, provider, body] of requests) {
  test(`requestParametersCheck denies tools in ${path} with ${JSON.stringify(body).slice(0, 60)}`, async () => {
    const check = { "default.requestParametersCheck": { tools: { blockedTypes: ["mcp", "function"] } }, deny: true };
    const text = JSON.stringify({ model: "m", ...body });
    const headers = requestHeaders({
      "x-gateway-provider": provider,
      "x-gateway-custom-host": `${upstream.url}/v1`,
      "content-type": "application/json",
      "content-length": String(text.length),
      ...configHeader({ input_guardrails: [check] }),
    });
    const request = new Request(`http://gateway.test${path}`, { method: "POST", headers, body: text });
    const { status } = await gateway.gateway.fetch(request);
    assert.deepEqual([status, upstream.requests.length], [446, 0]);
  });
}
