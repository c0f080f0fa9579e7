import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { getRequestListener } from "@hono/node-server";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  helloBody,
  readJson,
  type TestGateway,
  upstreamHeaders,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";
import { handshakeHeaders, startSocketUpstream } from "../support/websocket-upstream.ts";

const hopHeader = "gateway-hops";

/** A text with each letter of it as an escape of an address. */
const escaped = (text: string) => [...text].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join("");

interface Refused {
  error: { code: string; message: string };
}

/** A gateway that listens, and how many requests came in. */
async function withListening(run: (parts: { gateway: TestGateway; url: string; count(): number }) => Promise<void>) {
  const gateway = await createTestGateway({ inFile: true });
  let requests = 0;
  const listener = getRequestListener(
    (request) => {
      requests++;
      return gateway.gateway.fetch(request);
    },
    { overrideGlobalObjects: false },
  );
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // a server that listens on a port has an address object
  try {
    await run({ gateway, url: `http://127.0.0.1:${port}`, count: () => requests });
  } finally {
    server.closeAllConnections();
    server.close();
    await gateway.close();
  }
}

/** Runs with an upstream that records the headers it receives. */
async function withRecorder(run: (upstream: { url: string; headers: IncomingHttpHeaders[] }) => Promise<void>) {
  const headers: IncomingHttpHeaders[] = [];
  const upstream = await startServer((request, response) => {
    headers.push(request.headers);
    request.resume().on("end", () => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [], verdict: true }));
    });
  });
  try {
    await run({ url: upstream.url, headers });
  } finally {
    await upstream.close();
  }
}

test("a custom host that leads back to the gateway ends after two hops with 400", () =>
  withListening(async ({ gateway, url, count }) => {
    const theirs = await createOrganisation(await gateway.openFile(), "theirs");
    const config = (key: string) => ({ provider: "openai", custom_host: `${url}/v1`, api_key: key });
    const loops = async (key: string, next: string) => {
      const made = await done<{ id: string }>(
        call(gateway, "POST /configs", { key, body: { name: `to ${next}`, config: config(next) } }),
      );
      return made.id;
    };
    // each key's config leads to the other key; keys of any form are not recognised as the gateway's own
    const [first, second] = [workspaceKey, theirs.workspaceKey];
    await loops(first, second);
    const slugs = {
      [first]: await loops(first, second),
      [second]: await loops(second, first),
    };
    for (const [key, slug] of Object.entries(slugs)) {
      const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /api-keys", { key }));
      const [own] = data;
      const body = { defaults: { config_id: slug } };
      await done(call(gateway, `PUT /api-keys/${own?.id}`, { key, body }));
    }
    const response = await chat(gateway, helloBody, { "x-gateway-provider": null });
    assert.equal(response.status, 400);
    const { error } = await readJson<Refused>(response);
    assert.match(error.message, /leads back to this gateway/);
    assert.equal(count(), 3);
  }));

test("a webhook that leads back to the gateway ends after two hops", () =>
  withListening(async ({ gateway, url, count }) => {
    const config = {
      provider: "echo",
      input_guardrails: [
        {
          id: "back",
          type: "guardrail",
          checks: [
            {
              id: "default.webhook",
              parameters: {
                webhookURL: `${url}/v1/back`,
                headers: { "x-gateway-api-key": workspaceKey },
                timeout: 2_000,
              },
            },
          ],
        },
      ],
    };
    const { id } = await done<{ id: string }>(
      call(gateway, "POST /configs", { key: workspaceKey, body: { name: "back", config } }),
    );
    const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /api-keys", { key: workspaceKey }));
    const body = { defaults: { config_id: id } };
    await done(call(gateway, `PUT /api-keys/${data[0]?.id}`, { key: workspaceKey, body }));
    await (await chat(gateway)).text();
    assert.ok(count() >= 1 && count() <= 3, `${count()} requests came back`);
  }));

test("upstreams named by data see the gateways on the way, and no header of the client's", () =>
  withListening(async ({ gateway }) =>
    withRecorder(async ({ url, headers }) => {
      const send = async (changes: Record<string, string>, path = "/v1/chat/completions") => {
        const all = { ...upstreamHeaders({ url }), "x-gateway-api-key": workspaceKey, ...changes };
        const init = {
          method: "POST",
          headers: { ...all, "content-type": "application/json" } as Record<string, string>,
        };
        await (await gateway.fetch(path, { ...init, body: JSON.stringify(helloBody) })).text();
        return headers.at(-1)?.[hopHeader];
      };
      const own = String(await send({}));
      assert.match(own, /^[A-Za-z0-9_-]{16}$/);
      assert.equal(await send({}, "/v1/any/other/path"), own);
      assert.equal(await send({ [hopHeader]: "<script>, short" }), own);
      assert.equal(await send({ "x-gateway-forward-headers": hopHeader }), own);
      assert.equal(await send({ [hopHeader]: `another-gateway-` }), `another-gateway-, ${own}`);
      assert.equal(await send({ [hopHeader]: own }), `${own}, ${own}`);
      assert.equal(await send({ [hopHeader]: `${own}, ${own}` }), `${own}, ${own}, ${own}`);
      const before = headers.length;
      await send({ [hopHeader]: `${own}, ${own}, ${own}` });
      await send({ [hopHeader]: Array.from({ length: 16 }, () => "another-gateway-").join(",") });
      assert.equal(headers.length, before);
    }),
  ));

test("a provider's built-in address never gets the header, not even from a client", async () => {
  const seen: Record<string, string>[] = [];
  const gateway = await createTestGateway({
    transport: {
      send: async (_url, init) => {
        seen.push(init.headers);
        return Response.json({ id: "1", object: "chat.completion", choices: [] });
      },
    },
  });
  const headers = {
    "x-gateway-api-key": workspaceKey,
    "x-gateway-provider": "openai",
    authorization: "Bearer upstream-credential",
    "content-type": "application/json",
    [hopHeader]: "another-gateway-",
    "x-gateway-forward-headers": hopHeader,
  };
  for (const path of ["/v1/chat/completions", "/v1/any/other/path"]) {
    await (await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(helloBody) })).text();
  }
  assert.deepEqual(
    seen.map((sent) => sent[hopHeader]),
    [undefined, undefined],
  );
  await gateway.close();
});

test("two gateways distinguish their hops", async () => {
  const seen = new Set<string>();
  for (let round = 0; round < 2; round++) {
    await withListening(({ gateway }) =>
      withRecorder(async (upstream) => {
        await (await chat(gateway, helloBody, upstreamHeaders(upstream))).text();
        seen.add(String(upstream.headers[0]?.[hopHeader]));
      }),
    );
  }
  assert.equal(seen.size, 2);
});

test("a realtime session shows its hop, and one that leads back is refused", async () => {
  const upstream = await startSocketUpstream({});
  await withListening(async ({ gateway }) => {
    const headers = {
      ...handshakeHeaders,
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": `${upstream.url}/v1`,
      authorization: "Bearer upstream-credential",
    };
    const open = (more: Record<string, string> = {}) =>
      gateway.fetch(
        "/v1/realtime?model=gpt-realtime",
        { headers: { ...headers, ...more } },
        { upgrade: () => new Response(null) },
      );
    await open();
    const own = String(upstream.handshakes[0]?.headers[hopHeader]);
    assert.match(own, /^[A-Za-z0-9_-]{16}$/);
    assert.equal((await open({ [hopHeader]: `${own},${own},${own}` })).status, 400);
    assert.equal(upstream.handshakes.length, 1);
  });
  await upstream.close();
});

test("a key of this gateway is refused as a provider credential, one of another gateway is sent", () =>
  withListening(({ gateway }) =>
    withRecorder(async (upstream) => {
      const make = async (from: TestGateway) => {
        const body = { name: "Another", scopes: ["completions.write"] };
        return done<{ key: string }>(call(from, "POST /api-keys/workspace/service", { key: workspaceKey, body }));
      };
      const { key } = await make(gateway);
      const to = upstreamHeaders(upstream);
      const config = JSON.stringify({ provider: "openai", custom_host: `${upstream.url}/v1`, api_key: key });
      const body = JSON.stringify(helloBody);
      const passed = { ...to, "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
      const attempts: [string, () => Promise<Response>][] = [
        ["authorization", () => chat(gateway, helloBody, { ...to, authorization: `Bearer ${key}` })],
        ["a setting", () => chat(gateway, helloBody, { ...to, "x-gateway-openai-organization": `org-${key}` })],
        [
          "the path of a host",
          () => chat(gateway, helloBody, { ...to, "x-gateway-custom-host": `${upstream.url}/${key}/v1` }),
        ],
        ["a path", () => gateway.fetch(`/v1/any/${key}`, { headers: passed as HeadersInit })],
        ["a query", () => gateway.fetch(`/v1/any/path?token=${key}`, { headers: passed as HeadersInit })],
        [
          "a query in escapes",
          () => gateway.fetch(`/v1/any/path?token=${escaped(key)}`, { headers: passed as HeadersInit }),
        ],
        [
          "the request's own key in a path",
          () => gateway.fetch(`/v1/any/${workspaceKey}`, { headers: passed as HeadersInit }),
        ],
        [
          "the request's own key in escapes",
          () => gateway.fetch(`/v1/any/path?token=${escaped(workspaceKey)}`, { headers: passed as HeadersInit }),
        ],
        ["a config", () => chat(gateway, helloBody, { "x-gateway-provider": null, "x-gateway-config": config })],
        [
          "a forwarded header",
          () => chat(gateway, helloBody, { ...to, "x-token": key, "x-gateway-forward-headers": "x-token" }),
        ],
        [
          "a forwarded header",
          () =>
            gateway.fetch("/v1/any/path", {
              method: "POST",
              headers: { ...passed, "x-token": key } as HeadersInit,
              body,
            }),
        ],
      ];
      for (const [what, send] of attempts) {
        const response = await send();
        assert.equal(response.status, 400, what);
        assert.equal((await readJson<Refused>(response)).error.code, "gateway_key_as_credential", what);
      }
      assert.equal(upstream.headers.length, 0);
      await withListening(async ({ gateway: another }) => {
        const { key: theirs } = await make(another);
        const response = await chat(gateway, helloBody, { ...to, authorization: `Bearer ${theirs}` });
        assert.equal(response.status, 200);
        await response.text();
      });
    }),
  ));
