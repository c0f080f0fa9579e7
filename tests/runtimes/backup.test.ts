import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createFolder, type GatewayProcess, runCommand, withGateway } from "../support/process.ts";

function chat({ url, workspaceKey }: GatewayProcess): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": workspaceKey, "x-gateway-provider": "echo", "content-type": "application/json" },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
}

async function countRows({ url, workspaceKey }: GatewayProcess): Promise<number> {
  const response = await fetch(`${url}/v1/logs`, { headers: { "x-gateway-api-key": workspaceKey } });
  return (await response.json()).data.length;
}

test("a backup of a gateway that serves, restored elsewhere, serves its keys and has its log", async () => {
  const from = createFolder();
  const backup = join(createFolder(), "backup");
  await withGateway({ cwd: from }, async (gateway) => {
    assert.equal((await chat(gateway)).status, 200);
    while ((await countRows(gateway)) < 1) await new Promise((resolve) => setTimeout(resolve, 50));
    writeFileSync(join(from, "data/gateway.db-limits-1-00000000-1"), "{}\n");
    const made = await runCommand(["backup", backup], { cwd: from });
    assert.equal(made.code, 0, made.output);
    assert.match(made.stdout, /Store the master keys \(v1 of .*master\.keys\) elsewhere/);
    const again = await runCommand(["backup", backup], { cwd: from });
    assert.match(again.output, /Cannot back up to .*: it is not empty/);
    const over = await runCommand(["restore", backup, "--replace"], { cwd: from });
    assert.match(over.output, /another process serves it/);
  });
  const names = readdirSync(backup);
  for (const name of ["gateway.db", "gateway.db-limits-1-00000000-1", "manifest.json"]) assert.ok(names.includes(name));
  assert.ok(!readdirSync(backup).some((name) => name.includes("master")));
  for (const name of ["gateway.db", "manifest.json"]) assert.equal(statSync(join(backup, name)).mode & 0o077, 0);

  const to = createFolder();
  mkdirSync(join(to, "data"));
  const run = (...args: string[]) => runCommand(args, { cwd: to });
  assert.match((await run("restore", backup)).output, /without the master keys \(v1\): put .*master\.keys back/);
  copyFileSync(join(from, "data/master.keys"), join(to, "data/master.keys"));
  const restored = await run("restore", backup);
  assert.equal(restored.code, 0, restored.output);
  assert.match((await run("restore", backup)).output, /exists; with --replace/);
  const replaced = await run("restore", backup, "--replace");
  assert.ok(JSON.parse(replaced.stdout).replaced.length >= 2, replaced.output);
  assert.ok(readdirSync(join(to, "data")).includes("gateway.db-limits-1-00000000-1"));
  await withGateway({ cwd: to }, async (gateway) => {
    assert.equal(await countRows(gateway), 1);
    assert.equal((await chat(gateway)).status, 200);
  });
  appendFileSync(join(backup, "gateway.db"), "x");
  assert.match((await run("restore", backup, "--replace")).output, /gateway\.db was changed/);
  const { files, ...manifest } = JSON.parse(readFileSync(join(backup, "manifest.json"), "utf8"));
  writeFileSync(join(backup, "manifest.json"), JSON.stringify(manifest));
  assert.ok(files.length > 0);
  assert.match((await run("restore", backup, "--replace")).output, /is not that of a backup/);
});
