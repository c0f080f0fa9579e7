import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { signBody } from "../../src/lib/sign-body.ts";
import type { AlertEvent, AlertRule } from "../../src/schemas/alert-rules.ts";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, chat, createTestGateway, insertTenant, listLogs, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

type Rule = import("valibot").InferOutput<typeof AlertRule>;

/** Mails that were sent. */
const mails: { to: readonly string[]; subject: string }[] = [];
let refusals = 0;
const receiver = await startRecordingUpstream(({ path }, response) => {
  if (path === "/away" && refusals++ === 0) response.statusCode = 500;
  response.end();
});
const gateway = await createTestGateway({
  inFile: true,
  alerts: {
    lookEveryMs: 20,
    timeoutMs: 5_000,
    async sendMail(mail) {
      mails.push(mail);
      return 0;
    },
  },
});
after(async () => {
  await gateway.close();
  await receiver.close();
});

const key = workspaceKey;
const secret = "an-obvious-fake-secret";
const urlOf = (path: string) => `${receiver.url}${path}`;
const receivedAt = (path: string) => receiver.requests.filter((request) => request.path === path);
const read = (id: string) => done<Rule>(call(gateway, `GET /alert-rules/${id}`, { key }));
const eventsOf = async (id: string) =>
  (await done<{ data: AlertEvent[] }>(call(gateway, `GET /alert-rules/${id}/events`, { key }))).data;
const make = async (more: object) => {
  const body = { name: "A rule", metric: "error_rate", threshold: 50, destinations: [], ...more };
  return (await done<{ id: string }>(call(gateway, "POST /alert-rules", { key, body }))).id;
};
const change = (id: string, body: object) => done(call(gateway, `PUT /alert-rules/${id}`, { key, body }));

async function fail(times: number): Promise<void> {
  for (let turn = 0; turn < times; turn++) {
    const headers = { "x-gateway-provider": "echo", "x-gateway-echo-status": "503" };
    await (await chat(gateway, { model: "away", messages: [{ role: "user", content: "Hi" }] }, headers)).text();
  }
  await eventually("their rows", async () => (await listLogs(gateway)).data.length === times);
}

test("a rule fires once over its threshold, is sent to every destination, and says when it is over", async () => {
  await fail(4);
  const destinations = [
    { type: "webhook", url: urlOf("/hook/path-is-a-secret"), secret },
    { type: "slack", url: urlOf("/slack") },
    { type: "teams", url: urlOf("/teams") },
    { type: "email", to: ["ada@example.com"] },
  ];
  const id = await make({ name: "Errors <b>", min_requests: 2, filter: { status_code: "2xx,5xx" }, destinations });
  await eventually("the event is sent", async () => (await eventsOf(id))[0]?.delivery === "sent");
  const [event, ...others] = await eventsOf(id);
  assert.equal(others.length, 0);
  assert.deepEqual([event?.type, event?.value, event?.requests, event?.threshold], ["firing", 100, 4, 50]);
  const { state, value, destinations: shown } = await read(id);
  assert.deepEqual([state, value], ["firing", 100]);
  assert.equal(JSON.stringify(shown).includes("path-is-a-secret") || JSON.stringify(shown).includes(secret), false);

  const [hook] = receivedAt("/hook/path-is-a-secret");
  const body = JSON.parse(hook?.text ?? "");
  assert.deepEqual([body.object, body.id, body.type, body.rule.name], ["alert", event?.id, "firing", "Errors <b>"]);
  const signature = String(hook?.headers["x-gateway-signature"]);
  const seconds = Number(/^t=(\d+)/.exec(signature)?.[1]);
  assert.equal(signature, await signBody(secret, hook?.text ?? "", seconds * 1_000));
  assert.match(
    JSON.parse(receivedAt("/slack")[0]?.text ?? "").text,
    /^The alert Errors &lt;b&gt; fires: error rate 100 %/,
  );
  assert.equal(JSON.parse(receivedAt("/teams")[0]?.text ?? "").attachments[0].content.type, "AdaptiveCard");
  assert.deepEqual(
    mails.map(({ to, subject }) => [to, subject.slice(0, 27)]),
    [[["ada@example.com"], "The alert Errors <b> fires:"]],
  );

  const audit = await done(
    call(gateway, "GET /audit-logs?start_time=2020-01-01&end_time=2100-01-01", { key: adminKey }),
  );
  assert.equal(/path-is-a-secret|an-obvious-fake/.test(JSON.stringify(audit)), false);
  // a mask that is sent back stays what it was
  await change(id, { threshold: 101, destinations: shown });
  await eventually("it is over", async () => (await eventsOf(id))[0]?.type === "resolved");
  assert.equal((await read(id)).state, "ok");
  await eventually("that is sent", async () => receivedAt("/hook/path-is-a-secret").length === 2);
  // within the cooldown it fires without a further event
  await change(id, { threshold: 50 });
  await eventually("it fires again", async () => (await read(id)).state === "firing");
  assert.equal((await eventsOf(id)).length, 2);
});

test("rules on spend, latency and missing traffic, and with too few requests to say", async () => {
  const states = async (id: string) => {
    await eventually("it is evaluated", async () => (await read(id)).state !== "pending");
    const { state, value } = await read(id);
    return [state, value];
  };
  assert.deepEqual(await states(await make({ min_requests: 1_000 })), ["no_data", null]);
  assert.deepEqual(await states(await make({ metric: "requests", threshold: 1_000 })), ["firing", 4]);
  assert.deepEqual(await states(await make({ metric: "requests", threshold: 1 })), ["ok", 4]);
  const nobody = { metric: "requests", threshold: 1, filter: { virtual_keys: "nobody" } };
  assert.deepEqual(await states(await make(nobody)), ["firing", 0]);
  assert.deepEqual(await states(await make({ metric: "spend_per_hour", threshold: 1 })), ["ok", 0]);
  assert.equal((await states(await make({ metric: "p95_latency", threshold: 0, min_requests: 1 })))[0], "firing");
  assert.deepEqual(await states(await make({ enabled: true, filter: { source: "console" } })), ["no_data", null]);
});

test("a test is delivered again after a failure, and a deleted rule leaves nothing", async () => {
  const id = await make({ threshold: 101, destinations: [{ type: "webhook", url: urlOf("/away") }] });
  await done(call(gateway, `POST /alert-rules/${id}/test`, { key }));
  await eventually("the first attempt", async () => (await eventsOf(id))[0]?.problem !== null);
  const [event] = await eventsOf(id);
  assert.deepEqual(
    [event?.type, event?.delivery, event?.problem],
    ["test", "pending", "webhook: the webhook responded with 500"],
  );
  await done(call(gateway, `DELETE /alert-rules/${id}`, { key }));
  assert.equal((await call(gateway, `GET /alert-rules/${id}/events`, { key })).status, 404);
  const database = await gateway.openFile();
  const rest = await database.write([
    { sql: "SELECT id FROM alert_events WHERE rule_id = ?", args: [id] },
    { sql: "SELECT record_id FROM secrets WHERE record_id = ?", args: [id] },
  ]);
  await database.close();
  assert.deepEqual(
    rest.map(({ rows }) => rows.length),
    [0, 0],
  );
});

test("rules that cannot work are refused, with the field", async () => {
  const hook = (more: object) => ({ destinations: [{ type: "webhook", url: "https://hooks.example.com/x", ...more }] });
  const base = { name: "x", metric: "error_rate", threshold: 1, destinations: [] };
  const cases: readonly (readonly [object, string])[] = [
    [{ metric: "errors" }, "400 AB01 metric"],
    [{ threshold: -1 }, "400 AB01 threshold"],
    [{ window_seconds: 59 }, "400 AB01 window_seconds"],
    [{ filter: { models: "x" } }, "400 AB01 filter.models"],
    [{ filter: { source: "nowhere" } }, "400 AB01 filter.source"],
    [{ filter: { metadata: "[]" } }, "400 AB01 filter.metadata"],
    [hook({ url: "https://10.0.0.1/x" }), "400 AB01 destinations.0.url"],
    [hook({ url: "https://169.254.169.254/" }), "400 AB01 destinations.0.url"],
    [hook({ url: "http://hooks.example.com/x" }), "400 AB01 destinations.0.url"],
    [hook({ url: "https://hooks.example.com/*****" }), "400 AB01 destinations.0.url"],
    [hook({ secret: "short" }), "400 AB01 destinations.0.secret"],
    [hook({ type: "slack", secret }), "400 AB01 destinations.0"],
    [hook({ type: "email" }), "400 AB01 destinations.0"],
    [{ destinations: [{ type: "email", to: ["nobody"] }] }, "400 AB01 destinations.0.to.0"],
    [{ destinations: [{ type: "pager" }] }, "400 AB01 destinations.0.type"],
    [{ other: 1 }, "400 AB01 other"],
  ];
  for (const [more, wanted] of cases) {
    const body = { ...base, ...more };
    assert.equal(await problem(gateway, "POST /alert-rules", { key, body }), wanted, JSON.stringify(more));
  }
  const id = await make({});
  assert.equal(await problem(gateway, `POST /alert-rules/${id}/test`, { key }), "400 AB01 destinations");
});

test("rules show nothing that the organisation denies, and nothing of other tenants", async () => {
  const id = await make({});
  const found = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self", { key: adminKey }));
  const deny = (deniedFields: string[]) =>
    done(
      call(gateway, `PUT /organisations/${found.data.id}`, {
        key: adminKey,
        body: { export_settings: { deniedFields } },
      }),
    );
  await deny(["cost"]);
  const body = { name: "x", metric: "spend_per_hour", threshold: 1, destinations: [] };
  assert.equal(await problem(gateway, "POST /alert-rules", { key, body }), "403 AB03 cost");
  await deny([]);
  const { key: foreign } = mintApiKey("gk");
  const database = await gateway.openFile();
  await insertTenant(database, foreign);
  await database.close();
  assert.equal((await call(gateway, `GET /alert-rules/${id}`, { key: foreign })).status, 404);
  assert.equal((await call(gateway, `PUT /alert-rules/${id}`, { key: foreign, body: { name: "y" } })).status, 404);
});
