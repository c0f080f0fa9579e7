import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  readJson,
  requestHeaders,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const gateway = await createTestGateway();
after(() => gateway.close());

/** Headers that report how a request was routed. */
function routingOf({ headers }: Response) {
  const names = ["provider", "last-used-option-index", "retry-attempt-count", "cache-status"];
  return names.map((name) => headers.get(`x-gateway-${name}`));
}

const reported = ["openai", "config", "0", "DISABLED"];

test("a provider that cannot be reached is named in the routing headers without a config", async () => {
  const gone = await startServer(() => {});
  await gone.close();
  for (const path of ["/v1/chat/completions", "/v1/some/path"]) {
    const headers = requestHeaders({ "x-gateway-provider": "openai", "x-gateway-custom-host": gone.url });
    const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(helloBody) });
    await response.text();
    assert.ok(response.status >= 502, `${response.status}`);
    assert.deepEqual(routingOf(response), reported);
  }
});

test("a provider that is too slow is named in the routing headers without a config", async () => {
  const upstream = await startServer(() => {});
  const headers = {
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": upstream.url,
    "x-gateway-request-timeout": "50",
  };
  const response = await chat(gateway, helloBody, headers);
  await response.text();
  assert.deepEqual([response.status, routingOf(response)], [408, reported]);
  await upstream.close();
});

interface Models {
  data: { provider: string }[];
}

async function providersOf(headers: HeaderChanges): Promise<string[]> {
  const response = await gateway.fetch("/v1/models", { headers: requestHeaders({ "content-type": null, ...headers }) });
  assert.equal(response.status, 200, await response.clone().text());
  const { data } = await readJson<Models>(response);
  return [...new Set(data.map(({ provider }) => provider))].sort();
}

test("a config with fetch_integrated_models lists the models of the workspace's providers it names", async () => {
  for (const slug of ["first", "second"]) {
    const integration = {
      name: slug,
      slug: `${slug}-i`,
      ai_provider_id: "openai",
      key: "k",
      create_default_provider: false,
    };
    await done(call(gateway, "POST /integrations", { key: workspaceKey, body: integration }));
    const provider = { name: slug, slug, integration_id: `${slug}-i` };
    await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
  }
  const list = (config: object) =>
    providersOf({ "x-gateway-config": JSON.stringify({ ...config, fetch_integrated_models: true }) });
  const strategy = { mode: "fallback" };
  assert.deepEqual(await list({ provider: "@first" }), ["first"]);
  assert.deepEqual(await list({ strategy, targets: [{ provider: "@first" }, { provider: "@second" }] }), [
    "first",
    "second",
  ]);
  assert.deepEqual(await list({ strategy, targets: [{ provider: "@first" }, { passthrough: true }] }), [
    "first",
    "second",
  ]);
  assert.deepEqual(await list({}), ["first", "second"]);
  assert.deepEqual(
    await providersOf({ "x-gateway-config": '{"provider":"@second"}', "x-gateway-fetch-integrated-models": "true" }),
    ["second"],
  );
});

for (const [member, value, problem] of [
  ["prompt_id", "pp-1", /Following prompt_id are not valid: pp-1/],
  ["metadata", { team: { name: "blue" } }, /metadata.*must have at most 64 pairs/],
] as const) {
  test(`a config with a ${member} that cannot be used is refused when it is saved`, async () => {
    const config = { provider: "openai", api_key: "k", [member]: value };
    const { status, body } = await call(gateway, "POST /configs", {
      key: workspaceKey,
      body: { name: member, config },
    });
    assert.equal(status, 400);
    assert.match(JSON.stringify(body), problem);
  });
}
