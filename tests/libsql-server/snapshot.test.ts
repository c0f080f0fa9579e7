import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { readMasterKeys } from "../../src/auth/master-keys.ts";
import { openDatabase } from "../../src/db/client.ts";
import { openSnapshot } from "../../src/gateway/snapshot/seal.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { createSnapshotPlace } from "../../src/serve/snapshot-file.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import {
  adminKey,
  createTemporaryFolder,
  createTestGateway,
  masterKeys,
  type TestGateway,
  type TestGatewayOptions,
  workspaceKey,
} from "../support/gateway.ts";
import { type LibsqlServer, startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const cleanUps: (() => unknown)[] = [];
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

const hour = 3_600_000;
const messages = [{ role: "user", content: "Hello" }];

/** A folder of a node, and the gateways that are started in it. */
function createNode(database: string) {
  const folder = createTemporaryFolder();
  cleanUps.push(folder.remove);
  const file = join(folder.path, "snapshot");
  return {
    file,
    async start(options: TestGatewayOptions = {}): Promise<TestGateway> {
      const gateway = await createTestGateway({
        database,
        createLogWriter: createLogThread,
        logSpill: { path: join(folder.path, "log-spill.db"), bytes: 2 ** 24 },
        snapshot: { place: createSnapshotPlace(file), maxAgeMs: 24 * hour },
        ...options,
      });
      let isOpen = true;
      const close = async () => {
        if (isOpen) await gateway.close();
        isOpen = false;
      };
      cleanUps.push(close);
      return { ...gateway, close };
    },
    /** Waits for a snapshot with all changes so far. */
    async written(): Promise<void> {
      const opened = await openDatabase({ url: database });
      const { rows } = await opened.read("SELECT seq FROM sqlite_sequence WHERE name = 'changes'");
      await opened.close();
      await eventually("a snapshot", async () => {
        if (!existsSync(file)) return false;
        const { change } = await openSnapshot(new Uint8Array(readFileSync(file)), readMasterKeys(masterKeys));
        return change >= Number(rows[0]?.seq ?? 0);
      });
    },
  };
}

async function startServer(): Promise<LibsqlServer> {
  const server = await startLibsqlServer();
  cleanUps.push(server.kill);
  return server;
}

/** Status and error of a chat. */
async function chat({ gateway }: TestGateway, key: string, { headers = {}, model = "echo-1", trace = "" } = {}) {
  const init = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": key,
      ...(trace !== "" && { "x-gateway-trace-id": trace }),
      ...headers,
    },
    body: JSON.stringify({ model, messages }),
  };
  const response = await gateway.fetch(new Request("http://gateway.test/v1/chat/completions", init));
  const text = await response.text();
  return {
    status: response.status,
    code: /"code": ?"(\w+)"/.exec(text)?.[1],
    retryAfter: response.headers.get("retry-after"),
  };
}

const echo = { "x-gateway-provider": "echo" };

/** Records of each kind that requests read. */
async function makeRecords(gateway: TestGateway, host: string) {
  const key = workspaceKey;
  const makeKey = async (changes: object = {}) => {
    const body = { name: "Key", workspace_id: "default", scopes: ["completions.write"], ...changes };
    return done<{ id: string; key: string }>(call(gateway, "POST /api-keys/workspace/service", { body }));
  };
  const integration = { name: "Own", slug: "own", ai_provider_id: "openai", key: "fake-provider-key" };
  await done(
    call(gateway, "POST /integrations", { key, body: { ...integration, configurations: { custom_host: host } } }),
  );
  const config = { name: "Stored", config: { provider: "@own", override_params: { model: "gpt-4o" } } };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /configs", { key, body: config }));
  await done(call(gateway, "POST /model-aliases", { key, body: { name: "alias", target: { config: slug } } }));
  const denied = {
    checks: [{ id: "default.contains", parameters: { words: ["Hello"], operator: "none" } }],
    actions: { deny: true },
  };
  const guardrail = await done<{ slug: string }>(
    call(gateway, "POST /guardrails", { key, body: { name: "G", ...denied } }),
  );
  return { free: await makeKey(), other: await makeKey(), config: slug, guardrail: guardrail.slug };
}

test("a gateway starts and serves from its snapshot while its database is away, and follows it once it is back", {
  skip: withoutLibsqlServer,
  timeout: 120_000,
}, async () => {
  const server = await startServer();
  const upstream = await startRecordingUpstream((_, response) => {
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "c", created: 1, model: "m", object: "chat.completion", choices }));
  });
  cleanUps.push(() => upstream.close());
  const node = createNode(server.url);
  const before = await node.start();
  const { free, other, config, guardrail } = await makeRecords(before, `${upstream.url}/v1`);
  await node.written();
  assert.equal(statSync(node.file).mode & 0o077, 0);
  assert.ok(!/fake-provider-key|Stored|default/.test(readFileSync(node.file, "latin1")));
  const elsewhere = await createTestGateway({ database: server.url });
  cleanUps.push(elsewhere.close);
  await before.close();
  const late = await done<{ key: string }>(
    call(elsewhere, "POST /api-keys/workspace/service", {
      body: { name: "Late", workspace_id: "default", scopes: ["completions.write"] },
    }),
  );
  await done(call(elsewhere, `DELETE /api-keys/${other.id}`));
  await server.kill();

  const gateway = await node.start();
  const trace = (index: number) => `trace-of-an-outage-${index}`;
  assert.equal((await chat(gateway, free.key, { headers: echo, trace: trace(0) })).status, 200);
  assert.equal((await chat(gateway, workspaceKey, { headers: echo, trace: trace(1) })).status, 200);
  assert.equal((await chat(gateway, free.key, { model: "alias", trace: trace(2) })).status, 200);
  const saved = { "x-gateway-config": config };
  assert.equal((await chat(gateway, free.key, { headers: saved, trace: trace(3) })).status, 200);
  assert.equal(upstream.requests.at(-1)?.headers.authorization, "Bearer fake-provider-key");
  const guarded = { "x-gateway-config": JSON.stringify({ provider: "echo", input_guardrails: [guardrail] }) };
  assert.equal((await chat(gateway, free.key, { headers: guarded, trace: trace(4) })).status, 446);
  // the snapshot is older than the revocation
  assert.equal((await chat(gateway, other.key, { headers: echo, trace: trace(5) })).status, 200);
  const away = { status: 503, code: "database_unavailable", retryAfter: "1" };
  assert.deepEqual(await chat(gateway, late.key, { headers: echo }), away);
  for (const route of ["GET /configs", "GET /api-keys", "GET /integrations"]) {
    assert.equal((await call(gateway, route)).status, 503, route);
  }
  const ready = await gateway.fetch("/ready");
  const { dependencies } = JSON.parse(await ready.text());
  assert.equal(dependencies.database, "away");
  assert.ok(Date.parse(dependencies.snapshot) <= Date.now());
  const metrics = await (await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } })).text();
  assert.match(metrics, /^gateway_dependency_away\{dependency="database"\} 1$/m);

  await server.start();
  await eventually("the late key", async () => (await chat(gateway, late.key, { headers: echo })).status === 200);
  await eventually("the revocation", async () => (await chat(gateway, other.key, { headers: echo })).status === 401);
  await eventually(
    "a state that is current",
    async () => !(await (await gateway.fetch("/ready")).text()).includes("snapshot"),
  );
  await eventually("the rows", async () => {
    const { body } = await call<{ data: { trace_id: string }[] }>(gateway, "GET /logs?limit=100", {
      key: workspaceKey,
    });
    const found = body.data.map(({ trace_id }) => trace_id).filter((one) => one.startsWith("trace-of-an-outage"));
    assert.equal(new Set(found).size, found.length);
    return found.length === 6;
  });
});

test("a snapshot that lacks a change answers what the change does not concern", {
  skip: withoutLibsqlServer,
  timeout: 120_000,
}, async () => {
  const server = await startServer();
  const node = createNode(server.url);
  const elsewhere = await createTestGateway({ database: server.url });
  cleanUps.push(elsewhere.close);
  const makeKey = () =>
    done<{ id: string; key: string }>(
      call(elsewhere, "POST /api-keys/workspace/service", {
        body: { name: "Key", workspace_id: "default", scopes: ["completions.write"] },
      }),
    );
  const [unchanged, revoked, last] = [await makeKey(), await makeKey(), await makeKey()];
  const place = createSnapshotPlace(node.file);
  let isFull = false;
  const write = async (content: Uint8Array) => {
    if (isFull) throw new Error("The disk is full");
    await place.write(content);
  };
  const gateway = await node.start({ snapshot: { place: { ...place, write }, maxAgeMs: 24 * hour } });
  await node.written();
  isFull = true;
  assert.equal((await chat(gateway, last.key, { headers: echo })).status, 200);
  for (const { id } of [revoked, last]) await done(call(elsewhere, `DELETE /api-keys/${id}`));
  await eventually("the changes", async () => (await chat(gateway, last.key, { headers: echo })).status === 401);
  await server.kill();
  assert.deepEqual((await chat(gateway, unchanged.key, { headers: echo })).status, 200);
  assert.deepEqual((await chat(gateway, revoked.key, { headers: echo })).status, 503);
});

test("a snapshot that cannot be used is refused in one line, and why", {
  skip: withoutLibsqlServer,
  timeout: 120_000,
}, async () => {
  const server = await startServer();
  const node = createNode(server.url);
  const first = await node.start();
  await node.written();
  await first.close();
  await server.kill();
  const whole = readFileSync(node.file);
  const place = createSnapshotPlace(node.file);
  const changed = Buffer.from(whole);
  changed[whole.length - 40] = (changed[whole.length - 40] ?? 0) ^ 1;
  const headChanged = Buffer.from(whole.toString("latin1").replace(/"time":\d/, '"time":9'), "latin1");
  const otherKeys = masterKeys.replace("AQID", "AQIE");
  const cases: [name: string, content: Uint8Array | undefined, options: TestGatewayOptions, reason: RegExp][] = [
    ["changed", changed, {}, /it is damaged, or was sealed with another master key v1$/],
    ["with another time", headChanged, {}, /it is damaged, or was sealed with another master key v1$/],
    ["cut off", whole.subarray(0, whole.length - 100), {}, /it is damaged, or was sealed with another master key v1$/],
    ["cut off in its first line", whole.subarray(0, 20), {}, /it is damaged$/],
    ["empty", new Uint8Array(), {}, /it is damaged$/],
    [
      "of other master keys",
      whole,
      { masterKeys: otherKeys },
      /it is damaged, or was sealed with another master key v1$/,
    ],
    [
      "of another version of the keys",
      whole,
      { masterKeys: masterKeys.replace("v1:", "v2:") },
      /sealed with master key v1, which is not among the given ones$/,
    ],
    [
      "of another database",
      whole,
      { database: "http://127.0.0.1:65533" },
      /it is of the database http:\/\/127\.0\.0\.1:\d+$/,
    ],
    [
      "that is too old",
      whole,
      { snapshot: { place, maxAgeMs: 1 } },
      /it is of \d{4}-.*, and SNAPSHOT_MAX_AGE_HOURS is /,
    ],
  ];
  for (const [name, content, options, reason] of cases) {
    if (content) writeFileSync(node.file, content);
    await assert.rejects(node.start(options), (error: Error) => {
      assert.match(
        error.message,
        /^Cannot open the database http:.*\(DATABASE_URL\): .*; cannot use the snapshot .*\(SNAPSHOT_FILE\): /,
        name,
      );
      assert.match(error.message, reason, name);
      assert.ok(!error.message.includes("\n"), name);
      return true;
    });
  }
  await assert.rejects(
    node.start({ snapshot: { place: createSnapshotPlace(`${node.file}-none`), maxAgeMs: hour } }),
    /there is no snapshot/,
  );
  writeFileSync(node.file, whole);
  assert.equal((await chat(await node.start(), workspaceKey, { headers: echo })).status, 200);
});
