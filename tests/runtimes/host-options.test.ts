import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import * as v from "valibot";
import { createGateway, defineProvider, type Gateway, hostOptions, plainSetting, secretSetting } from "../../mod.ts";
import { createTemporaryFolder, helloBody, masterKeys, readJson } from "../support/gateway.ts";

const workspaceKey = "test-workspace-key-000000";
const bootstrap = { workspaceKey };

const acme = defineProvider({
  slug: "acme",
  settings: {
    prefix: "acme",
    schema: v.object({
      passphrase: v.optional(secretSetting(v.string())),
      pin: v.optional(v.string()),
      colour: v.optional(plainSetting(v.string())),
    }),
  },
  baseUrl: "https://acme.example",
  authenticate: () => ({}),
  operations: { chat: { path: () => "/chat" } },
  local: async () => Response.json({ id: "1", object: "chat.completion", choices: [] }),
});

interface Row {
  request: { headers: Record<string, string>; body: { messages?: unknown[] } | null };
}

/** Sends a chat. */
async function chat(gateway: Gateway, provider: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const response = await gateway.fetch(
    new Request("http://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": workspaceKey,
        "x-gateway-provider": provider,
        ...headers,
      },
      body: JSON.stringify(helloBody),
    }),
  );
  assert.equal(response.status, 200, await response.text());
}

/** The newest row of the log, once there is one. */
async function newestRow(gateway: Gateway): Promise<Row> {
  const get = async <Shape>(path: string): Promise<Shape> =>
    readJson<Shape>(
      await gateway.fetch(
        new Request(`http://gateway.test${path}`, { headers: { "x-gateway-api-key": workspaceKey } }),
      ),
    );
  for (;;) {
    const { data } = await get<{ data: { id: string }[] }>("/v1/logs?limit=1");
    const [row] = data;
    if (row) return get<Row>(`/v1/logs/${row.id}`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

test("an embedded gateway reads headers and bodies that a gateway with hostOptions() stored", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const shared = { database, masterKeys, bootstrap, log: () => {} };
  try {
    const served = createGateway({ ...(await hostOptions()), ...shared });
    await served.start();
    await chat(served, "echo");
    await newestRow(served);
    // 503 where it was not built
    const { status } = await served.fetch(new Request("http://gateway.test/console/"));
    assert.ok([200, 503].includes(status), String(status));
    await served.close();

    const warnings: string[] = [];
    const embedded = createGateway({ ...shared, warn: (message) => warnings.push(message) });
    await embedded.start();
    const { request } = await newestRow(embedded);
    assert.equal(request.headers["x-gateway-provider"], "echo");
    assert.ok(request.body?.messages?.length);
    await embedded.close();
    assert.deepEqual(warnings, []);
  } finally {
    folder.remove();
  }
});

test("logs hide the settings of an embedder's provider, but for those marked as plain", async () => {
  const gateway = createGateway({ database: ":memory:", bootstrap, providers: [acme], log: () => {}, logFlushMs: 10 });
  await gateway.start();
  try {
    await chat(gateway, "acme", {
      "x-gateway-acme-passphrase": "of-no-known-form",
      "x-gateway-acme-pin": "77120934",
      "x-gateway-acme-colour": "blue",
    });
    const { headers } = (await newestRow(gateway)).request;
    assert.equal(headers["x-gateway-acme-colour"], "blue");
    for (const name of ["passphrase", "pin"]) assert.match(headers[`x-gateway-acme-${name}`] ?? "", /^hmac:/);
  } finally {
    await gateway.close();
  }
});
