import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom, createTestGateway, listLogs, type ShownLog, workspaceKey } from "../support/gateway.ts";
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

interface CheckRow extends ShownLog {
  source?: string;
  api_key_id: string;
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "length" }];

test("a check by a model is one call of one token, with a separate row and no limit, retry or guardrail of callers", async () => {
  const asked = await startRecordingUpstream((request, response) => {
    const { model } = JSON.parse(request.text);
    if (request.path.startsWith("/away/")) response.statusCode = 503;
    response.end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model, choices, usage }));
  });
  after(() => asked.close());
  const guardrail = { "default.wordCount": { maxWords: 0 }, deny: true };
  const pool = {
    strategy: { mode: "loadbalance", health_check: { ...health_check, path: undefined, model: "gpt-4o-mini" } },
    retry: { attempts: 3, on_status_codes: [503] },
    targets: [
      targetOf({ url: `${asked.url}/away` }, { override_params: { model: "gpt-4o", max_tokens: 500 } }),
      targetOf(asked, { api_key: "secret-of-one", input_guardrails: [guardrail] }),
    ],
  };
  const sent = { config: pool, request: { body: { model: "m", messages: [] } } };
  const read = () => done<ExplainResponse>(call(gateway, "POST /configs/explain", { key: workspaceKey, body: sent }));
  const warning = "config.targets[0]: left out, its health check fails: status 503";
  await eventually("a failed check", async () => (await read()).warnings.includes(warning));
  const rows = async () => (await listLogs(gateway, "limit=100&source=check")).data as CheckRow[]; // of this API
  await eventually("rows of both checks", async () => (await rows()).length === 2);
  const checks = asked.requests.map(({ text, headers }) => ({ ...JSON.parse(text), key: headers.authorization }));
  assert.deepEqual(
    checks.map(({ model, max_tokens: most, key }) => [model, most, key]).sort(),
    [
      ["gpt-4o", 1, "Bearer upstream-credential"],
      ["gpt-4o-mini", 1, "Bearer secret-of-one"],
    ],
    "a check is not tried again, and has no parameter of the config but the model",
  );
  assert.deepEqual(
    (await rows())
      .map(({ model, status, source, api_key_id: key, cost }) => [model, status, source, key, (cost ?? 0) > 0])
      .sort(),
    [
      ["gpt-4o", 503, "check", "gateway", false],
      ["gpt-4o-mini", 200, "check", "gateway", true],
    ],
  );
});

test("a config whose targets have the provider of a request cannot be checked by a model", async () => {
  const body = {
    name: "A config",
    config: {
      strategy: { mode: "loadbalance", health_check: { model: "m" } },
      targets: [targetOf(working), { passthrough: true }],
    },
  };
  const response = await call(gateway, "POST /configs", { key: workspaceKey, body });
  assert.equal(response.status, 400);
  assert.match(JSON.stringify(response), /targets\[1\]\.provider, message: must be given: checks use no provider/);
});
