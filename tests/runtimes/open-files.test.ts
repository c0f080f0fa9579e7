import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import process from "node:process";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { type GatewayProcess, runtimeCommand, withGateway } from "../support/process.ts";
import { startServer } from "../support/upstream.ts";

const skip = process.platform !== "linux" && "the limit is set as Linux does";
/** Files and connections that the gateway may have open. */
const limit = 160;

/** So many looks in a row must find as many files open. */
const equalLooks = 5;
const lookEveryMs = 100;

/** Requests whose own connections fit into what is left, but not those to the provider too. */
async function countRequests({ pid }: GatewayProcess): Promise<number> {
  const look = () => readdirSync(`/proc/${pid}/fd`).length;
  let open = look();
  // connections of earlier requests are still closing
  for (let equal = 0; equal < equalLooks; ) {
    await new Promise((resume) => setTimeout(resume, lookEveryMs));
    const now = look();
    equal = now === open ? equal + 1 : 0;
    open = now;
  }
  return Math.floor((limit - open) * 0.6);
}

const answer = JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices: [] });

async function chat({ url, workspaceKey }: GatewayProcess, host: string) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${host}/v1`,
      authorization: "Bearer fake",
      "content-type": "application/json",
      connection: "close",
    },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] }),
  });
  const text = await response.text();
  return {
    status: response.status,
    code: /"code":"(\w+)"/.exec(text)?.[1],
    retryAfter: response.headers.get("retry-after"),
  };
}

test("without file descriptors, requests are refused with 503 and no provider is blamed", {
  skip,
  timeout: 120_000,
}, async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let held: Promise<void> = Promise.resolve();
  const upstream = await startServer((request, response) => {
    request.resume();
    request.on("end", () => {
      void held.then(() => {
        response.writeHead(200, { "content-type": "application/json", connection: "close" });
        response.end(answer);
      });
    });
  });
  const command = ["sh", "-c", `ulimit -n ${limit}; exec "$@"`, "sh", ...runtimeCommand("mod.ts", "serve")];
  try {
    await withGateway({ command }, async (gateway) => {
      assert.match(gateway.output(), /The process may have 160 files open.*MAX_CONCURRENT_REQUESTS.*ulimit -n/);
      // what is loaded with the first request is open from then on
      assert.equal((await chat(gateway, upstream.url)).status, 200);
      held = released;
      const asked = Array.from({ length: await countRequests(gateway) }, () => chat(gateway, upstream.url));
      const first = await Promise.race(asked);
      assert.deepEqual([first.status, first.code, first.retryAfter], [503, "no_file_descriptors", "1"]);
      release();
      const ended = await Promise.all(asked);
      const kinds = new Set(ended.map(({ status, code }) => (status === 200 ? "200" : `${status} ${code}`)));
      for (const kind of kinds) assert.ok(["200", "503 no_file_descriptors"].includes(kind), kind);
      assert.match(gateway.output(), /No file descriptors are left: 1 calls failed and were answered with 503/);
      await eventually("an answer", async () => (await chat(gateway, upstream.url)).status === 200);
    });
  } finally {
    release();
    await upstream.close();
  }
});
