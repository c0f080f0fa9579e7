import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as v from "valibot";
import { adminEndpoints } from "../src/admin/endpoints.ts";
import { scimEndpoints } from "../src/admin/scim/endpoints.ts";
import type { Endpoint } from "../src/endpoint.ts";
import { inferenceEndpoints, passthroughEndpoints } from "../src/inference/routes/endpoints.ts";
import { firstPlainIssue } from "../src/lib/issues.ts";
import { createTestGateway, readJson, requestHeaders } from "./support/gateway.ts";

const endpoints: readonly Endpoint[] = [
  ...adminEndpoints,
  ...scimEndpoints,
  ...inferenceEndpoints,
  ...passthroughEndpoints,
];
const bodies: readonly unknown[] = [{}, 5, "x", [], null, { model: 5, messages: 5, input: 5, name: 5 }, { unknown: 1 }];

test("no row answers a wrong body in the words of the schema library", () => {
  for (const endpoint of endpoints) {
    const schema = "body" in endpoint ? endpoint.body : undefined;
    if (schema === undefined) continue;
    for (const body of bodies) {
      const { issues = [] } = v.safeParse(schema, body, firstPlainIssue);
      for (const { message } of issues) {
        assert.doesNotMatch(message, /Invalid (?:key|type|value|length|input)|Expected|but received/, endpoint.path);
      }
    }
  }
});

const gateway = await createTestGateway();
after(() => gateway.close());

interface Failure {
  error: { message: string; param: string; code: string };
}

async function send(path: string, body: object, provider: string): Promise<Failure & { status: number }> {
  const headers = requestHeaders({ "x-gateway-provider": provider });
  const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  return { ...(await readJson<Failure>(response)), status: response.status };
}

test("a body without messages is answered with their name and that they are required", async () => {
  const { status, error } = await send("/v1/chat/completions", { model: "m" }, "echo");
  assert.deepEqual([status, error.param, error.code], [400, "messages", "invalid_body"]);
  assert.equal(error.message, "Invalid request body: messages: required");
});

test("a misspelt provider is answered with the nearest ones and the page of all", async () => {
  const { status, error } = await send(
    "/v1/chat/completions",
    { model: "m", messages: [{ role: "user", content: "Hello" }] },
    "opnai",
  );
  assert.deepEqual([status, error.param, error.code], [400, "x-gateway-provider", "invalid_provider"]);
  assert.match(error.message, /did you mean openai/);
  assert.match(error.message, /docs\/providers\.md/);
  assert.ok(error.message.length < 300, error.message);
});
