import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { answerCommand } from "../../src/serve/cli.ts";
import { createUsedFolder } from "../support/commands.ts";
import { createFolder, fakeAdminKey, runCommand, startGatewayProcess, withGateway } from "../support/process.ts";

const file = `version: 1
workspaces:
  default:
    integrations: { demo: { ai_provider_id: echo } }
    model_aliases: { fast: { target: { model: "@demo/echo-1" } } }
    keys:
      App: { scopes: [completions.write], key: { $env: APP_KEY } }
`;
const appKey = "sk-an-obvious-fake-0123456789";

async function chat(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "fast", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

for (const args of [["apply"], ["apply", "-f"], ["apply", "-f", "x", "--plane"], ["apply", "-f", "x", "y"]]) {
  test(`${args.join(" ")} is not understood: 1, because 2 is that of a plan`, async () => {
    const { code, lines, problems } = await answerCommand(args);
    assert.deepEqual([code, lines], [1, []]);
    assert.match(problems.join("\n"), /Usage: gateway/);
  });
}

test("a gateway that serves gets what a file says, with the exit codes of a plan", async () => {
  const folder = createFolder();
  const path = join(folder, "gateway.yaml");
  writeFileSync(path, file.replace(", key: { $env: APP_KEY }", ""));
  await withGateway({ cwd: folder }, async ({ url }) => {
    const env = { GATEWAY_API_KEY: fakeAdminKey };
    const run = (...args: string[]) => runCommand([...args, "--url", url], { cwd: folder, env });
    const plan = await run("apply", "-f", path, "--plan");
    assert.equal(plan.code, 2, plan.output);
    assert.match(plan.stdout, /^\+ workspaces\.default\.integrations\.demo$/m);
    const refused = await run("apply", "-f", path);
    assert.equal(refused.code, 1);
    assert.match(refused.output, /keys\.App: give --keys-file/);
    const done = await run("apply", "-f", path, "--keys-file", "keys.jsonl", "--json");
    assert.equal(done.code, 0, done.output);
    assert.equal(JSON.parse(done.stdout).written, 4);
    const keys = join(folder, "keys.jsonl");
    assert.equal(statSync(keys).mode & 0o777, 0o600);
    const { workspace, name, key } = JSON.parse(readFileSync(keys, "utf8"));
    assert.deepEqual([workspace, name], ["default", "App"]);
    assert.equal(await chat(url, key), 200);
    assert.equal((await run("apply", "-f", path, "--plan")).code, 0);
    // the database of the process that serves
    const local = await runCommand(["export", "--local"], { cwd: folder });
    assert.match(local.stdout, /^# yaml-language-server: \$schema=gateway\.schema\.json\nversion: 1\n/);
    assert.match(local.stdout, /demo:\n\s+ai_provider_id: echo/);
  });
});

test("a start with GATEWAY_FILE serves what the file says and refuses to change it; a wrong file ends the start", async () => {
  const folder = createFolder();
  const path = join(folder, "gateway.yaml");
  writeFileSync(path, file);
  const env = { GATEWAY_FILE: path, APP_KEY: appKey, DATABASE_URL: ":memory:" };
  await withGateway({ cwd: folder, env }, async ({ url }) => {
    assert.equal(await chat(url, appKey), 200);
    const headers = { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" };
    const body = JSON.stringify({ name: "Another" });
    const response = await fetch(`${url}/v1/admin/workspaces`, { method: "POST", headers, body });
    assert.equal(response.status, 409);
    assert.match(await response.text(), /gateway\.yaml \(GATEWAY_FILE\)/);
  });
  for (const [text, message] of [
    [file.replace("demo/echo-1", "other/echo-1"), /Cannot start from .*gateway\.yaml[\s\S]*model_aliases\.fast/],
    [file.replace("keys:", "kyes:"), /workspaces\.default\.kyes is not a known field/],
    ["a: [", /Cannot read .*gateway\.yaml/],
  ] as const) {
    writeFileSync(path, text);
    await assert.rejects(startGatewayProcess({ cwd: folder, env }), message);
  }
});

test("commands that print JSON take --json", async () => {
  const folder = await createUsedFolder();
  const made = await runCommand(["organisations", "create", "--name", "Other", "--json"], { cwd: folder });
  assert.equal(made.code, 0, made.output);
  assert.deepEqual(Object.keys(JSON.parse(made.stdout)), [
    "organisation_id",
    "workspace_id",
    "admin_key",
    "workspace_key",
  ]);
  const { lines } = await answerCommand(["schema"]);
  assert.ok(lines.join("\n").includes('"usage_limit_policies"'));
});

test("import shows a report and changes nothing, writes the file that apply takes, and applies it", async () => {
  const folder = createFolder();
  const path = join(folder, "config.yaml");
  writeFileSync(
    path,
    "model_list: [{ model_name: gpt-4o, litellm_params: { model: openai/gpt-4o, api_key: sk-an-obvious-fake } }]",
  );
  const report = await answerCommand(["import", "litellm", path]);
  assert.equal(report.code, 0, report.problems.join());
  assert.match(
    report.lines.join("\n"),
    /\+ gpt-4o: a model of the provider @openai[\s\S]*in these variables: OPENAI_API_KEY[\s\S]*Nothing is changed/,
  );
  const output = join(folder, "gateway.yaml");
  await answerCommand(["import", "litellm", path, "--output", output]);
  assert.equal(statSync(output).mode & 0o777, 0o600);
  assert.doesNotMatch(readFileSync(output, "utf8"), /obvious-fake/);
  await withGateway({ cwd: folder }, async ({ url }) => {
    const env = { GATEWAY_API_KEY: fakeAdminKey };
    const applied = await runCommand(["import", "litellm", path, "--apply", "--url", url], { cwd: folder, env });
    assert.equal(applied.code, 0, applied.output);
    assert.match(applied.stdout, /Done: 3 records written/);
    const again = await runCommand(["apply", "-f", output, "--plan", "--url", url], { cwd: folder, env });
    assert.equal(again.code, 0, again.output);
  });
  const wrong = await answerCommand(["import", "litellm", join(folder, "none.yaml")]);
  assert.deepEqual([wrong.code, wrong.lines], [1, []]);
});
