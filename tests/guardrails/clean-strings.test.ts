import assert from "node:assert/strict";
import { test } from "node:test";
import { CleanStrings } from "../../src/guardrails/clean-strings.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { chat, createTestGateway } from "../support/gateway.ts";

const long = "An agent sends this text of its conversation with each of its turns. ".repeat(40);
const [mail, address, card] = ["jo@example.com", "203.0.113.7", "4111 1111 1111 1111"];
const gateway = await createTestGateway();

/** Status of a chat with these strings behind a guardrail. */
async function send(strings: readonly string[], guardrail: object): Promise<number> {
  const config = { input_guardrails: [{ ...guardrail, deny: true }] };
  const headers = { "x-gateway-provider": "echo", "x-gateway-config": JSON.stringify(config) };
  const messages = strings.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
  const response = await chat(gateway, { model: "echo-1", messages }, headers);
  await response.text();
  return response.status;
}

test("a text that was clean is still searched by guardrails that look for other values", async () => {
  const strings = [`${long} ${mail} ${long}`, `${long} ${card}`, long];
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(await send(strings, { "gateway.pii": { categories: ["IP_ADDRESS"] } }), 200);
    assert.equal(await send(strings, { "gateway.pii": { categories: ["EMAIL_ADDRESS"] } }), 446);
    assert.equal(await send(strings, { "gateway.pii": { categories: ["IP_ADDRESS", "CREDIT_CARD"] } }), 446);
    assert.equal(await send(strings, { "gateway.pii": {} }), 446);
    // the check passes only if there is a value
    assert.equal(await send(strings, { "gateway.pii": { categories: ["IP_ADDRESS"], not: true } }), 446);
    assert.equal(await send(strings, { "gateway.pii": { categories: ["EMAIL_ADDRESS"], not: true } }), 200);
  }
});

test("a text in which no credential was found is still searched by guardrails that look for other kinds", async () => {
  const strings = [`${long} AKIAFAKE0FAKE0FAKE00 ${long}`, long];
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(await send(strings, { "default.secrets": { kinds: ["JWT"] } }), 200);
    assert.equal(await send(strings, { "default.secrets": { kinds: ["AWS_KEY"] } }), 446);
    assert.equal(await send(strings, { "default.secrets": {} }), 446);
    assert.equal(await send([long, long], { "default.secrets": {} }), 200);
    assert.equal(await send(strings, { "gateway.pii": {} }), 200);
  }
});

test("a text with a value is denied each time, and so is one that differs from a clean text in a character", async () => {
  const clean = `${long} jo.example.com ${long}`;
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(await send([clean, long], { "gateway.pii": {} }), 200);
    assert.equal(await send([clean.replace("jo.", "jo@"), long], { "gateway.pii": {} }), 446);
    assert.equal(await send([clean, long, `${long} ${address}`], { "gateway.pii": {} }), 446);
  }
});

test("values in a conversation that comes again are replaced each time", async () => {
  const config = { input_guardrails: [{ "gateway.pii": { redact: true } }] };
  const headers = { "x-gateway-provider": "echo", "x-gateway-config": JSON.stringify(config) };
  for (let turn = 0; turn < 3; turn++) {
    const messages = [
      { role: "user", content: long },
      { role: "user", content: `${long} ${mail}` },
    ];
    const response = await chat(gateway, { model: "echo-1", messages }, headers);
    const shown = await response.text();
    assert.ok(shown.includes("{{EMAIL_ADDRESS_1}}") && !shown.includes(mail), shown);
  }
  await gateway.close();
});

test("CleanStrings distinguishes tenants and rules, forgets the oldest beyond its bound, and leaves out short and broken text", () => {
  const strings = new CleanStrings(nodeMac(new Uint8Array(32)));
  const owner = { tenant: '["o","w"]', rules: "gateway.pii A" };
  const name = strings.nameOf(long, owner) ?? assert.fail();
  strings.add(name, owner);
  assert.ok(strings.has(strings.nameOf(long, owner) ?? ""));
  for (const other of [
    { ...owner, tenant: '["o","v"]' },
    { ...owner, rules: "gateway.pii B" },
  ]) {
    assert.ok(!strings.has(strings.nameOf(long, other) ?? ""));
  }
  assert.equal(strings.nameOf("short", owner), undefined);
  assert.equal(strings.nameOf(`${long}\ud800`, owner), undefined);
  for (let index = 0; index < 40_000; index++) strings.add(`name ${index}`, owner);
  assert.equal(strings.size, 32 * 1024);
});
