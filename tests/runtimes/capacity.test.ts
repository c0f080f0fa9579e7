import assert from "node:assert/strict";
import { type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import process from "node:process";
import { test } from "node:test";
import { compileGateway } from "../support/binary.ts";
import {
  fakeWorkspaceKey,
  type GatewayProcessOptions,
  runtime,
  runtimeCommand,
  waitFor,
  withGateway,
} from "../support/process.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

const streams = 1_000;

/** What a chat request needs besides its key. */
function headersTo(upstream: Upstream, key: string): Record<string, string> {
  return {
    "content-type": "application/json",
    "x-gateway-api-key": key,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": `${upstream.url}/v1`,
    authorization: "Bearer upstream-credential",
  };
}

/** Opens a stream and resolves at its first byte. The test's own `fetch` may have the very bound that is tested. */
function openStream(url: string, headers: Record<string, string>, opened: Set<ClientRequest>): Promise<number> {
  const body = JSON.stringify({ model: "slow", stream: true, messages: [{ role: "user", content: "Hello" }] });
  return new Promise((resolve, reject) => {
    const request = openRequest(`${url}/v1/chat/completions`, { method: "POST", headers, agent: false });
    opened.add(request);
    request.on("error", reject);
    request.on("response", (response: IncomingMessage) => {
      response.on("error", () => {});
      response.once("data", () => resolve(response.statusCode ?? 0));
    });
    request.end(body);
  });
}

/** A chat of another key at another host; undefined when it did not answer in time. */
async function chat(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const body = JSON.stringify({ model: "fast", messages: [{ role: "user", content: "Hello" }] });
  const init = { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) };
  const response = await fetch(`${url}/v1/chat/completions`, init).catch(() => undefined);
  await response?.text();
  return response?.status;
}

/** Another key of the workspace. */
async function createKey(url: string): Promise<string> {
  const made = await fetch(`${url}/v1/api-keys/workspace/service`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-gateway-api-key": fakeWorkspaceKey },
    body: JSON.stringify({ name: "Another", scopes: ["completions.write"] }),
  });
  const { key } = await made.json();
  return key;
}

/** Holds as many streams as one key may and calls another host by another key. */
async function holdStreams(options: GatewayProcessOptions): Promise<void> {
  const slow = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    );
  });
  const fast = await startServer((request, response) => {
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [] }));
    });
  });
  const opened = new Set<ClientRequest>();
  try {
    await withGateway(options, async (gateway) => {
      const { url } = gateway;
      const other = await createKey(url);
      const statuses: number[] = [];
      for (let index = 0; index < streams; index++) {
        openStream(url, headersTo(slow, fakeWorkspaceKey), opened).then(
          (status) => statuses.push(status),
          () => {},
        );
      }
      await waitFor("all streams to be open", 40_000, () => statuses.length === streams);
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.equal(await chat(url, headersTo(fast, other)), 200, gateway.output());
      for (const request of opened) request.on("error", () => {}).destroy();
    });
  } finally {
    for (const request of opened) request.on("error", () => {}).destroy();
    await Promise.all([slow.close(), fast.close()]);
  }
}

test(`${streams} open streams of one key leave another key's calls alone, on mod.ts`, () => holdStreams({}));

test(`${streams} open streams of one key leave another key's calls alone, in a server of one's own`, () =>
  holdStreams({ command: runtimeCommand("tests/support/embedded.ts") }));

// only Bun compiles
if (runtime === "bun" && process.platform !== "win32") {
  test(`${streams} open streams of one key leave another key's calls alone, on the compiled program`, async () => {
    await holdStreams({ command: [await compileGateway()] });
  });
}
