import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createFolder, fakeAdminKey, type GatewayProcess, startGatewayProcess } from "../support/process.ts";

let first: GatewayProcess;
let second: GatewayProcess;
before(async () => {
  const folder = createFolder();
  const env = {
    DATABASE_URL: `file:${join(folder, "gateway.db")}`,
    WORKERS: "2",
    GATEWAY_MASTER_KEYS: "v1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA",
  };
  first = await startGatewayProcess({ env });
  second = await startGatewayProcess({ env });
});
after(async () => {
  await Promise.all([first?.stop("SIGKILL"), second?.stop("SIGKILL")]);
});

async function send(node: GatewayProcess, route: string, key: string, body?: object) {
  const [method = "GET", path = "/"] = route.split(" ");
  const response = await fetch(`${node.url}/v1${path}`, {
    method,
    headers: { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-provider": "@echo-here" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const ask = async (node: GatewayProcess, key: string): Promise<number> => {
  const body = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
  return (await send(node, "POST /chat/completions", key, body)).status;
};

/** Waits until a node answers a key with a status. */
async function timeUntil(node: GatewayProcess, key: string, status: number): Promise<void> {
  const startedAt = performance.now();
  while ((await ask(node, key)) !== status) {
    if (performance.now() - startedAt > 5_000) throw new Error(`Waited five seconds for status ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const newKey = { name: "Shared", workspace_id: "default", scopes: ["completions.write"] };

test("what one node writes holds on itself at once, and soon on the other", async () => {
  const provider = {
    name: "Echo",
    slug: "echo-here",
    provider: "echo",
    key: "fake-echo-key-000000",
    workspace_id: "default",
  };
  const made = await send(first, "POST /virtual-keys", fakeAdminKey, provider);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const { id, key } = (await send(first, "POST /api-keys/workspace/service", fakeAdminKey, newKey)).body;
  assert.equal(await ask(first, key), 200);
  await timeUntil(second, key, 200);

  assert.equal((await send(first, `DELETE /api-keys/${id}`, fakeAdminKey)).status, 200);
  assert.equal(await ask(first, key), 401);
  await timeUntil(second, key, 401);
});

test("what a prompt says on one node it soon says on the other", async () => {
  const scopes = ["prompts.create", "prompts.update", "prompts.publish", "prompts.list", "prompts.render"];
  const { key } = (await send(first, "POST /api-keys/workspace/service", fakeAdminKey, { ...newKey, scopes })).body;
  const [{ id: collection_id }] = (await send(first, "GET /collections", key)).body.data;
  const prompt = { name: "p", collection_id, string: "one", parameters: {}, virtual_key: "", model: "m" };
  const { slug } = (await send(first, "POST /prompts", key, prompt)).body;
  const until = async (wanted: string) => {
    const startedAt = performance.now();
    for (;;) {
      const { body } = await send(second, `POST /prompts/${slug}/render`, key, { variables: {} });
      if (body.data?.prompt === wanted) return;
      if (performance.now() - startedAt > 5_000) throw new Error(`Waited five seconds: ${JSON.stringify(body)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await until("one");
  await send(first, `PUT /prompts/${slug}`, key, { patch: true, string: "two" });
  await send(first, `PUT /prompts/${slug}/makeDefault`, key, { version: 2 });
  await until("two");
});

test("two nodes that write for one organisation at once lose nothing", async () => {
  const create = (node: GatewayProcess, number: number) =>
    send(node, "POST /configs", fakeAdminKey, {
      name: `Config ${number}`,
      config: { provider: "echo" },
      workspace_id: "default",
    });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, number) => create(number % 2 === 0 ? first : second, number)),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  const { body } = await send(second, "GET /configs", fakeAdminKey);
  assert.equal(body.total, 20);
  const query = "start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z&resource_type=configs";
  const audit = await send(first, `GET /audit-logs?${query}`, fakeAdminKey);
  assert.equal(audit.body.total, 20);
});

test("a changed config, and a provider that is taken away, hold on the other node soon", async () => {
  const scopes = [
    "completions.write",
    "configs.create",
    "configs.update",
    "virtual_keys.create",
    "virtual_keys.delete",
  ];
  const { key } = (await send(first, "POST /api-keys/workspace/service", fakeAdminKey, { ...newKey, scopes })).body;
  const provider = { name: "Echo", slug: "echo-soon", provider: "echo", key: "fake-echo-key-000000" };
  assert.equal((await send(first, "POST /virtual-keys", key, provider)).status, 200);
  const config = { provider: "@echo-soon", override_params: { model: "echo-one" } };
  const { slug } = (await send(first, "POST /configs", key, { name: "soon", config })).body.data;
  const until = async (wanted: string) => {
    const startedAt = performance.now();
    for (;;) {
      const response = await fetch(`${second.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-config": slug },
        body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
      });
      const { model, error } = JSON.parse(await response.text());
      const seen = `${response.status} ${model ?? error?.code}`;
      if (seen === wanted) return;
      if (performance.now() - startedAt > 5_000) throw new Error(`Waited five seconds for ${wanted}: ${seen}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await until("200 echo-one");
  const changed = { config: { ...config, override_params: { model: "echo-two" } } };
  assert.equal((await send(first, `PUT /configs/${slug}`, key, changed)).status, 200);
  await until("200 echo-two");
  assert.equal((await send(first, "DELETE /virtual-keys/echo-soon", key)).status, 200);
  await until("400 invalid_provider");
});
