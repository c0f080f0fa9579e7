import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { createClient } from "@libsql/client/sqlite3";
import type { AlertBody } from "../../src/control/alerts/messages.ts";
import { openDatabase } from "../../src/db/client.ts";
import {
  type AlertingGateway,
  ask,
  createBudgetKey,
  createIntegration,
  flagsOf,
  listAuditedAlerts,
  type ShownBudget,
  showKeyBudget,
  startReceiver,
  tokensOfCall,
  useUp,
  withAlerts,
} from "../support/alerts.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { adminKey, createTemporaryFolder, type TestGateway } from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";
import { eventually } from "../support/upstream.ts";

const secret = "an-obvious-fake-secret";
const kinds = (alerts: readonly AlertBody[]) => alerts.map(({ type }) => type).sort();

/** Waits a while in which something wrong would happen: several rounds of deliveries. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 150));

test("a budget alerts once at its threshold and once when it is used up", () =>
  withAlerts(async (start) => {
    const receiver = await startReceiver();
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url, secret } } });
      const { gateway, clock, lines, workspaceId } = parts;
      const { id, key } = await createBudgetKey(parts, {
        credit_limit: 3_000,
        alert_threshold: 1_000,
        periodic_reset: "monthly",
      });
      assert.equal(flagsOf(await showKeyBudget(gateway, id)), "--");
      assert.equal(await ask(parts, key), 200);
      await eventually(() => receiver.requests.length === 1, "the alert of the threshold");
      assert.equal(flagsOf(await showKeyBudget(gateway, id)), "T-");
      await useUp(parts, key);
      await eventually(() => receiver.requests.length === 2, "the alert of the limit");
      for (let calls = 0; calls < 3; calls++) assert.equal(await ask(parts, key), 412);
      await aWhile();
      const budget = await showKeyBudget(gateway, id);
      assert.equal(flagsOf(budget), "TE");
      const { organisation_id } = await done(call<{ organisation_id: string }>(gateway, `GET /api-keys/${id}`));
      const [threshold, exhausted, ...more] = receiver.alerts();
      assert.deepEqual(more, []);
      assert.deepEqual(threshold, {
        object: "limit_alert",
        id: threshold?.id,
        type: "threshold",
        limit_id: budget.id,
        holder: { type: "api_key", id, name: "App" },
        bucket: `api_key:${id}`,
        counts: "tokens",
        used: tokensOfCall,
        limit: 3_000,
        threshold: 1_000,
        window_start: "2026-01-01T00:00:00.000Z",
        window_end: "2026-02-01T00:00:00.000Z",
        organisation_id,
        workspace_id: workspaceId,
        at: new Date(clock.now()).toISOString(),
      });
      assert.deepEqual(exhausted, { ...threshold, id: exhausted?.id, type: "exhausted", used: 3_000 });
      assert.notEqual(exhausted?.id, threshold?.id);
      for (const { text, headers } of receiver.requests) {
        assert.equal(headers["content-type"], "application/json");
        const seconds = Math.floor(clock.now() / 1_000);
        const digest = createHmac("sha256", secret).update(`${seconds}.${text}`).digest("hex");
        assert.equal(headers["x-gateway-signature"], `t=${seconds},v1=${digest}`);
      }
      assert.deepEqual(
        lines.map((line) => JSON.parse(line.replace(/^limit alert /, "")).id),
        [threshold?.id, exhausted?.id],
      );
      const audited = await listAuditedAlerts(gateway);
      assert.deepEqual(
        audited.map(({ action, resource_type, resource_id, workspace_id, user_id, user_type }) => ({
          action,
          resource_type,
          resource_id,
          workspace_id,
          user_id,
          user_type,
        })),
        ["alert_threshold", "alert_exhausted"].map((action) => ({
          action,
          resource_type: "api_keys",
          resource_id: id,
          workspace_id: workspaceId,
          user_id: "gateway",
          user_type: "system",
        })),
      );
      assert.equal(JSON.parse(audited[0]?.request_body ?? "").id, threshold?.id);
      assert.deepEqual(gateway.warnings, []);
    } finally {
      await receiver.close();
    }
  }));

test("each window alerts anew, and rate limits never do", () =>
  withAlerts(async (start) => {
    const parts = await start();
    const budget = { credit_limit: 3_000, periodic_reset: "weekly" };
    const { id, key } = await createBudgetKey(parts, budget);
    const rates = { rate_limits: [{ type: "requests", unit: "rpm", value: 1 }], usage_limits: null };
    const rated = await createBudgetKey(parts, {}, rates);
    for (const status of [200, 429, 429]) assert.equal(await ask(parts, rated.key), status);
    await useUp(parts, key);
    await eventually(() => parts.lines.length === 1, "the first alert");
    parts.clock.advance(7 * 86_400_000);
    assert.equal(flagsOf(await showKeyBudget(parts.gateway, id)), "--");
    await useUp(parts, key);
    await eventually(() => parts.lines.length === 2, "the alert of the next week");
    assert.equal(flagsOf(await showKeyBudget(parts.gateway, id)), "-E");
  }));

test("workspaces, stored providers and policies alert, with their own names and flags", () =>
  withAlerts(async (start) => {
    const receiver = await startReceiver();
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url } } });
      const { gateway, workspaceId } = parts;
      const limits = { type: "tokens", credit_limit: 1_000 };
      await done(call(gateway, "PUT /admin/workspaces/default", { body: { usage_limits: [limits] } }));
      await createIntegration(parts, { workspace_id: "default" });
      const stored = await done(call<{ data: { slug: string }[] }>(gateway, "GET /providers?workspace_id=default"));
      const slug = stored.data[0]?.slug ?? assert.fail();
      await done(call(gateway, `PUT /providers/${slug}`, { body: { usage_limits: limits, workspace_id: "default" } }));
      const policy = await done(
        call<{ id: string }>(gateway, "POST /policies/usage-limits", {
          body: {
            name: "Per user",
            workspace_id: workspaceId,
            ...limits,
            conditions: [{ key: "provider", value: "openai" }],
            group_by: [{ key: "metadata.user" }],
          },
        }),
      );
      const { key } = await createBudgetKey(parts, {}, { usage_limits: null });
      const own = { "x-gateway-custom-host": null, authorization: null };
      assert.equal(await ask(parts, key, { ...own, ...as("alice"), "x-gateway-provider": `@${slug}` }), 200);
      await eventually(() => receiver.requests.length === 3, "three alerts");
      const shown = receiver
        .alerts()
        .map(({ holder, bucket, type }) => [holder.type, holder.name, bucket, type].join(" "));
      assert.deepEqual(shown.sort(), [
        "policy Per user metadata.user:alice exhausted",
        `provider Ours virtual_key:${slug} exhausted`,
        `workspace default workspace_id:${workspaceId} exhausted`,
      ]);
      const ofPolicy = receiver.alerts().find(({ holder }) => holder.type === "policy");
      assert.deepEqual([ofPolicy?.holder.id, ofPolicy?.limit_id], [policy.id, policy.id]);
      const workspace = await done(call<{ usage_limits: ShownBudget[] }>(gateway, "GET /admin/workspaces/default"));
      assert.equal(flagsOf(workspace.usage_limits[0]), "-E");
      const shownProvider = await done(
        call<{ usage_limits: ShownBudget }>(gateway, `GET /providers/${slug}?workspace_id=default`),
      );
      assert.equal(flagsOf(shownProvider.usage_limits), "-E");
    } finally {
      await receiver.close();
    }
  }));

test("an alert is not repeated by a restart, nor by another gateway on the same database", async () => {
  const folder = createTemporaryFolder();
  const receiver = await startReceiver();
  try {
    const options = { database: `file:${folder.path}/gateway.db`, alerts: { webhook: { url: receiver.url } } };
    await withAlerts(async (start) => {
      const [first, second] = [await start(options), await start(options)];
      const { key } = await createBudgetKey(first, { credit_limit: 6_000, alert_threshold: 1_500 });
      // both notice, each with its own counter
      await Promise.all([ask(first, key), ask(second, key), ask(first, key), ask(second, key)]);
      await Promise.all([useUp(first, key), useUp(second, key)]);
      await eventually(() => receiver.requests.length >= 2, "two alerts");
      await aWhile();
      assert.deepEqual(kinds(receiver.alerts()), ["exhausted", "threshold"]);
      assert.equal((await listAuditedAlerts(first.gateway)).length, 2);
      assert.equal(first.lines.length + second.lines.length, 2);
    });
    await withAlerts(async (start) => {
      const { key } = await createBudgetKey(await start(options), { credit_limit: 1_500 });
      const restarted = await start(options);
      await useUp(restarted, key);
      await eventually(() => receiver.requests.length >= 3, "the alert of another budget");
      await aWhile();
      assert.equal(receiver.requests.length, 3);
    });
  } finally {
    await receiver.close();
    folder.remove();
  }
});

test("a budget that was used up before its alert was recorded alerts with the next refusal", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${folder.path}/gateway.db`;
  try {
    let key = "";
    await withAlerts(async (start) => {
      const parts = await start({ database });
      ({ key } = await createBudgetKey(parts, { credit_limit: 1_500 }));
      await useUp(parts, key);
    });
    // as if the process had ended after it stored the log row and before it stored the alert
    const opened = await openDatabase({ url: database });
    await opened.write(["DELETE FROM limit_alerts"]);
    await opened.close();
    await withAlerts(async (start) => {
      const parts = await start({ database });
      assert.equal(await ask(parts, key), 412);
      assert.equal(await ask(parts, key), 412);
      await eventually(() => parts.lines.length === 1, "the alert");
      await aWhile();
      assert.equal(parts.lines.length, 1);
    });
  } finally {
    folder.remove();
  }
});

test("a reset, a raised limit and a raised threshold clear the flags, and the next crossing alerts again", () =>
  withAlerts(async (start) => {
    const parts = await start();
    const { gateway, lines, clock } = parts;
    const budget = { type: "tokens", credit_limit: 3_000, alert_threshold: 1_500 };
    const { id, key } = await createBudgetKey(parts, budget);
    const change = (body: object) => done(call(gateway, `PUT /api-keys/${id}`, { body }));
    const flags = async () => flagsOf(await showKeyBudget(gateway, id));
    await useUp(parts, key);
    await eventually(() => lines.length === 2, "both alerts");
    assert.equal(await flags(), "TE");
    // above what was used: not used up any more, the threshold is still reached
    await change({ usage_limits: { ...budget, credit_limit: 6_000 } });
    assert.equal(await flags(), "T-");
    await change({ usage_limits: { ...budget, credit_limit: 6_000, alert_threshold: 4_500 } });
    assert.equal(await flags(), "--");
    await useUp(parts, key);
    await eventually(() => lines.length === 4, "both alerts of the raised bounds");
    assert.equal(await flags(), "TE");
    clock.advance(1);
    await change({ reset_usage: true });
    assert.equal(await flags(), "--");
    await useUp(parts, key);
    await eventually(() => lines.length === 6, "both alerts after the reset");
    assert.equal(await flags(), "TE");
    // a limit below what was used is reached with the next request
    await change({ usage_limits: { ...budget, credit_limit: 4_600, alert_threshold: null } });
    assert.equal(await flags(), "--");
    assert.equal(await ask(parts, key), 412);
    await eventually(() => lines.length === 7, "the alert of the lowered limit");
    assert.equal(await flags(), "-E");
  }));

/** Makes a budget policy for each user, and a key. */
async function createPolicy(parts: AlertingGateway, more: object = {}): Promise<{ id: string; key: string }> {
  const { gateway, workspaceId } = parts;
  const body = {
    workspace_id: workspaceId,
    type: "tokens",
    credit_limit: 1_500,
    ...more,
    conditions: [{ key: "provider", value: "openai" }],
    group_by: [{ key: "metadata.user" }],
  };
  const { id } = await done(call<{ id: string }>(gateway, "POST /policies/usage-limits", { body }));
  const { key } = await createBudgetKey(parts, {}, { usage_limits: null });
  return { id, key };
}

const as = (user: string) => ({ "x-gateway-metadata": JSON.stringify({ user }) });

test("a counter that goes down takes its alerts along, and no others", () =>
  withAlerts(async (start) => {
    const parts = await start({ inFile: true });
    const { gateway, lines } = parts;
    const { key } = await createPolicy(parts, { credit_limit: 1_500, alert_threshold: 1_000 });
    await Promise.all([ask(parts, key, as("alice")), ask(parts, key, as("bob"))]);
    await eventually(() => lines.length === 4, "the alerts of both users");
    const database = await gateway.openFile();
    const list = async () => {
      const { rows } = await database.read("SELECT bucket, kind FROM limit_alerts ORDER BY bucket, kind");
      return rows.map(({ bucket, kind }) => `${bucket} ${kind}`);
    };
    const count = "SELECT count(*) AS found FROM limit_counters WHERE used = 1500";
    for (let found = 0; found < 2; ) found = Number((await database.read(count)).rows[0]?.found);
    const lower = (by: number) =>
      database.write([
        { sql: "UPDATE limit_counters SET used = used - ? WHERE bucket = 'metadata.user:alice'", args: [by] },
      ]);
    await lower(100);
    const ofBob = ["metadata.user:bob exhausted", "metadata.user:bob threshold"];
    assert.deepEqual(await list(), ["metadata.user:alice threshold", ...ofBob]);
    await lower(1_400);
    assert.deepEqual(await list(), ofBob);
    // the counter in memory has not changed: the next refusal reports what it knows only if it was not reported before
    assert.equal(await ask(parts, key, as("alice")), 412);
    await aWhile();
    assert.equal(lines.length, 4);
  }));

/** Waits until there are as many as wanted, for as long as there are more and more. */
async function growTo(wanted: number, count: () => number, what: string): Promise<void> {
  for (let some = wanted / 10; some <= wanted; some += wanted / 10) await eventually(() => count() >= some, what);
}

test("1,000 budgets that are used up at once alert once each, in few mails", { timeout: 600_000 }, () =>
  withAlerts(async (start) => {
    let running = 0;
    let mostRunning = 0;
    const receiver = await startReceiver((_, response) => {
      mostRunning = Math.max(mostRunning, ++running);
      setTimeout(() => {
        running--;
        response.end();
      }, 0);
    });
    const mails: string[] = [];
    const sendMail = async ({ text }: { text: string }) => {
      mails.push(text);
      return 0;
    };
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url }, sendMail } });
      await addPerson(parts.gateway, "admin@example.com", { role: "admin" });
      const { key } = await createPolicy(parts);
      const users = Array.from({ length: 1_000 }, (_, index) => `user-${index}`);
      // more at once would wait for each other's connections, since the provider is in this process
      for (let first = 0; first < users.length; first += 100) {
        const some = users.slice(first, first + 100);
        const statuses = await Promise.all(some.map((user) => ask(parts, key, as(user))));
        assert.deepEqual([...new Set(statuses)], [200]);
      }
      await growTo(1_000, () => parts.lines.length, "1,000 log lines");
      await growTo(1_000, () => receiver.requests.length, "1,000 calls of the webhook");
      await aWhile();
      assert.equal(parts.lines.length, 1_000);
      const buckets = receiver.alerts().map(({ bucket }) => bucket);
      assert.equal(buckets.length, 1_000);
      assert.deepEqual(new Set(buckets), new Set(users.map((user) => `metadata.user:${user}`)));
      assert.equal(mostRunning, 1);
      // one at once, and one for all that came within a minute
      assert.equal(mails.length, 1);
      parts.clock.advance(60_000);
      for (let round = 0; mails.length < 3; round++) {
        await eventually(() => mails.length === 2 + round, "the mail about the others");
        parts.clock.advance(60_000);
      }
      assert.match(mails.join(), /450 more alerts are in the audit log/);
      assert.equal((await listAuditedAlerts(parts.gateway)).length, 1_000);
    } finally {
      await receiver.close();
    }
  }),
);

test("a webhook that fails is tried again with growing pauses, with the same alert", () =>
  withAlerts(async (start) => {
    let status = 500;
    const receiver = await startReceiver((_, response) => {
      response.statusCode = status;
      response.end();
    });
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url } } });
      const { gateway, clock, lines } = parts;
      const { key } = await createBudgetKey(parts, { credit_limit: 1_500 });
      assert.equal(await ask(parts, key), 200);
      await eventually(() => receiver.requests.length === 1, "the first attempt");
      await aWhile();
      assert.equal(receiver.requests.length, 1);
      for (const [attempts, pause] of [
        [2, 10_000],
        [3, 30_000],
        [4, 120_000],
      ] as const) {
        clock.advance(pause - 1);
        await aWhile();
        assert.equal(receiver.requests.length, attempts - 1);
        clock.advance(1);
        if (attempts === 4) status = 204;
        await eventually(() => receiver.requests.length === attempts, `attempt ${attempts}`);
        await aWhile();
      }
      clock.advance(86_400_000);
      await aWhile();
      assert.equal(receiver.requests.length, 4);
      assert.equal(new Set(receiver.alerts().map(({ id }) => id)).size, 1);
      assert.equal(lines.length, 1);
      assert.equal(gateway.warnings.length, 3);
      assert.match(gateway.warnings[0] ?? "", /webhook of organisation .*: the webhook responded with 500$/);
    } finally {
      await receiver.close();
    }
  }));

test("a webhook that never succeeds is given up after nine attempts", () =>
  withAlerts(async (start) => {
    const receiver = await startReceiver((_, response) => {
      // no redirect is followed
      response.writeHead(307, { location: "/elsewhere" });
      response.end();
    });
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url } } });
      const { key } = await createBudgetKey(parts, { credit_limit: 1_500 });
      assert.equal(await ask(parts, key), 200);
      for (let attempts = 1; attempts <= 9; attempts++) {
        await eventually(() => parts.gateway.warnings.length >= attempts, `failure ${attempts}`);
        assert.equal(receiver.requests.length, attempts);
        parts.clock.advance(43_200_000);
      }
      await eventually(() => parts.gateway.warnings.length === 10, "the last warning");
      assert.match(parts.gateway.warnings[9] ?? "", /^Gave up 1 alerts of organisation/);
      parts.clock.advance(10 * 86_400_000);
      await aWhile();
      assert.equal(receiver.requests.length, 9);
      assert.deepEqual([...new Set(receiver.requests.map(({ path }) => path))], ["/"]);
    } finally {
      await receiver.close();
    }
  }));

test("a webhook that hangs delays neither requests nor the alerts of other organisations", async () => {
  const hanging = await startReceiver(() => {});
  const receiver = await startReceiver();
  try {
    await withAlerts(async (start) => {
      const parts = await start({ inFile: true, alerts: { webhook: { url: receiver.url }, timeoutMs: 60_000 } });
      const { gateway } = parts;
      const other = await createOrganisation(await gateway.openFile(), "other");
      await setWebhook(gateway, { alert_webhook: `${hanging.url}/alerts` });
      const { key } = await createBudgetKey(parts, { credit_limit: 3_000, alert_threshold: 1_000 });
      assert.equal(await ask(parts, key), 200);
      await eventually(() => hanging.requests.length === 1, "the call that hangs");
      await useUp(parts, key);
      const theirs = await createBudgetKey(parts, { credit_limit: 1_500 }, {}, other);
      await useUp(parts, theirs.key);
      await eventually(() => receiver.requests.length === 1, "the alert of the other organisation");
      assert.equal(receiver.alerts()[0]?.organisation_id, other.organisationId);
      assert.equal(hanging.requests.length, 1);
      await hanging.close();
    });
  } finally {
    await hanging.close();
    await receiver.close();
  }
});

test("a webhook that hangs is left after the time limit, and tried again", () =>
  withAlerts(async (start) => {
    let isHanging = true;
    let answered = 0;
    const receiver = await startReceiver((_, response) => {
      if (isHanging) return;
      response.end();
      answered++;
    });
    try {
      const parts = await start({ alerts: { webhook: { url: receiver.url }, timeoutMs: 50 } });
      const { warnings } = parts.gateway;
      const { key } = await createBudgetKey(parts, { credit_limit: 1_500 });
      await useUp(parts, key);
      await eventually(() => warnings.length === 1, "the time limit");
      assert.match(warnings[0] ?? "", /: the webhook did not respond in time$/);
      isHanging = false;
      // where the machine is busy, the next attempt may be late as well
      for (let failed = 1; answered === 0; failed++) {
        parts.clock.advance(43_200_000);
        await eventually(() => answered > 0 || warnings.length > failed, "another attempt");
      }
    } finally {
      await receiver.close();
    }
  }));

test("a process that ends while it delivers leaves the alert to the next one", async () => {
  const folder = createTemporaryFolder();
  const receiver = await startReceiver(() => {});
  try {
    const alerts = { webhook: { url: receiver.url }, timeoutMs: 60_000 };
    const options = { database: `file:${folder.path}/gateway.db`, alerts };
    await withAlerts(async (start) => {
      const first = await start(options);
      const { key } = await createBudgetKey(first, { credit_limit: 1_500 });
      await useUp(first, key);
      await eventually(() => receiver.requests.length === 1, "the call that is cut");
      // it holds the alert for two minutes, as a killed process would
      const second = await start(options);
      await aWhile();
      assert.equal(receiver.requests.length, 1);
      second.clock.advance(120_000);
      await eventually(() => receiver.requests.length === 2, "the call of the other process");
      const [one, two] = receiver.alerts();
      assert.deepEqual(two, one);
      await second.gateway.close();
      // a process that ends in order gives it back at once
      await start(options);
      await eventually(() => receiver.requests.length >= 3, "the call after an orderly end");
      await receiver.close();
    });
  } finally {
    await receiver.close();
    folder.remove();
  }
});

test("a process that was paused while it delivered takes nothing back from the one that delivered meanwhile", async () => {
  const folder = createTemporaryFolder();
  const held: ServerResponse[] = [];
  const receiver = await startReceiver((_, response) => {
    if (held.length > 0) response.end();
    else held.push(response);
  });
  try {
    const alerts = { webhook: { url: receiver.url }, timeoutMs: 60_000 };
    const options = { database: `file:${folder.path}/gateway.db`, alerts };
    await withAlerts(async (start) => {
      const first = await start(options);
      const { key } = await createBudgetKey(first, { credit_limit: 3_000, alert_threshold: 1_500 });
      await useUp(first, key);
      await eventually(() => receiver.requests.length === 1, "a call that hangs");
      const second = await start(options);
      second.clock.advance(120_000);
      await eventually(() => receiver.requests.length === 3, "the calls of the other process");
      // the first one goes on: its call failed, and another alert was next
      held[0]?.writeHead(500).end();
      await aWhile();
      second.clock.advance(60_000);
      await aWhile();
      assert.deepEqual(kinds(receiver.alerts().slice(1)), ["exhausted", "threshold"]);
    });
  } finally {
    await receiver.close();
    folder.remove();
  }
});

test("the webhook of an organisation is not called if its host is not allowed any more; the operator's always is", async () => {
  const folder = createTemporaryFolder();
  const [own, ofOperator] = [await startReceiver(), await startReceiver()];
  try {
    const database = `file:${folder.path}/gateway.db`;
    await withAlerts(async (start) => {
      const trusting = await start({ database });
      await setWebhook(trusting.gateway, { alert_webhook: `${own.url}/alerts` });
      const { key } = await createBudgetKey(trusting, { credit_limit: 1_500 });
      await trusting.gateway.close();
      const { port } = new URL(trusting.provider.url);
      const options = { database, trustedHosts: [`127.0.0.1:${port}`], alerts: { webhook: { url: ofOperator.url } } };
      const strict = await start(options);
      await useUp(strict, key);
      await eventually(() => strict.gateway.warnings.length === 1, "the refusal");
      assert.match(strict.gateway.warnings[0] ?? "", /Cannot call this address/);
      assert.equal(strict.gateway.warnings[0]?.includes(own.url), false);
      await setWebhook(strict.gateway, { alert_webhook: null });
      strict.clock.advance(10_000);
      await eventually(() => ofOperator.requests.length === 1, "the webhook of the operator");
      assert.equal(own.requests.length, 0);
    });
  } finally {
    await own.close();
    await ofOperator.close();
    folder.remove();
  }
});

test("while the database cannot be written, alerts wait and requests go on", async () => {
  const folder = createTemporaryFolder();
  const url = `file:${folder.path}/gateway.db`;
  const blocker = createClient({ url });
  try {
    await withAlerts(async (start) => {
      const parts = await start({ database: url });
      const { key } = await createBudgetKey(parts, { credit_limit: 3_000, alert_threshold: 1_500 });
      const lock = await blocker.transaction("write");
      await lock.execute("DELETE FROM limit_alerts");
      assert.deepEqual([await ask(parts, key), await ask(parts, key), await ask(parts, key)], [200, 200, 412]);
      const isTold = () => parts.gateway.warnings.some((warning) => /^Cannot read or write alerts/.test(warning));
      await eventually(isTold, "the warning");
      assert.equal(parts.lines.length, 0);
      await lock.rollback();
      await eventually(() => parts.lines.length === 2, "both alerts");
      const shown = parts.lines.map((line): string => JSON.parse(line.replace(/^limit alert /, "")).type);
      assert.deepEqual(shown, ["threshold", "exhausted"]);
    });
  } finally {
    blocker.close();
    folder.remove();
  }
});

/** Changes settings of the organisation of a key, by default of the first one. */
async function setWebhook(gateway: TestGateway, body: object, key = adminKey): Promise<void> {
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self", { key }));
  await done(call(gateway, `PUT /organisations/${data.id}`, { key, body }));
}
