import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { assertClean, noConsole, openBrowser, signOut } from "../browser/support.ts";
import { compileGateway } from "../support/binary.ts";
import { requireCountedCut } from "../support/cut-stream.ts";
import {
  createFolder,
  type GatewayProcess,
  runCommand,
  runtime,
  startAndFail,
  waitFor,
  withGateway,
} from "../support/process.ts";
import { hasRedis, startRedis } from "../support/redis.ts";
import { repository } from "../support/source-files.ts";
import { ask, listDatabaseFiles } from "../support/stopping.ts";

/** Runs the command the banner shows, in the folder it is for. */
function runShell(command: string, cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile("bash", ["-c", command], { cwd, env: { PATH: process.env.PATH } }, (error, stdout) =>
      error ? reject(error) : resolve(stdout),
    );
  });
}

/** Requires that the program has the console inside: its page, and a script that the page loads, compressed. */
async function requireConsole({ url, output }: { url: string; output(): string }) {
  assert.match(output(), new RegExp(`^Console: ${url}/console$`, "m"));
  const page = await fetch(`${url}/console/logs`);
  const text = await page.text();
  if (!existsSync(join(repository, "dist/console/index.html"))) return assert.equal(page.status, 503, text);
  assert.equal(page.status, 200);
  const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(text)?.[1];
  const loaded = await fetch(url + script, { headers: { "accept-encoding": "gzip" } });
  assert.equal(loaded.headers.get("content-encoding"), "gzip");
  assert.ok((await loaded.text()).length > 1_000);
}

/** Signs in with a key in a browser, opens the only row of the log, and signs out. */
async function walkConsole(gateway: GatewayProcess, key: string): Promise<void> {
  const browser = await openBrowser(gateway);
  try {
    const one = await browser.signIn(key);
    const { page } = one;
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Logs" }).click();
    await page.locator("[data-index='0']").click();
    const shown = page.locator("article", { hasText: "Hello" }).first();
    await shown.waitFor();
    // the drawer lies over the menu of the account
    await page.keyboard.press("Escape");
    await shown.waitFor({ state: "hidden" });
    await signOut(one);
    assertClean(one);
  } finally {
    await browser.close();
  }
}

/** The key of the workspace that the first start wrote to a file. */
function readFirstKey(folder: string): string {
  const [, key = ""] = /^workspace key: (\S+)$/m.exec(readFileSync(join(folder, "data/first-keys"), "utf8")) ?? [];
  return key;
}

/** Requires that the program says in one line that it needs a temporary folder. */
async function requireNamedFolder(program: string): Promise<void> {
  const missing = join(createFolder(), "missing");
  const { code, output } = await startAndFail({ command: [program], env: { TMPDIR: missing } });
  assert.equal(code, 1);
  assert.match(output, /^Cannot write the temporary folder .+missing: .+ set TMPDIR to .+\n$/);
}

/** Requires that signals to the group, repeated, cut no stream, and that one file is left. */
async function requireWholeStream(program: string): Promise<void> {
  await withGateway({ command: [program], leadsGroup: true }, async (gateway) => {
    const stream = ask(gateway, gateway.workspaceKey, { streamMs: 2_500 });
    await new Promise((resolve) => setTimeout(resolve, 500));
    process.kill(-gateway.pid, "SIGTERM");
    process.kill(gateway.pid, "SIGTERM");
    const { isWhole, problem } = await stream;
    assert.deepEqual([isWhole, problem], [true, ""]);
    assert.deepEqual(await gateway.ended, { code: 0, signal: null });
    assert.deepEqual(listDatabaseFiles(gateway.folder), ["gateway.db"]);
  });
}

// only Bun compiles
if (runtime === "bun" && process.platform !== "win32") {
  test("the compiled program serves from an empty folder, keeps rows, and ends in order", async () => {
    const program = await compileGateway();
    const folder = createFolder();
    const keys = { BOOTSTRAP_WORKSPACE_KEY: undefined, BOOTSTRAP_ADMIN_KEY: undefined };
    await withGateway({ command: [program], cwd: folder, env: keys }, async (gateway) => {
      await waitFor("the whole banner", 5_000, () => /\n {2}-d .+\n/.test(gateway.output()));
      const [command = ""] = /^curl (?:.+\\\n)+.+$/m.exec(gateway.output()) ?? [];
      const answer = JSON.parse(await runShell(command, folder));
      assert.equal(answer.choices[0].message.content, "Hello");
      await requireConsole(gateway);
      if (!noConsole) await walkConsole(gateway, readFirstKey(folder));
      assert.deepEqual(await gateway.stop(), { code: 0, signal: null });
    });
    assert.deepEqual(readdirSync(folder), ["data"]);
    const rotated = await runCommand(["keys", "rotate"], { command: [program], cwd: folder });
    assert.deepEqual([rotated.code, rotated.stdout.split("\n")[0]], [0, "v2 wraps 1 record, 1 of them re-wrapped now"]);
    const key = readFirstKey(folder);
    const redis = hasRedis ? await startRedis() : undefined;
    await withGateway({ command: [program], cwd: folder, env: { ...keys, REDIS_URL: redis?.url } }, async (gateway) => {
      const nodes = await redis?.send("KEYS", "gateway:*:nodes");
      if (redis) assert.equal((nodes as unknown[]).length, 1, gateway.output()); // as the command says
      const logs = await fetch(`${gateway.url}/v1/logs`, { headers: { "x-gateway-api-key": key } });
      assert.equal((await logs.json()).data.length, 1, gateway.output());
      await requireCountedCut(gateway, key);
    });
    await redis?.kill();
    await requireNamedFolder(program);
    await requireWholeStream(program);
  });
}
