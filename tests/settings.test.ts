import assert from "node:assert/strict";
import { test } from "node:test";
import { largestBodyBytes } from "../src/gateway/services.ts";
import { listVariables } from "../src/settings/tables/variables.ts";
import { readSettings } from "../src/settings.ts";

/** A proxy of an environment that records what is read. */
function recordReads(given: Readonly<Record<string, string>>): {
  environment: Record<string, string>;
  names: Set<string>;
} {
  const names = new Set<string>();
  const environment = new Proxy(
    { ...given },
    {
      get(target, name) {
        names.add(String(name));
        return Reflect.get(target, name);
      },
    },
  );
  return { environment, names };
}

test("every variable that settings read is in the table of variables", () => {
  const listed = new Set(listVariables().flatMap(({ name }) => name));
  const stores = {
    FILES_S3_ENDPOINT: "https://s3.example.com",
    LOG_STORE: "s3_custom",
    SMTP_URL: "smtp://mail.example.com",
  };
  for (const given of [
    {},
    stores,
    { PROMETHEUS_PUSH_ENABLED: "true" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost" },
  ]) {
    const { environment, names } = recordReads(given);
    try {
      readSettings(environment);
    } catch (error) {
      assert.ok(error instanceof TypeError, String(error));
    }
    assert.deepEqual(
      [...names].filter((name) => !listed.has(name)),
      [],
    );
  }
});

for (const { name, least, most } of listVariables()) {
  if (least === undefined || most === undefined) continue;
  for (const one of [name].flat()) {
    test(`readSettings() refuses ${one} outside ${least} to ${most}`, () => {
      const shared = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost", PROMETHEUS_PUSH_ENABLED: "true" };
      const push = { PROMETHEUS_GATEWAY_URL: "https://push.example.com", PROMETHEUS_GATEWAY_AUTH: "a:b" };
      const read = (value: number) => () => readSettings({ ...shared, ...push, [one]: String(value) });
      const problem = new RegExp(`^TypeError: Cannot use ${one}: it must be a whole number from ${least} to ${most}$`);
      assert.throws(read(most + 1), problem);
      if (least > 0) assert.throws(read(least - 1), problem);
    });
  }
}

test("readSettings() reads the bounds and origins of realtime sessions", () => {
  const { gateway } = readSettings({
    REALTIME_CONNECT_TIMEOUT_MS: "1000",
    REALTIME_IDLE_TIMEOUT_MS: "2000",
    REALTIME_TOTAL_TIMEOUT_MS: "3000",
    REALTIME_ORIGINS: "https://app.example.com, http://localhost:3000",
  });
  assert.deepEqual(gateway.limits, {
    realtimeConnectTimeoutMs: 1_000,
    realtimeIdleTimeoutMs: 2_000,
    realtimeTotalTimeoutMs: 3_000,
  });
  assert.deepEqual(gateway.realtimeOrigins, ["https://app.example.com", "http://localhost:3000"]);
  assert.deepEqual(readSettings({}).gateway.realtimeOrigins, []);
});

for (const origin of ["*", "app.example.com", "https://app.example.com/", "https://app.example.com/path", "null"]) {
  test(`readSettings() refuses the origin ${origin}`, () => {
    for (const name of ["REALTIME_ORIGINS", "CORS_ORIGINS"]) {
      assert.throws(() => readSettings({ [name]: origin }), new RegExp(name));
    }
  });
}

for (const [what, environment, megabytes] of [
  ["passthrough bodies by default", {}, 512],
  ["forms where less may be uploaded", { MAX_UPLOAD_SIZE_IN_MB: "1" }, 100],
  ["files of the gateway where less may be uploaded", { MAX_UPLOAD_SIZE_IN_MB: "1", MAX_FORM_SIZE_IN_MB: "1" }, 33],
  ["files that are larger than all else, with their form", { MAX_FILE_SIZE_IN_MB: "1024" }, 1025],
] as const) {
  test(`largestBodyBytes() lets in ${what}`, () => {
    assert.equal(largestBodyBytes(readSettings(environment).gateway), megabytes * 1024 * 1024);
  });
}

test("readSettings() reads the webhook and the mail server of alerts", () => {
  const { gateway, mail } = readSettings({
    ALERT_WEBHOOK_URL: "https://hooks.example.com/alerts?team=1",
    ALERT_WEBHOOK_SECRET: "an-obvious-fake-secret",
    SMTP_URL: "smtp://some%40one:p%3Ass@mail.example.com",
    ALERT_EMAIL_FROM: "Our Gateway <gateway@example.com>",
  });
  assert.deepEqual(gateway.alerts?.webhook, {
    url: "https://hooks.example.com/alerts?team=1",
    secret: "an-obvious-fake-secret",
  });
  assert.deepEqual(mail, {
    host: "mail.example.com",
    port: 587,
    isImplicitTls: false,
    allowsClearText: false,
    login: { user: "some@one", password: "p:ss" },
    from: { name: "Our Gateway", address: "gateway@example.com" },
  });
  const none = readSettings({});
  assert.deepEqual([none.gateway.alerts, none.mail], [{}, undefined]);
});

for (const [url, wanted] of [
  ["smtps://mail.example.com", { port: 465, isImplicitTls: true, allowsClearText: true }],
  ["smtp://mail.example.com:25/", { port: 25, isImplicitTls: false, allowsClearText: true }],
  ["smtp://a:b@localhost:1025", { host: "localhost", port: 1025, allowsClearText: true }],
  ["smtp://a:b@[::1]:1025", { host: "::1", allowsClearText: true }],
] as const) {
  test(`readSettings() reads the mail server ${url}`, () => {
    const { mail } = readSettings({ SMTP_URL: url, ALERT_EMAIL_FROM: "gateway@example.com" });
    assert.deepEqual({ ...mail, ...wanted }, mail);
    assert.deepEqual(mail?.from, { name: "", address: "gateway@example.com" });
  });
}

const sender = { ALERT_EMAIL_FROM: "gateway@example.com" };
const server = { SMTP_URL: "smtp://mail.example.com" };
for (const [environment, named] of [
  [{ ALERT_WEBHOOK_URL: "hooks.example.com" }, "ALERT_WEBHOOK_URL"],
  [{ ALERT_WEBHOOK_URL: "ftp://hooks.example.com" }, "ALERT_WEBHOOK_URL"],
  [{ ALERT_WEBHOOK_URL: "https://user:secret@hooks.example.com" }, "ALERT_WEBHOOK_URL"],
  [{ ALERT_WEBHOOK_SECRET: "an-obvious-fake-secret" }, "ALERT_WEBHOOK_SECRET"],
  [{ ...sender, SMTP_URL: "mail.example.com" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "https://mail.example.com" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "smtp://mail.example.com/path" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "smtp://mail.example.com?tls.rejectUnauthorized=false" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "smtp://mail.example.com:99999" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "smtp://a%zz:b@mail.example.com" }, "SMTP_URL"],
  [{ ...sender, SMTP_URL: "smtp://" }, "SMTP_URL"],
  [{ ...server, ALERT_EMAIL_FROM: "nobody" }, "ALERT_EMAIL_FROM"],
  [{ ...server, ALERT_EMAIL_FROM: "a@example.com, b@example.com" }, "ALERT_EMAIL_FROM"],
  [{ ...server, ALERT_EMAIL_FROM: "Name <a@example.com> <b@example.com>" }, "ALERT_EMAIL_FROM"],
  [{ ...server, ALERT_EMAIL_FROM: "Name\r\nBcc: x <a@example.com>" }, "ALERT_EMAIL_FROM"],
  [server, "SMTP_URL"],
  [sender, "ALERT_EMAIL_FROM"],
] as const) {
  test(`readSettings() refuses ${JSON.stringify(environment)}`, () => {
    assert.throws(
      () => readSettings(environment),
      ({ message }: Error) => message.startsWith(`Cannot use ${named}: `) && !message.includes("secret@"),
    );
  });
}

test("readSettings() reads the address of Redis, and how long requests wait for it", () => {
  const url = "rediss://user:fake%2Fpassword@redis.example.com:6380/2";
  assert.deepEqual(readSettings({ REDIS_URL: url }).gateway.redis, { url });
  assert.deepEqual(readSettings({ REDIS_URL: url, REDIS_TIMEOUT_MS: "250" }).gateway.redis, { url, timeoutMs: 250 });
  assert.equal(readSettings({ REDIS_TIMEOUT_MS: "250" }).gateway.redis, undefined);
});

test("readSettings() reads LIMITS_STRICT", () => {
  assert.equal(readSettings({ LIMITS_STRICT: "true" }).gateway.strictLimits, true);
  assert.equal(readSettings({}).gateway.strictLimits, false);
  assert.throws(() => readSettings({ LIMITS_STRICT: "yes" }), /LIMITS_STRICT/);
});

for (const url of ["fake-password@redis:6379", "http://:fake-password@redis:6379", "redis:///fake-password", "redis"]) {
  test(`readSettings() refuses the address of Redis ${url} without showing it`, () => {
    assert.throws(
      () => readSettings({ REDIS_URL: url }),
      ({ message }: Error) => message.startsWith("Cannot use REDIS_URL") && !message.includes("fake-password"),
    );
  });
}

test("readSettings() reads where log rows wait while the database is away", () => {
  assert.deepEqual(readSettings({}).logSpill, { path: undefined, bytes: 268_435_456 });
  const { logSpill } = readSettings({ LOG_SPILL_BYTES: "1048576", LOG_SPILL_FILE: "/var/spill" });
  assert.deepEqual(logSpill, { path: "/var/spill", bytes: 1_048_576 });
  for (const bytes of ["1", "1048575", "-1", "1e9", "many"]) {
    assert.throws(() => readSettings({ LOG_SPILL_BYTES: bytes }), /LOG_SPILL_BYTES/);
  }
});
