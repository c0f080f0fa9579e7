import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SocketEnd } from "../../src/lib/websocket.ts";
import { call, done } from "../support/control.ts";
import { createRuntimeTransport } from "../support/gateway.ts";
import { chat, json, type LimitParts, makeKey, makePolicy, rpm, withGateway } from "../support/limited.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";
import { handshakeHeaders, startSocketUpstream } from "../support/websocket-upstream.ts";

/** Rate limits that the provider reports. */
const ofProvider = {
  "x-ratelimit-limit-requests": "500",
  "x-ratelimit-remaining-requests": "499",
  "x-ratelimit-reset-requests": "120ms",
  "x-ratelimit-limit-tokens": "30000",
  "x-ratelimit-remaining-tokens": "29000",
  "x-ratelimit-reset-tokens": "2s",
};

const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
const choice = { index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" };
const answer = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o",
  choices: [choice],
  usage,
});
const chunk = {
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-4o",
  choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }],
};
const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;

let upstream: RecordingUpstream;
before(async () => {
  upstream = await startRecordingUpstream(({ text, path }, response) => {
    const { model, stream } = text === "" ? {} : JSON.parse(text);
    if (model === "failing")
      return response.writeHead(429, { ...json, ...ofProvider }).end('{"error":{"message":"no"}}');
    if (path.endsWith("/speech")) {
      return response.writeHead(200, { "content-type": "audio/mpeg", ...ofProvider }).end("sound");
    }
    if (path.endsWith("/embeddings")) {
      return response.writeHead(200, { ...json, ...ofProvider }).end('{"object":"list","data":[],"model":"m"}');
    }
    const type = stream ? "text/event-stream" : "application/json";
    response.writeHead(200, { "content-type": type, ...ofProvider }).end(stream ? events : answer);
  });
});
after(() => upstream.close());

const withUpstream = (use: (parts: LimitParts) => Promise<void>) =>
  withGateway(use, { transport: createRuntimeTransport() });

/** Sends a request to the upstream and lists the rate limit headers of the response: limit, remaining, reset. */
async function send({ gateway }: LimitParts, key: string, body: object = {}, path = "/v1/chat/completions") {
  const response = await gateway.fetch(path, {
    method: "POST",
    headers: {
      ...json,
      "x-gateway-api-key": key,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer sk-obviously-fake",
    },
    body: JSON.stringify({ model: "gpt-4o", max_tokens: 1, messages: [{ role: "user", content: "Hello" }], ...body }),
  });
  await response.arrayBuffer();
  const { headers, status } = response;
  const list = (kind: string) =>
    ["limit", "remaining", "reset"].map((name) => headers.get(`x-ratelimit-${name}-${kind}`)).join(" ");
  return { status, headers, requests: list("requests"), tokens: list("tokens") };
}

const providerRequests = "500 499 120ms";
const providerTokens = "30000 29000 2s";

test("a response without limits of the gateway has the headers of its provider alone", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, {});
    const { requests, tokens } = await send(parts, key);
    assert.deepEqual([requests, tokens], [providerRequests, providerTokens]);
    const own = await chat(parts, key, { headers: { "x-gateway-provider": "echo" } });
    assert.ok(![...own.headers.keys()].some((name) => name.startsWith("x-ratelimit")));
  }));

test("responses and the refusal show what is left of a limit on requests, in place of the provider's", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, rpm(2));
    const first = await send(parts, key);
    assert.deepEqual([first.requests, first.tokens], ["2 1 1m0s", providerTokens]);
    parts.clock.advance(18_500);
    assert.equal((await send(parts, key)).requests, "2 0 42s");
    const refused = await send(parts, key);
    assert.deepEqual([refused.status, refused.requests, refused.tokens], [429, "2 0 42s", "  "]);
    assert.equal(refused.headers.get("retry-after"), "42");
    parts.clock.advance(41_499);
    const last = await send(parts, key);
    assert.deepEqual([last.status, last.requests, last.headers.get("retry-after")], [429, "2 0 1s", "1"]);
    parts.clock.advance(1);
    assert.equal((await send(parts, key)).requests, "2 1 1m0s");
  }));

test("what is left of a limit on tokens excludes what the request reserved", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, { rate_limits: [{ type: "tokens", unit: "rpd", value: 3_000 }] });
    const from = upstream.requests.length;
    const first = await send(parts, key);
    const reserved = Math.ceil((upstream.requests[from]?.text.length ?? 0) / 3) + 1;
    assert.deepEqual([first.tokens, first.requests], [`3000 ${3_000 - reserved} 12h0m0s`, providerRequests]);
    assert.equal((await send(parts, key)).tokens, `3000 ${1_500 - reserved} 12h0m0s`);
    const refused = await send(parts, key);
    assert.deepEqual([refused.status, refused.tokens], [429, "3000 0 12h0m0s"]);
  }));

test("a refused request that needs more than is left shows what is left", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, { rate_limits: [{ type: "tokens", unit: "rph", value: 10 }] });
    const { status, tokens } = await send(parts, key);
    assert.deepEqual([status, tokens], [429, "10 10 1h0m0s"]);
  }));

test("the limit of which the least is left is shown, and of several the one that resets last", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, rpm(5));
    const conditions = [{ key: "provider", value: "openai" }];
    await makePolicy(parts, "rate", { conditions, type: "requests", unit: "rpd", value: 5 });
    assert.equal((await send(parts, key)).requests, "5 4 12h0m0s");
    const id = await makePolicy(parts, "rate", { conditions, type: "requests", unit: "rpw", value: 3 });
    // Thursday noon to Monday
    assert.equal((await send(parts, key)).requests, "3 2 84h0m0s");
    await done(call(parts.gateway, `DELETE /policies/rate-limits/${id}`));
    await done(call(parts.gateway, "PUT /admin/workspaces/default", { body: rpm(1) }));
    assert.equal((await send(parts, key)).requests, "1 0 1m0s");
  }));

test("a refusal by a budget shows the rate limits that apply besides", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, { ...rpm(9), usage_limits: { type: "tokens", credit_limit: 1_000 } });
    assert.equal((await send(parts, key)).requests, "9 8 1m0s");
    const { status, requests, headers } = await send(parts, key);
    assert.deepEqual([status, requests, headers.get("retry-after")], [412, "9 8 1m0s", null]);
  }));

for (const [name, body, path] of [
  ["streams", { stream: true }],
  ["errors of the provider", { model: "failing" }],
  ["messages", { max_tokens: 5 }, "/v1/messages"],
  ["embeddings", { input: "Hi", messages: undefined }, "/v1/embeddings"],
  ["speech", { input: "Hi", voice: "alloy" }, "/v1/audio/speech"],
  ["passthrough", {}, "/v1/proxy/v1/anything"],
  ["errors of passthrough", { model: "failing" }, "/v1/proxy/v1/anything"],
] as const) {
  test(`${name} carry the gateway's limits on requests and the provider's on tokens`, () =>
    withUpstream(async (parts) => {
      const key = await makeKey(parts, rpm(7));
      const { requests, tokens } = await send(parts, key, body, path);
      assert.deepEqual([requests, tokens], ["7 6 1m0s", providerTokens]);
    }));
}

test("an accepted handshake of a realtime session carries the headers", async () => {
  const sockets = await startSocketUpstream();
  const end: SocketEnd = {
    bufferedBytes: 0,
    listen: () => {},
    send: () => {},
    terminate: () => {},
    pause: () => {},
    resume: () => {},
    close: () => {},
  };
  try {
    await withUpstream(async (parts) => {
      const key = await makeKey(parts, rpm(3));
      let carried: Readonly<Record<string, string>> | undefined;
      await parts.gateway.fetch(
        "/v1/realtime?model=gpt-realtime",
        {
          headers: {
            ...handshakeHeaders,
            "x-gateway-api-key": key,
            "x-gateway-provider": "openai",
            "x-gateway-custom-host": `${sockets.url}/v1`,
            authorization: "Bearer sk-obviously-fake",
          },
        },
        {
          upgrade(acceptance) {
            carried = acceptance.headers;
            acceptance.open(end);
            return new Response(null);
          },
        },
      );
      assert.equal(carried?.["x-ratelimit-remaining-requests"], "2");
    });
  } finally {
    await sockets.close();
  }
});

test("after a fallback the headers are those of the target that responds", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, {});
    const conditions = [{ key: "provider", value: "openai" }];
    await makePolicy(parts, "rate", { conditions, type: "requests", unit: "rpm", value: 1 });
    const custom_host = `${upstream.url}/v1`;
    const config = {
      strategy: { mode: "fallback" },
      targets: ["openai", "groq"].map((provider) => ({ provider, api_key: "sk-obviously-fake", custom_host })),
    };
    const ask = async () => {
      const headers = { "x-gateway-config": JSON.stringify(config) };
      const { headers: given } = await chat(parts, key, { headers });
      return [given.get("x-gateway-provider"), given.get("x-ratelimit-remaining-requests")];
    };
    assert.deepEqual(await ask(), ["openai", "0"]);
    assert.deepEqual(await ask(), ["groq", "499"]);
  }));

test("refusals name the holder of the limit and the policy with its counter, in the form of the route", () =>
  withUpstream(async (parts) => {
    const key = await makeKey(parts, {});
    const conditions = [{ key: "provider", value: "openai" }];
    const group_by = [{ key: "metadata.user" }];
    const id = await makePolicy(parts, "usage", { conditions, group_by, type: "requests", credit_limit: 0 });
    const headers = { "x-gateway-metadata": '{"user":"alice"}' };
    const ofPolicy = await chat(parts, key, { headers });
    assert.deepEqual(
      [ofPolicy.status, ofPolicy.code, ofPolicy.message],
      [
        412,
        "usage_limits_policy_exhaust_error",
        `Policy ${id} for metadata.user:alice Usage Limit Exceeded: its limit on requests has no room for this request`,
      ],
    );
    const limited = await makeKey(parts, { usage_limits: { type: "tokens", credit_limit: 1 } });
    const ofKey = await chat(parts, limited);
    assert.equal(ofKey.message, "API Key Usage Limit Exceeded: its limit on tokens has no room for this request");
    const { gateway } = parts;
    const response = await gateway.fetch("/v1/messages", {
      method: "POST",
      headers: { ...json, "x-gateway-api-key": await makeKey(parts, rpm(0)), "x-gateway-provider": "anthropic" },
      body: JSON.stringify({ model: "claude", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }),
    });
    const { type, error, status } = (await response.json()) as Record<string, unknown>;
    assert.deepEqual([response.status, status, type], [429, "failure", "error"]);
    assert.deepEqual(error, {
      message: "API Key rate limit exceeded: its limit on requests has no room for this request. It resets in 60 s",
      type: "rate_limit_error",
      code: "api_key_rate_limit_error",
      param: null,
    });
  }));
