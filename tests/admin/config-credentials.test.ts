import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, workspaceKey as key } from "../support/gateway.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const upstream = await startRecordingUpstream((_, response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const message = { role: "assistant", content: "Hi" };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
});
const gateway = await createTestGateway();
after(async () => {
  await gateway.close();
  await upstream.close();
});

const most = 1_000;
const numbers = Array.from({ length: most }, (_, index) => index);

interface SavedConfig {
  slug: string;
  config: string | { targets: { api_key: string }[] };
}

test("1,000 conditional targets with a key each can be saved, read, saved again and used", async () => {
  const targets = numbers.map((index) => ({
    name: `t${index}`,
    provider: "openai",
    api_key: `sk-obviously-fake-${index}`,
    custom_host: `${upstream.url}/v1`,
  }));
  const conditions = numbers.slice(0, 100).map((index) => ({
    query: { "metadata.target": `t${index * 10 + 9}` },
    then: `t${index * 10 + 9}`,
  }));
  const config = { strategy: { mode: "conditional", conditions, default: "t0" }, targets };
  const { slug } = await done<SavedConfig>(
    call<SavedConfig>(gateway, "POST /configs", { key, body: { name: "Wide", config } }),
  );
  const shown = await done(call<{ data: SavedConfig } & SavedConfig>(gateway, `GET /configs/${slug}`, { key }));
  const held = (shown.data ?? shown).config;
  const masked = typeof held === "string" ? JSON.parse(held) : held;
  assert.equal(masked.targets.length, most);
  assert.doesNotMatch(JSON.stringify(masked), /obviously-fake/);
  await done(call(gateway, `PUT /configs/${slug}`, { key, body: { config: masked } }));
  const headers = {
    "x-gateway-provider": null,
    "x-gateway-config": slug,
    "x-gateway-metadata": JSON.stringify({ target: "t999" }),
  };
  const response = await chat(gateway, { model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] }, headers);
  assert.equal(response.status, 200, await response.text());
  assert.equal(upstream.requests.at(-1)?.headers.authorization, "Bearer sk-obviously-fake-999");
});
