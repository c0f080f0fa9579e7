import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import process from "node:process";
import { after, test } from "node:test";
import { listenForProbes } from "../../src/serve/health-thread.ts";
import { eventually } from "../support/eventually.ts";
import { createTestGateway } from "../support/gateway.ts";
import { runtime } from "../support/process.ts";

const cleanUps: (() => unknown)[] = [];
after(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

async function start(stalledMs?: number) {
  const { gateway, close } = await createTestGateway();
  cleanUps.push(close);
  const ready = async () => {
    const response = await gateway.fetch(new Request("http://gateway.test/ready"));
    return { status: response.status, body: await response.text() };
  };
  const listener = await listenForProbes({ hostname: "127.0.0.1", port: 0, ready, stalledMs });
  cleanUps.push(listener.close);
  return { gateway, listener, url: `http://127.0.0.1:${listener.port}` };
}

/** What another process is answered while the event loop of this one is held: by waiting for that process. */
function askWhileHeld(urls: readonly string[], afterMs = 0): { status: number; text: string; ms: number }[] {
  const code = `(async () => {
    await new Promise((resolve) => setTimeout(resolve, ${afterMs}));
    const answers = [];
    for (const url of ${JSON.stringify(urls)}) {
      const begun = performance.now();
      const response = await fetch(url);
      answers.push({ status: response.status, text: await response.text(), ms: performance.now() - begun });
    }
    console.log(JSON.stringify(answers));
  })()`;
  const args = runtime === "deno" ? ["eval", code] : ["-e", code];
  const { PATH = "", DENO_DIR, HOME } = process.env;
  const env = { PATH, NO_COLOR: "1", ...(DENO_DIR && { DENO_DIR }), ...(HOME && { HOME }) };
  const { stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8", timeout: 60_000 });
  assert.ok(stdout, stderr);
  return JSON.parse(stdout);
}

test("the port for probes answers while the event loop is held for a second", async () => {
  const { url } = await start();
  const [first, health, ready, other] = askWhileHeld(
    [`${url}/health`, `${url}/health`, `${url}/ready`, `${url}/v1/models`],
    1_000,
  );
  assert.deepEqual([first?.status, health?.status, ready?.status, other?.status], [200, 200, 200, 404]);
  assert.match(health?.text ?? "", /"Server is healthy"/);
  assert.match(ready?.text ?? "", /"dependencies":\{"database":"ok"/);
  console.log(`# /health in ${health?.ms.toFixed(1)} ms, the first with its connection in ${first?.ms.toFixed(1)} ms`);
});

test("a process whose event loop is held for too long is no longer healthy, and is again when it goes on", async () => {
  const { url } = await start(500);
  const [held] = askWhileHeld([`${url}/health`], 1_000);
  assert.deepEqual([held?.status, /"stalled"/.test(held?.text ?? "")], [503, true]);
  await eventually("a healthy process", async () => (await fetch(`${url}/health`)).status === 200);
});

test("the port for probes follows a gateway that stops", async () => {
  const { gateway, url } = await start();
  assert.equal((await fetch(`${url}/ready`)).status, 200);
  await gateway.drain(0);
  await eventually("a gateway that is not ready", async () => (await fetch(`${url}/ready`)).status === 503);
  assert.equal((await fetch(`${url}/health`, { method: "HEAD" })).status, 200);
});

test("a taken port for probes is refused by its name", async () => {
  const { listener } = await start();
  const ready = async () => ({ status: 200, body: "{}" });
  await assert.rejects(
    listenForProbes({ hostname: "127.0.0.1", port: listener.port, ready }),
    /Cannot listen on .*HEALTH_PORT/,
  );
});
