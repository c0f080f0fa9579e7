import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import process from "node:process";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { fakeWorkspaceKey, type GatewayProcess, startAndFail, withGateway, within } from "../support/process.ts";
import { ask } from "../support/stopping.ts";

const skip = process.platform !== "linux" && "only Linux lets processes share a port";
const key = fakeWorkspaceKey;

/** Processes that a process has started. */
function childrenOf(pid: number): number[] {
  const listed = execFileSync("ps", ["-e", "-o", "pid=,ppid="], { encoding: "utf8" });
  const pairs = listed.split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  return pairs.flatMap(([child, parent]) => (parent === pid && child !== undefined ? [child] : []));
}

const answers = async (gateway: GatewayProcess) => (await ask(gateway, key)).isWhole;

test("WORKERS starts processes that serve one port; one that is killed is replaced, and all end with the first", {
  skip,
}, async () => {
  await withGateway({ env: { WORKERS: "2" } }, async (gateway) => {
    const children = childrenOf(gateway.pid);
    assert.ok(children.length >= 2, gateway.output());
    assert.equal(await answers(gateway), true, gateway.output());
    for (const child of children) process.kill(child, "SIGKILL");
    await eventually("new processes", async () => {
      const now = childrenOf(gateway.pid);
      return now.length === children.length && now.every((child) => !children.includes(child));
    });
    await eventually("an answer", () => answers(gateway));
    assert.deepEqual(await gateway.stop(), { code: 0, signal: null }, gateway.output());
  });
});

test("a start that fails in a worker ends all of them with its reason", { skip }, async () => {
  await withGateway({}, async (other) => {
    const { code, output } = await startAndFail({
      env: { WORKERS: "2", SERVER_MODE: "mcp", MCP_PORT: new URL(other.url).port },
    });
    assert.equal(code, 1, output);
    assert.match(output, /Cannot listen on [^ ]*: another process does/);
  });
});

test("processes that serve end when the one that started them is killed", { skip }, async () => {
  await withGateway({ env: { WORKERS: "2", DRAIN_SECONDS: "1" } }, async (gateway) => {
    const children = childrenOf(gateway.pid);
    await gateway.stop("SIGKILL");
    const isAlive = (pid: number) => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await within(
      "the end of all",
      30_000,
      eventually("their end", async () => !children.some(isAlive)),
    );
  });
});

test("a database in memory is not served by several processes", { skip }, async () => {
  const { code, output } = await startAndFail({ env: { WORKERS: "2", DATABASE_URL: ":memory:" } });
  assert.equal(code, 1);
  assert.match(output, /^Cannot use WORKERS: a database in memory belongs to one process/m);
});
