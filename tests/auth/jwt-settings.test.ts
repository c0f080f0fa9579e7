import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettings } from "../../src/settings.ts";

const id = "11111111-1111-4111-8111-111111111111";

test("readSettings() reads what is said about tokens", () => {
  assert.deepEqual(readSettings({}).gateway.tokens, { enabled: true, organisations: [], defaultScopes: [] });
  const environment = {
    JWT_ENABLED: "off",
    JWT_CLOCK_SKEW_SECONDS: "60",
    ORGANISATIONS_TO_SYNC: ` ${id.toUpperCase()} ,`,
    JWT_LOCAL_AUTH_DEFAULT_SCOPES: "completions:write, gateway.logs.view",
  };
  assert.deepEqual(readSettings(environment).gateway.tokens, {
    enabled: false,
    clockSkewSeconds: 60,
    organisations: [id],
    defaultScopes: ["completions.write", "logs.view"],
  });
});

for (const [name, value] of [
  ["JWT_ENABLED", "maybe"],
  ["JWT_CLOCK_SKEW_SECONDS", "61"],
  ["JWT_CLOCK_SKEW_SECONDS", "-1"],
  ["ORGANISATIONS_TO_SYNC", "acme"],
  ["JWT_LOCAL_AUTH_DEFAULT_SCOPES", "organisation_users.create"],
] as const) {
  test(`readSettings() refuses ${name}=${value}`, () => {
    assert.throws(() => readSettings({ [name]: value }), new RegExp(`Cannot use ${name}`));
  });
}
