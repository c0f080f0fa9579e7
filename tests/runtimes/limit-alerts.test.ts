import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import { startReceiver } from "../support/alerts.ts";
import { createFolder, type GatewayProcess, startAndFail, startGatewayProcess } from "../support/process.ts";
import { headerOf, startMailServer, textOf } from "../support/smtp.ts";
import { eventually } from "../support/upstream.ts";

async function send<Answer>(gateway: GatewayProcess, key: string, route: string, body: object): Promise<Answer> {
  const [method = "", path = ""] = route.split(" ");
  const headers = { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" };
  const response = await fetch(`${gateway.url}/v1${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Each step has a bound; together they may take longer than the runner waits for a test. */
const timeout = 300_000;

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello, this is enough for a token" }] };

/** A key whose budget one request uses up. */
function createKey(gateway: GatewayProcess): Promise<{ id: string; key: string }> {
  return send(gateway, gateway.adminKey, "POST /api-keys/workspace/service", {
    name: "App",
    workspace_id: "default",
    scopes: ["completions.write"],
    usage_limits: { type: "tokens", credit_limit: 40, alert_threshold: 1 },
    alert_emails: ["ops@example.com"],
  });
}

/** Takes alerts from the killed process, as others would wait for the lease to expire. */
async function readAlerts(folder: string, free: boolean) {
  const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
  try {
    if (free) await database.execute("UPDATE limit_alerts SET next_attempt_at = 0 WHERE next_attempt_at IS NOT NULL");
    const { rows } = await database.execute(
      "SELECT kind, (SELECT count(*) FROM audit_logs WHERE action = 'alert_' || kind) AS audited FROM limit_alerts",
    );
    return rows.map(({ kind, audited }) => `${kind} ${audited}`);
  } finally {
    database.close();
  }
}

test("an alert of a killed process is delivered by the next one, to the webhook and by mail", { timeout }, async () => {
  let isHanging = true;
  const receiver = await startReceiver((_, response) => {
    if (!isHanging) response.end();
  });
  const server = await startMailServer();
  const folder = createFolder();
  const env = {
    ALERT_WEBHOOK_URL: `${receiver.url}/alerts`,
    SMTP_URL: `smtp://127.0.0.1:${server.port}`,
    ALERT_EMAIL_FROM: "Gateway <gateway@example.com>",
  };
  let gateway = await startGatewayProcess({ cwd: folder, env });
  try {
    const { id, key } = await createKey(gateway);
    await send(gateway, key, "POST /chat/completions", chat);
    await eventually(() => receiver.requests.length === 1, "the call that hangs");
    await eventually(() => server.mails.length === 1, "the mail");
    assert.match(gateway.output(), /^limit alert \{"object":"limit_alert",/m);
    await gateway.stop("SIGKILL");
    assert.deepEqual(await readAlerts(folder, true), ["threshold 1"]);
    isHanging = false;
    gateway = await startGatewayProcess({ cwd: folder, env });
    await eventually(() => receiver.requests.length === 2, "the call after the restart");
    const [first, second] = receiver.alerts();
    assert.deepEqual(second, first);
    assert.deepEqual([second?.type, second?.holder], ["threshold", { type: "api_key", id, name: "App" }]);
    const [mail] = server.mails;
    assert.ok(mail);
    assert.deepEqual([mail.from, mail.to], ["gateway@example.com", ["ops@example.com"]]);
    assert.match(headerOf(mail, "Subject") ?? "", /^The budget of API key App has reached its threshold/);
    assert.match(textOf(mail), new RegExp(`Budget: ${first?.limit_id}`));
    assert.doesNotMatch(gateway.output(), /limit alert/);
    assert.deepEqual(await readAlerts(folder, false), ["threshold 1"]);
  } finally {
    await gateway.stop("SIGKILL");
    await server.close();
    await receiver.close();
  }
});

test("a mail server without a sender stops the start", async () => {
  const { code, output } = await startAndFail({ env: { SMTP_URL: "smtp://user:an-obvious-fake-password@127.0.0.1" } });
  assert.equal(code, 1);
  assert.match(output, /Cannot use SMTP_URL: ALERT_EMAIL_FROM must be set too/);
  assert.doesNotMatch(output, /obvious-fake-password/);
});
