import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestGateway, helloBody, requestHeaders, waitForLog } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

const gateway = await createTestGateway({ random: () => 0 });
const answers: number[] = [];
const startUpstream = () =>
  startServer((_request, response) => {
    const status = answers.shift() ?? 200;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(status === 200 ? '{"id":"1","object":"chat.completion","choices":[]}' : '{"error":{"message":"no"}}');
  });
// separate, so that each has a retry budget
const upstreams = await Promise.all([startUpstream(), startUpstream()]);
after(async () => {
  await gateway.close();
  for (const upstream of upstreams) await upstream.close();
});

/** Sends a chat, or reads a provider path, with a config and returns its log row. */
async function rowOf(config: object, path?: string) {
  const headers = requestHeaders({ "x-gateway-config": JSON.stringify(config) });
  const chat = { method: "POST", headers, body: JSON.stringify(helloBody) };
  const response = await gateway.fetch(path ?? "/v1/chat/completions", path === undefined ? chat : { headers });
  await response.text();
  const row = await waitForLog(gateway, response.headers.get("x-gateway-trace-id") ?? "");
  return row;
}

const [target = {}, other = {}] = upstreams.map(({ url }) => ({
  provider: "openai",
  api_key: "fake",
  custom_host: url,
}));

test("a log row lists each call of a retried request, with status and times", async () => {
  for (const [path, at] of [
    [undefined, target],
    ["/v1/some/path", other],
  ] as const) {
    answers.push(500, 503, 200);
    const row = await rowOf({ ...at, retry: { attempts: 2 } }, path);
    assert.equal(row.upstream_calls, 3);
    const calls = row.calls ?? [];
    assert.deepEqual(
      calls.map(({ provider, status, error, url }) => [provider, status, error, url]),
      [500, 503, 200].map((status) => ["openai", status, null, row.upstream_url]),
    );
    for (const [index, { started_ms, first_byte_ms, duration_ms }] of calls.entries()) {
      assert.ok(started_ms >= (calls[index - 1]?.started_ms ?? 0), "calls stand in the order they began");
      assert.ok(first_byte_ms !== null && first_byte_ms >= started_ms);
      assert.ok(duration_ms !== null && duration_ms >= 0);
    }
  }
});

test("a log row names the failure of a call without a response", async () => {
  const gone = await startServer(() => {});
  await gone.close();
  const unreachable = { ...target, custom_host: gone.url };
  const row = await rowOf({ strategy: { mode: "fallback" }, targets: [unreachable, target] });
  assert.deepEqual(
    row.calls?.map(({ status, error }) => [status, error]),
    [
      [null, "upstream_unreachable"],
      [200, null],
    ],
  );
  assert.ok(row.calls?.[0]?.url.startsWith(gone.url));
});

test("a log row of a single call has no list of calls", async () => {
  const row = await rowOf(target);
  assert.deepEqual([row.upstream_calls, row.calls], [1, undefined]);
});
