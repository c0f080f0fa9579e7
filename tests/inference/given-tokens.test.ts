import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestClock, createTestGateway, requestHeaders, type TestGateway } from "../support/gateway.ts";

const clock = createTestClock();
const answer = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** Tokens that were fetched, and the first of them that is in force. */
let fetched = 0;
let oldest = 1;
/** Calls of the service of a check. */
let checks = 0;
const transport = {
  async send(url: string, init: { headers?: unknown }) {
    if (/login\.microsoftonline|\/token$/.test(url)) {
      fetched++;
      return Response.json({ access_token: `token-${fetched}`, token_type: "Bearer", expires_in: 3600 });
    }
    if (!url.includes("cognitiveservices")) return Response.json(answer);
    checks++;
    const authorization = new Headers(init.headers as Record<string, string>).get("authorization") ?? "";
    const isValid = Number(/token-(\d+)/.exec(authorization)?.[1]) >= oldest;
    return isValid ? Response.json({ categoriesAnalysis: [] }) : Response.json({ error: "expired" }, { status: 401 });
  },
};
const gateways: TestGateway[] = [];
async function start(): Promise<TestGateway> {
  const gateway = await createTestGateway({ clock, transport, trustedHosts: ["127.0.0.1"] });
  gateways.push(gateway);
  fetched = 0;
  oldest = 1;
  checks = 0;
  return gateway;
}
after(async () => {
  for (const gateway of gateways) await gateway.close();
});

async function ask(gateway: TestGateway, more: Record<string, string>) {
  const headers = requestHeaders({ "x-gateway-provider": "openai", ...more });
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x" }] });
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
  return { response, text: await response.text() };
}
const byOauth = (client: string) => ({
  "x-gateway-oauth": JSON.stringify({
    token_url: "https://identity.example/token",
    client_id: client,
    client_secret: "fake",
  }),
});

test("settings of OAuth that differ in each request fetch a bounded number of tokens", async () => {
  const gateway = await start();
  assert.equal((await ask(gateway, byOauth("known"))).response.status, 200);
  const statuses: number[] = [];
  for (let count = 0; count < 600; count++) statuses.push((await ask(gateway, byOauth(`c${count}`))).response.status);
  assert.ok(fetched <= 300, `${fetched} tokens`);
  assert.deepEqual([statuses[0], statuses.at(-1)], [200, 429]);
  const { response, text } = await ask(gateway, byOauth("one more"));
  assert.match(text, /too_many_tokens/);
  assert.equal(response.headers.get("retry-after"), "1");
  // tokens that are known stay in use, and others follow
  assert.equal((await ask(gateway, byOauth("known"))).response.status, 200);
  clock.advance(1_000);
  assert.equal((await ask(gateway, byOauth("later"))).response.status, 200);
});

test("a token that the service of a partner's check refuses is fetched again, and the call is sent once more", async () => {
  const gateway = await start();
  const credentials = {
    contentSafety: {
      resourceName: "resource",
      azureAuthMode: "entra",
      azureEntraTenantId: "11111111-1111-1111-1111-111111111111",
      azureEntraClientId: "client",
      azureEntraClientSecret: "fake",
    },
  };
  const check = { id: "azure.contentSafety", parameters: { credentials } };
  const config = JSON.stringify({ input_guardrails: [{ checks: [check], deny: true }] });
  const guarded = () => ask(gateway, { authorization: "Bearer fake", "x-gateway-config": config });
  const first = await guarded();
  assert.equal(first.response.status, 200, first.text);
  assert.deepEqual([fetched, checks], [1, 1]);
  oldest = 2;
  assert.equal((await guarded()).response.status, 200);
  assert.deepEqual([fetched, checks], [2, 3]);
  // one that refuses every token is called twice at most, and few tokens are fetched
  oldest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 10; count++) {
    const before = checks;
    assert.equal((await guarded()).response.status, 446);
    assert.ok(checks - before <= 2);
  }
  assert.ok(fetched <= 5, `${fetched} tokens`);
});
