import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SocketClose } from "../../packages/websocket-frames/src/frames.ts";
import type { SocketEnd } from "../../src/lib/websocket.ts";
import { type CallOptions, call, done } from "../support/control.ts";
import { createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { eventually } from "../support/upstream.ts";
import { handshakeHeaders, type SocketUpstream, startSocketUpstream } from "../support/websocket-upstream.ts";

/** How often running sessions are checked. */
const lookMs = 30_000;
const clock = createTestClock(Date.now());

let gateway: TestGateway;
let upstream: SocketUpstream;
let workspace: string;
before(async () => {
  gateway = await createTestGateway({ clock });
  upstream = await startSocketUpstream();
  const { data } = await done<{ data: { slug: string }[] }>(call(gateway, "GET /admin/workspaces"));
  workspace = data[0]?.slug ?? "";
  await createProvider("kept");
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const own = (route: string, body?: unknown) =>
  done(call(gateway, route, { key: workspaceKey, ...(body ? { body } : {}) }));
const admin = (route: string, options?: CallOptions) =>
  done<{ id: string; key: string }>(call(gateway, route, options));

async function createProvider(slug: string): Promise<void> {
  const configurations = { custom_host: `${upstream.url}/v1` };
  const integration = { name: slug, slug: `${slug}-integration`, ai_provider_id: "openai", key: "fake-key-1234567890" };
  await own("POST /integrations", { ...integration, configurations, create_default_provider: false });
  await own("POST /providers", { name: slug, slug, integration_id: integration.slug });
}

/** Opens a session; `closes` are those the caller receives. */
async function open(key: string, headers: Record<string, string>): Promise<SocketClose[]> {
  const closes: SocketClose[] = [];
  const end: SocketEnd = {
    bufferedBytes: 0,
    listen: () => {},
    send: () => {},
    terminate: () => {},
    pause: () => {},
    resume: () => {},
    close: (close) => closes.push(close),
  };
  let accepted = false;
  const response = await gateway.fetch(
    "/v1/realtime?model=gpt-realtime",
    { headers: { ...handshakeHeaders, "x-gateway-api-key": key, ...headers } },
    {
      upgrade(acceptance) {
        accepted = true;
        acceptance.open(end);
        return new Response(null);
      },
    },
  );
  assert.ok(accepted, `answered ${response.status}`);
  return closes;
}

const scopes = ["completions.write", "prompts.render"];

/** Changes that remove a right; each with a key and headers for it. */
const cases: Readonly<Record<string, () => Promise<{ key: string; slug: string; take: () => Promise<unknown> }>>> = {
  "whose key lost its scope": async () => {
    const body = { name: "k", scopes, workspace_id: workspace };
    const { id, key } = await admin("POST /api-keys/workspace/service", { body });
    const take = () => admin(`PUT /api-keys/${id}`, { body: { scopes: ["prompts.render"] } });
    return { key, slug: "kept", take };
  },
  "whose key may not use the model any more": async () => {
    const body = { name: "limited", scopes, workspace_id: workspace };
    const { id, key } = await admin("POST /api-keys/workspace/service", { body });
    const take = () => admin(`PUT /api-keys/${id}`, { body: { allowed_models: ["fast"] } });
    return { key, slug: "kept", take };
  },
  "whose person left the workspace": async () => {
    const place = { workspaces: [{ id: workspace, role: "member" }], scopes };
    const { id, key } = await addPerson(gateway, "realtime@example.com", place);
    const take = () => admin(`DELETE /admin/workspaces/${workspace}/users/${id}`);
    return { key, slug: "kept", take };
  },
  "whose provider was deleted": async () => {
    await createProvider("deleted");
    return { key: workspaceKey, slug: "deleted", take: () => own("DELETE /providers/deleted") };
  },
  "whose provider expired": async () => {
    await createProvider("expiring");
    const expires_at = new Date(clock.now() + 10_000).toISOString();
    return { key: workspaceKey, slug: "expiring", take: () => own("PUT /providers/expiring", { expires_at }) };
  },
  "whose model was blocked": async () => {
    await createProvider("blocking");
    const models = [{ slug: "gpt-realtime", enabled: false }];
    const take = () => own("PUT /integrations/blocking-integration/models", { models });
    return { key: workspaceKey, slug: "blocking", take };
  },
};

for (const [name, prepare] of Object.entries(cases)) {
  test(`running sessions end ${name}, and others continue`, async () => {
    const { key, slug, take } = await prepare();
    const provider = `@${slug}`;
    const config = JSON.stringify({ strategy: { mode: "fallback" }, targets: [{ provider }] });
    const byHeader = await open(key, { "x-gateway-provider": provider });
    const byConfig = await open(key, { "x-gateway-config": config });
    const others = await open(workspaceKey, { "x-gateway-provider": "@kept" });
    await take();
    clock.advance(lookMs + 1_000);
    for (const closes of [byHeader, byConfig]) {
      await eventually(() => closes.length > 0, "the close of the session");
      assert.equal(closes[0]?.code, 1008);
    }
    assert.deepEqual(others, []);
  });
}
