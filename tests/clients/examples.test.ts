import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pythonOf } from "../../scripts/python.mjs";
import { type GatewayProcess, runCommand, runtimeCommand, startGatewayProcess } from "../support/process.ts";
import { repository } from "../support/source-files.ts";

// Installed by the runner for `npm run test:all`; without its packages a test leaves itself out.
const folder = join(repository, "examples/clients");
const python = pythonOf(folder);
const withoutPackages = !existsSync(join(folder, "node_modules/ai"));

let gateway: GatewayProcess;
before(async () => {
  gateway = await startGatewayProcess();
  const made = await fetch(`${gateway.url}/v1/integrations`, {
    method: "POST",
    headers: { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" },
    body: JSON.stringify({ name: "Main", slug: "main", ai_provider_id: "echo" }),
  });
  assert.equal(made.status, 200, await made.text());
});
after(() => gateway.stop());

/** Runs an example with a model of a stored provider; each of its models answers, at once and streamed. */
async function requireAnswers(command: string[], models: readonly string[]): Promise<void> {
  const env = { GATEWAY: gateway.url, GATEWAY_KEY: gateway.workspaceKey, MODEL: "@main/echo-1" };
  const { code, stdout, output } = await runCommand([], { command, env });
  assert.equal(code, 0, output);
  const lines = models.flatMap((name) => [`${name}: Hello (2 tokens)`, `${name}, streamed: Hello`]);
  assert.deepEqual(stdout.trim().split("\n"), lines, output);
}

test("examples/clients/ai-sdk.ts chats by three providers of the AI SDK", { skip: withoutPackages }, () =>
  requireAnswers(runtimeCommand("examples/clients/ai-sdk.ts"), ["openai", "anthropic", "openai-compatible"]),
);

const classes = ["openai", "responses", "anthropic"];

test("examples/clients/langchain.ts chats by three classes of LangChain", { skip: withoutPackages }, () =>
  requireAnswers(runtimeCommand("examples/clients/langchain.ts"), classes),
);

test("examples/clients/langchain_models.py chats by three classes of LangChain", { skip: !existsSync(python) }, () =>
  requireAnswers([python, join(folder, "langchain_models.py")], classes),
);
