import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadSettings } from "../../src/serve/environment.ts";
import { withSecretFiles } from "../../src/serve/secret-files.ts";
import { fileVariableOf, listVariables, secretNamesOf } from "../../src/settings/tables/variables.ts";
import { createFolder } from "../support/process.ts";

const names = listVariables().flatMap(({ name }) => name);
const secrets = listVariables().flatMap(secretNamesOf);

/** Variables named like secrets, whose values are harmless. */
const harmless = [
  "API_KEY_PREFIX",
  "AUTH_FAILURES_PER_MINUTE",
  "AZURE_AUTHORITY_HOST",
  "GCP_AUTH_MODE",
  "JWT_LOCAL_AUTH_DEFAULT_SCOPES",
  "MAX_CONCURRENT_PER_KEY",
  "MAX_HELD_BODIES_PER_KEY_IN_MB",
  "MCP_POOL_TOKEN_EXPIRY_BUFFER_MS",
  "PROMETHEUS_INCLUDE_API_KEY_NAME_LABEL",
  "PROMETHEUS_LABELS_METADATA_ALLOWED_KEYS",
  "STREAM_KEEP_ALIVE_MS",
  "TLS_KEY", // the path of a file
];

test("every variable named like a secret is also read from a file", () => {
  const isSecret = /KEY|TOKEN|SECRET|PASSWORD|AUTH/;
  const left = names.filter((name) => isSecret.test(name) && !name.endsWith("_FILE") && !secrets.includes(name));
  assert.deepEqual(
    left.filter((name) => !names.includes(fileVariableOf(name)) && !harmless.includes(name)),
    [],
  );
  for (const name of secrets) assert.ok(names.includes(name), `${name} is not a name of its row`);
});

test("each secret is read from its file, without the white space around it", () => {
  const folder = createFolder();
  for (const name of secrets) {
    const path = join(folder, name);
    writeFileSync(path, `  a secret of ${name}\n`);
    assert.equal(withSecretFiles({ [fileVariableOf(name)]: path })[name], `a secret of ${name}`);
    assert.equal(withSecretFiles({ [fileVariableOf(name)]: "", [name]: "given" })[name], "given");
    const both = { [fileVariableOf(name)]: path, [name]: "given" };
    assert.throws(() => withSecretFiles(both), new RegExp(`Cannot use ${name}_FILE: ${name} is set too`));
  }
});

test("loadSettings() takes a secret from its file and names the variable of a file that it cannot use", () => {
  const folder = createFolder();
  const path = join(folder, "redis");
  const load = () => loadSettings({ DATABASE_URL: ":memory:", REDIS_URL_FILE: path });
  assert.throws(load, /^TypeError: Cannot use REDIS_URL_FILE: .*(?:ENOENT|No such file)/);
  writeFileSync(path, "\n");
  assert.throws(load, /REDIS_URL_FILE: .* is empty/);
  writeFileSync(path, "x".repeat(70_000));
  assert.throws(load, /REDIS_URL_FILE: it is too large/);
  writeFileSync(path, "redis://user:an-obvious-fake@redis.example.com:6379\n");
  assert.equal(load().gateway.redis?.url, "redis://user:an-obvious-fake@redis.example.com:6379");
});
