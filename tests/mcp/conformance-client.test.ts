import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runSuite, scored, serveFetch } from "./conformance.ts";
import { type ClientScenario, runClientScenario } from "./conformance-client.ts";

// The official suite in the place of upstream servers: the gateway is the client, and a user connects the account.

const baseline = fileURLToPath(new URL("baseline-client.yml", import.meta.url));

/** Answers the command of the suite: runs what it asks for. */
async function answerCommand(request: Request): Promise<Response> {
  try {
    return new Response((await runClientScenario((await request.json()) as ClientScenario)).join("\n"));
  } catch (error) {
    return new Response(error instanceof Error ? (error.stack ?? error.message) : String(error), { status: 500 });
  }
}

/** Scenarios that the suite runs beside those that count. */
const unscored = new Set([
  ...["client-credentials-jwt", "client-credentials-basic", "enterprise-managed-authorization"].map(
    (name) => `auth/${name}`,
  ),
  ...["dpop", "dpop-nonce", "wif-jwt-bearer"].map((name) => `auth/${name}`),
  "json-schema-2020-12-preservation",
]);

for (const [revision, passing, failing] of [
  ["2025-11-25", 17, ["elicitation-sep1034-client-defaults"]],
  ["2026-07-28", 32, []],
] as const) {
  test(`${passing} scored scenarios of ${revision} pass with the gateway as their client, the baseline names the others`, {
    timeout: 240_000,
  }, async () => {
    const commands = await serveFetch(answerCommand);
    try {
      const command = `node ${fileURLToPath(new URL("conformance-command.mjs", import.meta.url))} ${commands.url}`;
      const args = ["--command", command, "--requirements", revision, "--timeout", "110000"];
      const { exitCode, output } = await runSuite(["client", ...args, "--expected-failures", baseline]);
      const { passed, failed } = scored(output, unscored);
      assert.deepEqual(
        { exitCode, passed: passed.length, failed },
        { exitCode: 0, passed: passing, failed: [...failing] },
        output,
      );
    } finally {
      await commands.close();
    }
  });
}
