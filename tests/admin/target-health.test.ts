import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, createTestGateway, insertTenant, workspaceKey } from "../support/gateway.ts";
import { ask, targetOf } from "../support/routed.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const answer = JSON.stringify({ id: "x", object: "chat.completion", choices: [] });
const failing = await startRecordingUpstream((_request, response) => {
  response.statusCode = 503;
  response.end("{}");
});
const working = await startRecordingUpstream((_request, response) => response.end(answer));
const gateway = await createTestGateway({ inFile: true });
after(async () => {
  await gateway.close();
  await failing.close();
  await working.close();
});

interface Shown {
  config: string | null;
  target: string;
  circuit: { is_open: boolean; opened_at: string | null; failures: number } | null;
  check: { is_healthy: boolean; problem: string | null } | null;
  measured: { running: number; failure_rate: number | null; response_ms: number | null } | null;
}

const read = async (key: string): Promise<Shown[]> =>
  (await done(call<{ data: Shown[] }>(gateway, "GET /health/targets", { key }))).data;

test("GET /health/targets shows circuits, checks and measures of saved configs and those of requests", async () => {
  const secret = "secret-of-the-target";
  const cb_config = { failure_threshold: 1, failure_status_codes: [503], cooldown_interval: 30_000 };
  const health_check = { path: "/health", interval: 5_000, unhealthy_threshold: 1 };
  const config = {
    strategy: { mode: "loadbalance", choose: "least_busy", health_check },
    targets: [targetOf(failing, { api_key: secret }), targetOf(working, { api_key: secret })],
  };
  const { slug } = await done(
    call<{ slug: string }>(gateway, "POST /configs", { key: workspaceKey, body: { name: "pool", config } }),
  );
  const fallback = {
    strategy: { mode: "fallback", cb_config },
    targets: [targetOf(failing, { api_key: secret }), targetOf(working)],
  };
  await ask(gateway, { config: fallback });
  for (let turn = 0; turn < 4; turn++) await ask(gateway, { config: slug });
  const of = async (target: string) =>
    (await read(workspaceKey)).find((one) => one.config === slug && one.target === target);
  await eventually("a failed check", async () => (await of("config.targets[0]"))?.check?.is_healthy === false);
  assert.deepEqual((await of("config.targets[0]"))?.check, { is_healthy: false, problem: "status 503" });
  const well = await of("config.targets[1]");
  assert.equal(well?.circuit, null);
  assert.deepEqual([well?.measured?.running, well?.measured?.failure_rate], [0, 0]);
  const shown = await read(workspaceKey);
  const circuit = shown.find(({ circuit }) => circuit?.is_open)?.circuit;
  assert.equal(circuit?.failures, 1);
  assert.match(String(circuit?.opened_at), /^20\d\d-/);
  assert.equal(JSON.stringify(shown).includes(secret), false);
  const nameOf = ({ config, target }: Shown) => [config, target];
  assert.deepEqual((await read(adminKey)).map(nameOf), shown.map(nameOf));
});

test("GET /health/targets shows nothing of other tenants", async () => {
  const { key } = mintApiKey("gk");
  const database = await gateway.openFile();
  await insertTenant(database, key);
  await database.close();
  assert.deepEqual(await read(key), []);
});
