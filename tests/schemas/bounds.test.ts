import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, readJson, requestHeaders } from "../support/gateway.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

const bodies: Readonly<Record<string, object>> = {
  "chat/completions": { model: "echo-1", messages: [{ role: "user", content: "Hello" }] },
  completions: { model: "echo-1", prompt: "Hello" },
  responses: { model: "echo-1", input: "Hello" },
};

async function ask(path: string, members: object): Promise<{ status: number; param: string | null | undefined }> {
  const response = await gateway.fetch(`/v1/${path}`, {
    method: "POST",
    headers: requestHeaders({ "x-gateway-provider": "echo" }),
    body: JSON.stringify({ ...bodies[path], ...members }),
  });
  const { error } = await readJson<{ error?: { param: string | null } }>(response);
  return { status: response.status, param: error?.param };
}

const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`name${index}`, "value"]));

for (const [path, param, value] of [
  ["chat/completions", "logit_bias", { "50256": 101 }],
  ["chat/completions", "logit_bias", { "50256": -101 }],
  ["chat/completions", "logit_bias", []],
  ["chat/completions", "logit_bias", { "50256": "5" }],
  ["chat/completions", "seed", 1.5],
  ["chat/completions", "seed", "7"],
  ["chat/completions", "seed", 1e19],
  ["chat/completions", "tool_choice", "sometimes"],
  ["chat/completions", "tool_choice", []],
  ["chat/completions", "metadata", many],
  ["chat/completions", "metadata", ["a"]],
  ["completions", "logit_bias", { "50256": 101 }],
  ["completions", "seed", -1e19],
  ["responses", "metadata", ["a"]],
  ["responses", "metadata", many],
  ["responses", "metadata", { a: "x".repeat(513) }],
  ["responses", "metadata", { ["x".repeat(65)]: "a" }],
  ["responses", "tool_choice", "sometimes"],
  ["responses", "tool_choice", []],
] as const) {
  test(`POST /v1/${path} refuses ${param}: ${JSON.stringify(value).slice(0, 40)}`, async () => {
    const { status, param: named } = await ask(path, { [param]: value });
    assert.equal(status, 400);
    assert.ok(named?.startsWith(param), `${named}`);
  });
}

for (const [path, members] of [
  ["chat/completions", { logit_bias: { "50256": -100 }, seed: 7, tool_choice: "none", metadata: { a: "b" } }],
  ["chat/completions", { logit_bias: null, seed: null, tool_choice: null, metadata: null }],
  ["completions", { logit_bias: { "50256": 100 }, seed: -7 }],
  ["responses", { metadata: { a: "b" }, tool_choice: "none" }],
] as const) {
  test(`POST /v1/${path} takes ${JSON.stringify(members)}`, async () => {
    assert.equal((await ask(path, members)).status, 200);
  });
}
