import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

// A provider that repeats a header of an integration in its error reveals it to nobody.

const values = { authorization: "Bearer hidden-first-000001", "x-thing": "q8Zr3Lw7Xn2Vt5Kd9Mb4", "x-team": "blue" };
const bare = ["hidden-first-000001", values["x-thing"]];
let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream((request, response) => {
    const [scheme = "", first = ""] = String(request.headers.authorization).split(" ");
    const message = `Cannot use ${first} of ${scheme}, ${request.headers["x-thing"]} for ${request.headers["x-team"]}`;
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

test("credentials in custom_headers that an error repeats, without their scheme too, are masked for the caller and in the row", async () => {
  const configurations = { custom_host: `${upstream.url}/v1`, custom_headers: values };
  const integration = {
    name: "Echo",
    slug: "echoing",
    ai_provider_id: "openai",
    key: "hidden-key-0000-1",
    configurations,
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
  const provider = { name: "Echo", slug: "echoing-one", integration_id: "echoing" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  const headers = { "x-gateway-provider": "@echoing-one", "x-gateway-trace-id": "echoed" };
  const response = await chat(gateway, undefined, headers);
  const text = await response.text();
  const row = JSON.stringify(await waitForLog(gateway, "echoed"));
  for (const secret of bare) {
    assert.ok(!text.includes(secret), text);
    assert.ok(!row.includes(secret), row);
  }
  assert.ok(text.includes("blue"), text);
});
