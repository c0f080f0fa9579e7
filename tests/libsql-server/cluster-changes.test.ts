import assert from "node:assert/strict";
import { after, test } from "node:test";
import { percentile } from "../support/cluster.ts";
import { watchStalls } from "../support/cluster-faults.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type LibsqlServer, startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { isCluster } from "../support/sample.ts";

const attempts = isCluster ? 100 : 2;
/** Longest time until a change holds everywhere (`docs/scaling.md`). The short form is no measurement. */
const withinMs = isCluster ? 1_000 : 20_000;

let server: LibsqlServer | undefined;
const gateways: TestGateway[] = [];
after(async () => {
  for (const gateway of gateways) await gateway.close();
  await server?.kill();
});

/** The status of a chat, and the model that answered. */
async function ask(gateway: TestGateway, key: string, config?: string): Promise<{ status: number; model: unknown }> {
  const headers = config === undefined ? { "x-gateway-provider": "echo" } : { "x-gateway-config": config };
  const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
  const { status, body } = await call(gateway, "POST /chat/completions", { key, headers, body: chat });
  return { status, model: body.model };
}

/** Waits until something holds on each node; returns how long that took, without the time in which this machine stood still. */
async function untilEverywhere(what: string, holds: (gateway: TestGateway) => Promise<boolean>): Promise<number> {
  const [begun, stalls] = [performance.now(), watchStalls()];
  await Promise.all(gateways.map((gateway) => eventually(what, () => holds(gateway))));
  const tookMs = performance.now() - begun;
  return tookMs - stalls.end();
}

test("a revoked key is dead and a changed config holds on every node within a second", {
  skip: withoutLibsqlServer,
  timeout: 60_000 + attempts * 10_000,
}, async () => {
  server = await startLibsqlServer();
  for (let node = 0; node < 3; node++) gateways.push(await createTestGateway({ database: server.url }));
  const nodeOf = (index: number) => gateways[index % gateways.length] as TestGateway; // there are three
  const configOf = (model: string) => ({ provider: "echo", override_params: { model } });
  const times: Record<"revoked" | "changed", number[]> = { revoked: [], changed: [] };
  for (let index = 0; index < attempts; index++) {
    const [first, second] = [nodeOf(index), nodeOf(index + 1)];
    const body = { name: "Key", workspace_id: "default", scopes: ["completions.write"] };
    const key = await done<{ id: string; key: string }>(call(first, "POST /api-keys/workspace/service", { body }));
    const made = { name: `c${index}`, config: configOf("before") };
    const { slug } = await done<{ slug: string }>(call(first, "POST /configs", { key: workspaceKey, body: made }));
    for (const gateway of gateways) {
      assert.equal((await ask(gateway, key.key)).status, 200);
      await eventually("a config", async () => (await ask(gateway, workspaceKey, slug)).model === "before");
    }
    await done(call(second, `PUT /configs/${slug}`, { key: workspaceKey, body: { config: configOf("after") } }));
    const isAfter = async (gateway: TestGateway) => (await ask(gateway, workspaceKey, slug)).model === "after";
    times.changed.push(await untilEverywhere("a changed config", isAfter));
    await done(call(second, `DELETE /api-keys/${key.id}`, { key: adminKey }));
    const isDead = async (gateway: TestGateway) => (await ask(gateway, key.key)).status === 401;
    times.revoked.push(await untilEverywhere("a revoked key", isDead));
  }
  for (const [what, found] of Object.entries(times)) {
    const longest = Math.round(Math.max(...found));
    console.log(`# ${what}: ${attempts} attempts, p50/max ${percentile(found, 0.5)}/${longest} ms`);
    assert.ok(longest <= withinMs, `${what}: ${longest} ms`);
  }
});
