import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Endpoint } from "../../src/endpoint.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { call, done } from "../support/control.ts";
import {
  createPrompt,
  nameOf,
  ownRows,
  pathOf,
  providerRows,
  toRequest,
  withFormBytes,
} from "../support/endpoint-requests.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createWire } from "../support/wire.ts";

const wire = createWire();
const transport: Transport = { send: (url, init) => wire.transport.send(url, init) };
let gateway: TestGateway;
let promptSlug = "";
let workspaceId = "";
before(async () => {
  gateway = await createTestGateway({ transport });
  promptSlug = await createPrompt(gateway);
  const workspaces = call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces", { key: adminKey });
  workspaceId = (await done(workspaces)).data[0]?.id ?? "";
  wire.answer = () => new Response("nobody is here", { status: 503 });
});
after(() => gateway.close());

const checks = [{ id: "default.contains", parameters: { words: ["kumquat"], operator: "none" } }];

const rows = providerRows.filter((row) => !ownRows.has(nameOf(row)) && row.path !== "/v1/realtime");

/** A key whose default config has guardrails. */
async function createKey(hooks: object, allow_config_override: boolean): Promise<string> {
  const config = { retry: { attempts: 0 }, ...hooks };
  const saved = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key: workspaceKey, body: { name: crypto.randomUUID(), config } }),
  );
  const body = {
    name: crypto.randomUUID(),
    scopes: ["completions.write", "virtual_keys.list"],
    defaults: { config_id: saved.slug, allow_config_override },
  };
  return (await done<{ key: string }>(call(gateway, "POST /api-keys/workspace/service", { key: workspaceKey, body })))
    .key;
}

async function ask(row: Endpoint, key: string) {
  wire.url = "";
  const init = await withFormBytes(toRequest(row, { "x-gateway-api-key": key }));
  const response = await gateway.fetch(pathOf(row, promptSlug), init);
  const text = await response.text();
  return { status: response.status, text, isCalled: wire.url !== "" };
}

for (const phase of ["input", "output"] as const) {
  test(`an ${phase} guardrail of a config that a key is locked to closes the paths that a default would close`, async () => {
    const saved = call<{ slug: string }>(gateway, "POST /guardrails", {
      key: workspaceKey,
      body: { name: phase, checks, actions: { deny: true } },
    });
    const { slug } = await done(saved);
    const name = `${phase}_guardrails`;
    const hooks = { [name]: [{ checks, deny: true }] };
    const locked = await createKey(hooks, false);
    const free = await createKey(hooks, true);
    const open = await createKey({ [name]: [{ checks, deny: true, uninspected: "allow" }] }, false);
    const plain = await createKey({}, true);
    const setDefaults = (list: readonly string[]) =>
      done(
        call(gateway, `PUT /admin/workspaces/${workspaceId}`, { key: adminKey, body: { defaults: { [name]: list } } }),
      );
    let closed = 0;
    for (const row of rows) {
      const answer = await ask(row, locked);
      await setDefaults([slug]);
      const byDefault = await ask(row, plain);
      await setDefaults([]);
      assert.equal(answer.isCalled, byDefault.isCalled, `${nameOf(row)}: ${answer.status} ${answer.text}`);
      assert.equal(answer.status, byDefault.status, `${nameOf(row)}: ${answer.text}`);
      if (!/denies uninspected requests/.test(answer.text)) continue;
      closed++;
      // whoever may choose another config, and whoever allows it, is let through
      for (const key of [free, open]) assert.notEqual((await ask(row, key)).status, 446, nameOf(row));
    }
    assert.ok(closed > 20, `${closed} paths`);
    const proxied = {
      ...(rows.find(({ path }) => path === "/v1/*") ?? assert.fail()),
      path: "/v1/proxy/chat/completions",
    };
    assert.deepEqual([(await ask(proxied, locked)).status, (await ask(proxied, free)).isCalled], [446, true]);
  });
}
