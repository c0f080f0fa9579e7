import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { call, done } from "../support/control.ts";
import { createRandom, createTestGateway, workspaceKey } from "../support/gateway.ts";
import { ask, logOf, targetOf } from "../support/routed.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const answer = JSON.stringify({ id: "x", object: "chat.completion", choices: [] });
let isWell = false;
const failing = await startRecordingUpstream((request, response) => {
  response.statusCode = request.path === "/health" && !isWell ? 503 : 200;
  response.end(answer);
});
const working = await startRecordingUpstream((_request, response) => response.end(answer));
const gateway = await createTestGateway({ random: createRandom(5) });
after(async () => {
  await gateway.close();
  await failing.close();
  await working.close();
});

const health_check = { path: "/health", interval: 5_000, unhealthy_threshold: 1, healthy_threshold: 1 };
const config = {
  strategy: { mode: "loadbalance", health_check },
  targets: [targetOf(failing, { api_key: "secret-of-the-target" }), targetOf(working)],
};

async function explain(): Promise<ExplainResponse> {
  const sent = { config, request: { body: { model: "m", messages: [] } } };
  return done<ExplainResponse>(call(gateway, "POST /configs/explain", { key: workspaceKey, body: sent }));
}

test("a config that checks a private host is refused when it is saved", async () => {
  const private_host = { provider: "openai", api_key: "k", custom_host: "http://10.0.0.1/v1" };
  const refused = { name: "A config", config: { ...config, targets: [private_host] } };
  const response = await call(gateway, "POST /configs", { key: workspaceKey, body: refused });
  assert.equal(response.status, 400);
  assert.match(JSON.stringify(response), /config\.targets\[0\]\.custom_host/);
});

test("a target whose host is unhealthy gets no requests, and the check has no credential", async () => {
  const warning = "config.targets[0]: left out, its health check fails: status 503";
  while (!(await explain()).warnings.includes(warning)) await new Promise((resolve) => setTimeout(resolve, 50));
  const checked = failing.requests.find(({ path }) => path === "/health");
  assert.equal(checked?.headers.authorization, undefined);
  assert.equal(JSON.stringify(checked?.headers).includes("secret-of-the-target"), false);
  for (let turn = 0; turn < 5; turn++) {
    const { label, trace } = await ask(gateway, { config });
    assert.equal(label, "config.targets[1]");
    if (turn === 0) assert.deepEqual((await logOf(gateway, { trace })).skipped, ["config.targets[0]"]);
  }
  isWell = true;
});
