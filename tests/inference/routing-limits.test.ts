import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { type Fault, type FaultyUpstream, faultOf, startFaultyUpstream, success } from "../support/faults.ts";
import { chat, createTestClock, createTestGateway, requestHeaders } from "../support/gateway.ts";
import { ask, configHeader, logOf, type RoutedAnswer, startRouted, targetOf } from "../support/routed.ts";
import { eventually } from "../support/upstream.ts";

const routed = await startRouted(6);
const { gateway, upstreams } = routed;
const [a, b] = upstreams as [FaultyUpstream, FaultyUpstream]; // there are six
beforeEach(() => routed.reset());
after(() => routed.close());

const second = "config.targets[1]";
const stall = faultOf("stall before headers");
const stream = { stream: true };

/** A response after some time. */
function late(ms: number, fault: Fault = success): Fault {
  return { ...fault, serve: (response, streamed) => setTimeout(() => fault.serve(response, streamed), ms) };
}

const fallback = (more: object, ofA: object = {}, ofB: object = {}) => ({
  strategy: { mode: "fallback" },
  targets: [targetOf(a, ofA), targetOf(b, ofB)],
  ...more,
});

/** The response to a request, and how often each of two upstreams was called. */
function shown({ status, label, retries }: RoutedAnswer): unknown[] {
  return [status, label, retries, a.calls.length, b.calls.length];
}

for (const [name, config, headers, wanted] of [
  [
    "of the root",
    () => fallback({ request_timeout: 150 }, {}, { request_timeout: 20_000 }),
    {},
    [200, second, "0", 1, 1],
  ],
  [
    "of the target before that of the root",
    () => fallback({ request_timeout: 60_000 }, { request_timeout: 150 }),
    {},
    [200, second, "0", 1, 1],
  ],
  [
    "of the header before that of the config",
    () => fallback({ request_timeout: 60_000 }),
    { "x-gateway-request-timeout": "200" },
    [200, second, "0", 1, 1],
  ],
  [
    "for each try",
    () => fallback({ retry: { attempts: 2, on_status_codes: [408] } }, { request_timeout: 150 }),
    {},
    [200, second, "0", 3, 1],
  ],
] as const) {
  test(`a request timeout ${name} ends a call with 408`, async () => {
    a.script(() => stall);
    const answer = await ask(gateway, { config: config(), headers });
    assert.deepEqual(shown(answer), wanted);
    const row = await logOf(gateway, answer);
    assert.equal(row.attempts?.[0]?.status, 408);
    assert.equal(row.upstream_calls, a.calls.length + b.calls.length);
    await eventually(() => a.sockets.size === 0, "the calls that were given up are closed");
  });
}

for (const [name, scriptA, more, calls] of [
  ["during a call", stall, {}, 1],
  ["during a call that would be retried", stall, { retry: { attempts: 5, on_status_codes: [408] } }, 1],
  ["instead of a pause that takes longer", faultOf("500"), { retry: { attempts: 3 } }, 1],
] as const) {
  test(`a total timeout ends a request ${name}`, async () => {
    a.script(() => scriptA);
    b.script(() => stall);
    routed.chance = 0.9;
    const started = performance.now();
    const answer = await ask(gateway, { config: fallback({ total_timeout: 800, ...more }) });
    const took = performance.now() - started;
    assert.equal(answer.status, 408);
    assert.match(answer.message, /timeout of the whole request: 800ms/);
    assert.equal(a.calls.length, calls);
    assert.ok(took > 790 && took < 10_000, `${took} ms`);
    assert.equal((await logOf(gateway, answer)).upstream_calls, a.calls.length + b.calls.length);
  });
}

test("a total timeout also limits what follows the first call", async () => {
  a.script(() => late(100, faultOf("500")));
  b.script(() => stall);
  const started = performance.now();
  const answer = await ask(gateway, { config: fallback({ total_timeout: 400 }) });
  assert.deepEqual(shown(answer), [408, second, "0", 1, 1]);
  assert.ok(performance.now() - started < 2_000);
});

test("a total timeout ends a stream with an error event", async () => {
  a.script(() => faultOf("stall inside the body"));
  const answer = await ask(gateway, { config: fallback({ total_timeout: 300 }), body: stream });
  assert.equal(answer.status, 200);
  assert.match(answer.text, /"code":"request_timeout"/);
  assert.ok(!answer.text.includes("[DONE]"));
  assert.deepEqual([a.calls.length, b.calls.length], [1, 0]);
  assert.equal((await logOf(gateway, answer)).status, 408);
  await eventually(() => a.sockets.size === 0, "the upstream's socket is closed");
});

test("the idle timeout of a config ends a stream", async () => {
  const clock = createTestClock();
  const still = await createTestGateway({ clock });
  a.script(() => faultOf("stall inside the body"));
  const config = fallback({ stream_idle_timeout: 5_000, retry: { attempts: 3 } });
  const response = await chat(
    still,
    { model: "m", messages: [{ role: "user", content: "Hello" }], ...stream },
    {
      "x-gateway-provider": null,
      ...configHeader(config),
    },
  );
  const text = response.text();
  clock.advance(5_001);
  assert.match(await text, /"code":"upstream_idle"/);
  assert.deepEqual([a.calls.length, b.calls.length], [1, 0]);
  await still.close();
});

for (const [name, config, fault, body, wantedStatus] of [
  ["in a pause before a retry", () => fallback({ retry: { attempts: 5 } }), faultOf("500"), {}, 499],
  ["during a call", () => fallback({ retry: { attempts: 5, on_status_codes: [499, 502] } }), stall, {}, 499],
  [
    "before the first event of a stream",
    () => fallback({ retry: { attempts: 5 } }),
    faultOf("stall before the first event"),
    stream,
    499,
  ],
  ["inside a stream", () => fallback({ retry: { attempts: 5 } }), faultOf("stall inside the body"), stream, 200],
] as const) {
  test(`a caller that leaves ${name} stops all calls and leaves one row`, async () => {
    routed.chance = 0.99;
    a.script(() => fault);
    const leaving = new AbortController();
    const trace = crypto.randomUUID();
    const sent = { model: "m", messages: [{ role: "user", content: "Hello" }], ...body };
    const headers = { "x-gateway-provider": null, "x-gateway-trace-id": trace, ...configHeader(config()) };
    const answer = chat(gateway, sent, headers, { signal: leaving.signal });
    await eventually(() => a.calls.length === 1, "the first call");
    await new Promise((resolve) => setTimeout(resolve, 60));
    const left = performance.now();
    leaving.abort();
    const response = await answer;
    await response.text().catch(() => {});
    assert.ok(performance.now() - left < 500, "at once");
    assert.equal(response.status, wantedStatus);
    const row = await logOf(gateway, { trace });
    assert.deepEqual([row.status, row.upstream_calls, row.attempts?.length], [499, 1, 1]);
    if (fault.stalls) await eventually(() => a.sockets.size === 0, "the upstream's socket is closed");
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual([a.calls.length, b.calls.length], [1, 0], "nothing is called any more");
  });
}

test("a request makes at most 20 retries in all", async () => {
  const clock = createTestClock();
  const patient = await createTestGateway({ clock, random: () => 0 });
  for (const upstream of upstreams) {
    upstream.script(() => {
      // a new second for each call: the share of retries is a separate rule
      clock.advance(1_000);
      return faultOf("500");
    });
  }
  const config = {
    strategy: { mode: "fallback" },
    retry: { attempts: 5 },
    targets: upstreams.map((upstream) => targetOf(upstream)),
  };
  const answer = await ask(patient, { config });
  assert.deepEqual(
    upstreams.map(({ calls }) => calls.length),
    [6, 6, 6, 6, 1, 1],
  );
  assert.deepEqual([answer.status, answer.label, answer.retries], [500, "config.targets[5]", "-1"]);
  assert.equal((await logOf(patient, answer)).upstream_calls, 26);
  await patient.close();
});

test("retries are a small share of the calls to a host, whichever targets lead there", async () => {
  const patient = await createTestGateway({ clock: createTestClock(), random: () => 0 });
  a.script(() => faultOf("500"));
  const target = { provider: "openai", api_key: "k", retry: { attempts: 5 } };
  const config = {
    strategy: { mode: "fallback" },
    targets: ["v1", "x/v1"].map((path) => ({ ...target, custom_host: `${a.url}/${path}` })),
  };
  const answer = await ask(patient, { config });
  // three retries in a second are free
  assert.equal(a.calls.length, 2 + 3);
  assert.equal(answer.retries, "-1");
  const settings = { retry: { attempts: 5 } };
  const byHeader = { "x-gateway-provider": "openai", authorization: "Bearer upstream-credential" };
  b.script(() => faultOf("500"));
  await ask(patient, { config: settings, headers: { ...byHeader, "x-gateway-custom-host": `${b.url}/v1` } });
  assert.equal(b.calls.length, 1 + 3, "another host has a share of its own");
  await patient.close();
});

for (const [form, header] of [
  ["milliseconds", () => ({ "retry-after-ms": "300" })],
  ["seconds", () => ({ "retry-after": "0.3" })],
  ["a date", () => ({ "retry-after": new Date(Date.now() + 1_500).toUTCString() })],
] as const) {
  test(`a wait requested by ${form} is respected`, async () => {
    const limited = faultOf("429");
    a.script(({ index }) => {
      if (index > 0) return success;
      const refuse: Fault["serve"] = (response) => response.writeHead(429, header()).end("{}");
      return { ...limited, serve: refuse };
    });
    const started = performance.now();
    const retry = { attempts: 2, use_retry_after_headers: true };
    const answer = await ask(gateway, { config: { ...targetOf(a), retry } });
    assert.deepEqual([answer.status, answer.retries], [200, "1"]);
    const took = performance.now() - started;
    assert.ok(took > 295 && took < 5_000, `${took} ms`);
  });
}

test("a response whose status is listed is discarded for the next target, a stream too", async () => {
  for (const streamed of [false, true]) {
    const config = fallback({ strategy: { mode: "fallback", on_status_codes: [200] } });
    const answer = await ask(gateway, { config, body: { stream: streamed } });
    assert.deepEqual([answer.status, answer.label], [200, second]);
    const row = await logOf(gateway, answer);
    assert.deepEqual([row.status, row.upstream_calls, row.attempts?.length], [200, 2, 2]);
  }
});

test("a total timeout breaks off a forwarded response that stalls", async () => {
  const own = await startFaultyUpstream();
  own.script(() => faultOf("stall inside the body"));
  const trace = crypto.randomUUID();
  const response = await gateway.fetch("/v1/evaluations", {
    method: "POST",
    headers: requestHeaders({
      "x-gateway-provider": null,
      "x-gateway-trace-id": trace,
      "content-length": "2",
      ...configHeader({ ...targetOf(own), total_timeout: 200 }),
    }),
    body: "{}",
  });
  assert.equal(response.status, 200);
  await assert.rejects(response.text());
  const row = await logOf(gateway, { trace });
  assert.deepEqual([row.status, row.upstream_calls], [408, 1]);
  await eventually(() => own.sockets.size === 0, "the upstream's socket is closed");
  await own.close();
});
