import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { Concurrency, readConcurrencyLimits } from "../../src/context/concurrency.ts";
import { defaultPressureMarks, Pressure } from "../../src/context/pressure.ts";
import { readSettings } from "../../src/settings.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  helloBody,
  readJson,
  requestHeaders,
  type TestGateway,
  type TestGatewayOptions,
  upstreamHeaders,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer, type Upstream } from "../support/upstream.ts";
import { handshakeHeaders, startSocketUpstream } from "../support/websocket-upstream.ts";

/** An upstream whose responses stay open until the test ends them. */
interface HeldUpstream extends Upstream {
  readonly held: ServerResponse[];
}

async function startHeld(): Promise<HeldUpstream> {
  const held: ServerResponse[] = [];
  const upstream = await startServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      'data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
    );
    held.push(response);
  });
  return Object.assign(upstream, { held });
}

interface Parts {
  gateway: TestGateway;
  upstream: HeldUpstream;
  /** Opens a stream and resolves at its headers. */
  open(key?: string): Promise<Response>;
  /** Status of a request to the echo provider. */
  ask(key?: string): Promise<number>;
}

async function withParts(concurrency: TestGatewayOptions["concurrency"], run: (parts: Parts) => Promise<void>) {
  const gateway = await createTestGateway({ inFile: true, ...(concurrency && { concurrency }) });
  const upstream = await startHeld();
  try {
    await run({
      gateway,
      upstream,
      open: (key = workspaceKey) =>
        chat(gateway, { ...helloBody, stream: true }, { ...upstreamHeaders(upstream), "x-gateway-api-key": key }),
      ask: async (key = workspaceKey) => {
        const response = await chat(gateway, helloBody, { "x-gateway-api-key": key });
        await response.text();
        return response.status;
      },
    });
  } finally {
    await upstream.close();
    await gateway.close();
  }
}

/** Another key of the first workspace. */
async function createKey(gateway: TestGateway): Promise<string> {
  const body = { name: "Another", scopes: ["completions.write", "logs.list"] };
  const made = call<{ key: string }>(gateway, "POST /api-keys/workspace/service", { key: workspaceKey, body });
  return (await done(made)).key;
}

/** Waits until a request of a key is served again. */
async function untilServed({ ask }: Parts, key?: string): Promise<void> {
  for (let round = 0; round < 100; round++) {
    if ((await ask(key)) === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("The key is not served again");
}

test("a key with the maximum number of open streams gets 503 with Retry-After until one ends", () =>
  withParts({ perKey: 2 }, async (parts) => {
    const { gateway, upstream, open, ask } = parts;
    const streams = [await open(), await open()];
    const refused = await chat(gateway);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    const { error } = await readJson<{ error: { code: string; message: string } }>(refused);
    assert.equal(error.code, "too_many_concurrent_requests");
    assert.match(error.message, /2 requests of this key/);
    assert.equal(await ask(adminKey), 403, "the admin key is another one");

    upstream.held[0]?.end("data: [DONE]\n\n");
    await streams[0]?.text();
    assert.equal(await ask(), 200);
    await streams[1]?.body?.cancel();
    await untilServed(parts);
    const rows = await waitForLogs(gateway, "status=503");
    assert.equal(rows[0]?.error?.code, "too_many_concurrent_requests");
  }));

test("one key's streams leave capacity for the other keys of its workspace", () =>
  withParts({ perKey: 1 }, async ({ gateway, open, ask }) => {
    const other = await createKey(gateway);
    await open();
    assert.equal(await ask(), 503);
    assert.equal(await ask(other), 200);
  }));

test("a workspace takes at most half of the process's capacity, whatever keys it uses", () =>
  withParts({ total: 4, perKey: 10 }, async (parts) => {
    const { gateway, open, ask } = parts;
    const other = await createKey(gateway);
    const theirs = await createOrganisation(await gateway.openFile(), "theirs");
    const streams = [await open(), await open(other)];
    assert.deepEqual([await ask(), await ask(other)], [503, 503]);
    assert.equal(await ask(theirs.workspaceKey), 200);
    await streams[1]?.body?.cancel();
    await untilServed(parts);
  }));

test("a full process refuses every workspace, and still serves /health", () =>
  withParts({ total: 2, perWorkspace: 1 }, async ({ gateway, open, ask }) => {
    const file = await gateway.openFile();
    const [theirs, others] = [await createOrganisation(file, "theirs"), await createOrganisation(file, "others")];
    await Promise.all([open(), open(theirs.workspaceKey)]);
    assert.equal(await ask(others.workspaceKey), 503);
    assert.equal((await call(gateway, "GET /configs", { key: others.adminKey })).status, 503);
    for (const path of ["/health", "/v1/health", "/ready"]) assert.equal((await gateway.fetch(path)).status, 200, path);
  }));

test("refused and failed requests release their slots", () =>
  withParts({ perKey: 1 }, async ({ gateway, ask }) => {
    const broken = [
      () => chat(gateway, "{"),
      () => chat(gateway, { model: 1 }),
      () => chat(gateway, helloBody, { "x-gateway-echo-status": "500" }),
      () => chat(gateway, helloBody, { "x-gateway-config": "none-of-this-name" }),
      () => gateway.fetch("/v1/logs?limit=x", { headers: { "x-gateway-api-key": workspaceKey } }),
      () => gateway.fetch("/v1/configs", { method: "POST", headers: { "x-gateway-api-key": workspaceKey }, body: "{" }),
      () => gateway.fetch("/v1/none", { headers: { "x-gateway-api-key": workspaceKey } }),
    ];
    for (const [index, send] of broken.entries()) {
      await (await send()).text();
      assert.equal(await ask(), 200, `request ${index}`);
    }
  }));

test("a stream the host cannot send releases its slot and ends its upstream call", () =>
  withParts({ perKey: 1 }, async (parts) => {
    const { gateway, upstream } = parts;
    const headers = requestHeaders(upstreamHeaders(upstream));
    const body = JSON.stringify({ ...helloBody, stream: true });
    const failed = await gateway.fetch(
      "/v1/chat/completions",
      { method: "POST", headers, body },
      {
        carryBody() {
          throw new TypeError("Cannot carry this body");
        },
      },
    );
    assert.equal(failed.status, 500);
    await untilServed(parts);
    const isOver = () => upstream.held[0]?.destroyed === true || upstream.held[0]?.closed === true;
    for (let round = 0; round < 100 && !isOver(); round++) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(isOver(), "the upstream call ended");
  }));

test("a realtime session counts until it is over", async () => {
  const upstream = await startSocketUpstream({});
  await withParts({ perKey: 1 }, async (parts) => {
    const { gateway, ask } = parts;
    let leave = () => {};
    const headers = {
      ...handshakeHeaders,
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
    };
    await gateway.fetch(
      "/v1/realtime?model=gpt-realtime",
      { headers },
      {
        upgrade(acceptance) {
          acceptance.open({
            bufferedBytes: 0,
            listen: (listener) => {
              leave = () => listener.close({ code: 1000, reason: "" });
            },
            send: () => {},
            close: () => {},
            terminate: () => {},
            pause: () => {},
            resume: () => {},
          });
          return new Response(null);
        },
      },
    );
    assert.equal(await ask(), 503);
    leave();
    await untilServed(parts);
  });
  await upstream.close();
});

test("a file counts until it was read", () =>
  withParts({ perKey: 1 }, async (parts) => {
    const { gateway, ask } = parts;
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new Blob(["x".repeat(3_000_000)]), "a.jsonl");
    const headers = { "x-gateway-api-key": workspaceKey };
    const made = await gateway.fetch("/v1/files", { method: "POST", headers, body: form });
    const { id } = await readJson<{ id: string }>(made);
    const content = await gateway.fetch(`/v1/files/${id}/content`, { headers });
    assert.equal(await ask(), 503);
    assert.equal((await content.text()).length, 3_000_000);
    assert.equal(await ask(), 200);
  }));

test("readSettings() reads the limits of concurrent requests and refuses more than half for a workspace", () => {
  const read = (environment: Record<string, string>) => readSettings(environment).gateway.concurrency;
  assert.deepEqual(read({}), {});
  const all = { MAX_CONCURRENT_REQUESTS: "100", MAX_CONCURRENT_PER_WORKSPACE: "50", MAX_CONCURRENT_PER_KEY: "7" };
  assert.deepEqual(read(all), { total: 100, perWorkspace: 50, perKey: 7 });
  assert.throws(() => read({ ...all, MAX_CONCURRENT_PER_WORKSPACE: "51" }), /MAX_CONCURRENT_PER_WORKSPACE/);
  assert.throws(() => read({ MAX_CONCURRENT_PER_WORKSPACE: "2001" }), /at most 2000/);
  for (const value of ["0", "-1", "x", "1.5"])
    assert.throws(() => read({ MAX_CONCURRENT_PER_KEY: value }), /MAX_CONCURRENT_PER_KEY/);
});

/** Requests of workspaces of organisations, counted without a gateway. */
function createCounter(total: number) {
  const concurrency = new Concurrency(
    readConcurrencyLimits({ total, perKey: total }),
    new Pressure({ marks: defaultPressureMarks, residentBytes: undefined, monotonic: () => 0 }),
  );
  const request = (organisationId: string, workspaceId: string | null) => ({
    principal: { keyId: `key of ${workspaceId ?? organisationId}`, organisationId, workspaceId },
    isCounted: false,
  });
  return {
    concurrency,
    /** How many of so many requests may run at once, beside those that run. */
    fill(organisationId: string, workspaceId: string | null, count: number) {
      const entered = [];
      for (let index = 0; index < count; index++) {
        const one = request(organisationId, workspaceId);
        try {
          concurrency.enter(one);
          entered.push(one);
        } catch {
          break;
        }
      }
      return entered;
    },
  };
}

test("workspaces that take all they may leave room for one that runs little, and for the keys of its organisation", () => {
  const { concurrency, fill } = createCounter(160);
  const held = [...fill("one", "a", 200), ...fill("one", "b", 200)];
  assert.equal(held.length, 140);
  assert.equal(fill("one", "c", 200).length, 5);
  assert.equal(fill("one", null, 200).length, 5);
  assert.equal(fill("one", "d", 1).length, 0, "what is left is for other organisations");
  assert.equal(fill("two", "e", 200).length, 5);
  assert.equal(fill("two", null, 200).length, 5);
  assert.equal(fill("three", "f", 1).length, 0, "all of it runs");
  for (const request of held) concurrency.leave(request);
  assert.equal(fill("three", "f", 200).length, 80);
});

test("a small bound is for whoever comes first", () => {
  const { fill } = createCounter(4);
  assert.deepEqual([fill("one", "a", 4).length, fill("one", "b", 4).length, fill("two", "c", 1).length], [2, 2, 0]);
});
