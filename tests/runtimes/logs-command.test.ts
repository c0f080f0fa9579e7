import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import process from "node:process";
import { after, before, test } from "node:test";
import { answerCommand } from "../../src/serve/cli.ts";
import { createFolder, type GatewayProcess, runtimeCommand, startGatewayProcess } from "../support/process.ts";

let folder: string;
let port: number;
let gateway: GatewayProcess;

/** A port that is free now: the gateway starts again at its address. */
function findPort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

/** Deno takes its port from the command line. */
const start = () => {
  const command = runtimeCommand("mod.ts", "serve").map((part, index, all) =>
    all[index - 1] === "--port" ? String(port) : part,
  );
  return startGatewayProcess({ cwd: folder, env: { PORT: String(port) }, command });
};
before(async () => {
  folder = createFolder();
  port = await findPort();
  gateway = await start();
});
after(() => gateway?.stop("SIGKILL"));

async function send(model: string, headers: Record<string, string> = {}): Promise<void> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-provider": "echo",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
}

/** Follows the log in another process. */
function follow(...args: string[]) {
  const [program = "", ...before] = runtimeCommand("mod.ts");
  const child = spawn(program, [...before, "logs", "--follow", "--url", gateway.url, ...args], {
    cwd: folder,
    env: { ...process.env, GATEWAY_API_KEY: gateway.workspaceKey },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return {
    lines: () => output.split("\n").filter((line) => line !== ""),
    async until(isThere: (lines: string[]) => boolean): Promise<string[]> {
      const end = performance.now() + 30_000;
      for (;;) {
        const lines = output.split("\n").filter((line) => line !== "");
        if (isThere(lines)) return lines;
        if (performance.now() > end) throw new Error(`Waited 30 seconds: ${output}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async stop() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Sends requests until a follower shows one: it may have connected later than the first. */
async function untilConnected(follower: ReturnType<typeof follow>, model: string): Promise<void> {
  const timer = setInterval(() => void send(model), 100);
  await follower.until((lines) => lines.length > 0).finally(() => clearInterval(timer));
}

test("logs shows the newest rows, the newest last, and takes filters", async () => {
  await send("model-a");
  await send("model-b\u001b[31m", { "x-gateway-metadata": '{"team":"red"}' });
  await send("model-a", { "x-gateway-echo-status": "429" });
  const list = async (...args: string[]) => {
    const shown: string[] = [];
    const key = ["--url", gateway.url, "--key", gateway.workspaceKey];
    const { code, problems } = await answerCommand(["logs", ...key, ...args], (line) => shown.push(line));
    assert.deepEqual([code, problems], [0, []]);
    return shown;
  };
  const end = performance.now() + 10_000;
  while ((await list()).length < 3 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 50));
  const lines = await list();
  assert.equal(lines.length, 3);
  assert.match(
    lines[0] ?? "",
    /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}200 {2}chat {2}echo\/model-a {2}\d+ ms {2}\d+ tokens {2}[0-9A-Z]{26}$/,
  );
  assert.match(lines[1] ?? "", /echo\/model-b\?\[31m/);
  assert.match(lines[2] ?? "", / 429 .*: /);
  assert.equal((await list("--status", "429", "--model", "model-a")).length, 1);
  assert.equal((await list("--metadata", "team=red")).length, 1);
  assert.equal((await list("--metadata", "team=blue")).length, 0);
  const [json = ""] = await list("--json", "--limit", "1");
  assert.equal(JSON.parse(json).status, 429);
});

for (const [what, args, code] of [
  ["without a key", ["logs", "--key", ""], 2],
  ["with an address that is none", ["logs", "--key", "k", "--url", "nowhere"], 2],
  ["with metadata that is no pair", ["logs", "--key", "k", "--metadata", "team"], 2],
  ["with an unknown filter", ["logs", "--key", "k", "--colour", "red"], 2],
  ["by a gateway that cannot be reached", ["logs", "--key", "k", "--url", "http://127.0.0.1:1"], 1],
] as const) {
  test(`logs ${what} ends with ${code}`, async () => {
    const answer = await answerCommand(args);
    assert.equal(answer.code, code, answer.problems.join("\n"));
  });
}

test("logs ends with 1 and the reason where the gateway refuses", async () => {
  for (const args of [
    ["--status", "abc"],
    ["--follow", "--limit", "2"],
    ["--key", "wrong-key-0000000000"],
  ]) {
    const answer = await answerCommand(["logs", "--key", gateway.workspaceKey, "--url", gateway.url, ...args]);
    assert.equal(answer.code, 1);
    assert.match(answer.problems.join("\n"), /refused with status 40[01]/);
  }
});

test("logs --follow shows rows as requests end, and goes on after a restart of the gateway without losing one", async () => {
  const follower = follow("--json", "--model", "model-f");
  await untilConnected(follower, "model-f");
  await send("model-f", { "x-gateway-trace-id": "before" });
  await send("model-other");
  const tracesOf = (lines: string[]) => lines.map((line): string => JSON.parse(line).trace_id);
  await follower.until((lines) => tracesOf(lines).includes("before"));
  await gateway.stop();
  gateway = await start();
  for (let index = 0; index < 5; index++) await send("model-f", { "x-gateway-trace-id": `after-${index}` });
  const lines = await follower.until((shown) => tracesOf(shown).includes("after-4"));
  await follower.stop();
  const traces = tracesOf(lines);
  assert.equal(new Set(traces).size, traces.length);
  assert.deepEqual(traces.slice(traces.indexOf("before")), [
    "before",
    ...Array.from({ length: 5 }, (_, index) => `after-${index}`),
  ]);
});
