import assert from "node:assert/strict";
import { test } from "node:test";
import { largestBodyBytes } from "../src/gateway/services.ts";
import { readSettings } from "../src/settings.ts";

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
    assert.throws(() => readSettings({ REALTIME_ORIGINS: origin }), /REALTIME_ORIGINS/);
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
