import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sample } from "../support/sample.ts";

// The official suite in the place of upstream servers: the gateway is the client, and a user connects the account.

/**
 * Scored scenarios of 2026-07-28 about authorization. The others cannot pass: `auth/basic-cimd` expects the client's own
 * metadata document, and the rest test what libraries of clients do with a server, which the gateway relays unchanged.
 */
const scenarios = [
  "metadata-default",
  "metadata-var1",
  "metadata-var2",
  "metadata-var3",
  "scope-from-www-authenticate",
  "scope-from-scopes-supported",
  "scope-omitted-when-undefined",
  "scope-step-up",
  "scope-retry-limit",
  "token-endpoint-auth-basic",
  "token-endpoint-auth-post",
  "token-endpoint-auth-none",
  "pre-registration",
  "resource-mismatch",
  "offline-access-scope",
  "offline-access-not-supported",
  "authorization-server-migration",
  "iss-supported",
  "iss-not-advertised",
  "iss-supported-missing",
  "iss-wrong-issuer",
  "iss-unexpected",
  "iss-normalized",
  "metadata-issuer-mismatch",
];

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a scenario on the pinned Node; what it printed. */
function runScenario(name: string): Promise<string> {
  const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
  const command = "node scripts/run.mjs node tests/mcp/conformance-client.ts";
  const args = ["client", "--command", command, "--scenario", `auth/${name}`, "--spec-version", "2026-07-28"];
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...env } = process.env;
  return new Promise((resolve) => {
    const options = { cwd: root, env, maxBuffer: 2 ** 26 };
    execFile("node", ["scripts/run.mjs", "node", suite, ...args], options, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}

for (const name of sample(scenarios, 24)) {
  test(`the scenario auth/${name} of the suite passes through an account that a user connects`, async () => {
    const output = await runScenario(name);
    assert.match(output, /Passed: (\d+)\/\1, 0 failed, 0 warnings/, output);
  });
}
