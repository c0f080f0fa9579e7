import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { after, before, test } from "node:test";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { sendPlain, startRecordingUpstream, startServer, type Upstream } from "../support/upstream.ts";

const loopback = /^(127\.|::1$|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.)/;

/** Names of this machine that could lead to private addresses. */
function localNames(): string[] {
  let hosts = "";
  try {
    hosts = readFileSync("/etc/hosts", "utf8");
  } catch {
    // other systems keep them elsewhere
  }
  const listed = hosts.split("\n").flatMap((line) => line.replace(/#.*/, "").trim().split(/\s+/).slice(1));
  return [...new Set([hostname(), ...listed])].filter((name) => /^[a-z0-9-]+$/.test(name) && name !== "localhost");
}

/** A name other than `localhost` that resolves to this machine or its network. */
async function findPrivateName(): Promise<string | undefined> {
  for (const name of localNames()) {
    const found = await lookup(name).catch(() => undefined);
    if (found && loopback.test(found.address)) return name;
  }
  return undefined;
}

const privateName = await findPrivateName();

/** Ways to write an address that must not be called, given the port of a listener on 127.0.0.1 and on [::1]. */
const addresses: Readonly<Record<string, (port: number) => string>> = {
  "an IPv4 literal": (port) => `http://127.0.0.1:${port}`,
  "an IPv6 literal": (port) => `http://[::1]:${port}`,
  "a mapped IPv6 literal": (port) => `http://[::ffff:127.0.0.1]:${port}`,
  "a decimal literal": (port) => `http://2130706433:${port}`,
  "a hexadecimal literal": (port) => `http://0x7f.1:${port}`,
  "an unspecified address": (port) => `http://0.0.0.0:${port}`,
  "the metadata service": () => "http://169.254.169.254",
  localhost: (port) => `http://localhost:${port}`,
  "localhost with a dot": (port) => `http://localhost.:${port}`,
  ...(privateName !== undefined && {
    [`the private name ${privateName}`]: (port: number) => `http://${privateName}:${port}`,
  }),
};

const chatBody = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] });

/** The two roads to a host that a caller names. */
const routes = {
  chat: { path: "/v1/chat/completions", body: chatBody },
  passthrough: { path: "/v1/files", body: '{"purpose":"batch"}' },
} as const;

/** A listener on both loopback addresses at one port: whatever the address leads to, the call would be seen. */
async function startListeners(): Promise<{ port: number; connections(): number; close(): Promise<void> }> {
  const four = await startServer((_request, response) => response.end("reached"));
  const six: Upstream | undefined = await startServer(
    (_request, response) => response.end("reached"),
    "::1",
    four.port,
  ).catch(
    () => undefined, // machines without IPv6 have nobody to reach there
  );
  return {
    port: four.port,
    connections: () => four.connections + (six?.connections ?? 0),
    async close() {
      await Promise.all([four.close(), six?.close()]);
    },
  };
}

/** Calls the gateway with a custom host. */
function callVia(gateway: GatewayProcess, route: keyof typeof routes, host: string) {
  const { path, body } = routes[route];
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": gateway.workspaceKey,
    "x-gateway-provider": "openai",
    "x-gateway-custom-host": host,
    authorization: "Bearer sk-fake-provider-key",
  };
  return sendPlain(`${gateway.url}${path}`, { method: "POST", headers, body });
}

let untrusting: GatewayProcess;
let trusting: GatewayProcess;
let listeners: Awaited<ReturnType<typeof startListeners>>;
before(async () => {
  listeners = await startListeners();
  [untrusting, trusting] = await Promise.all([
    startGatewayProcess({ env: { TRUSTED_CUSTOM_HOSTS: undefined } }),
    startGatewayProcess({ env: { TRUSTED_CUSTOM_HOSTS: "127.0.0.1" } }),
  ]);
});
after(async () => {
  await Promise.all([untrusting?.stop("SIGKILL"), trusting?.stop("SIGKILL"), listeners?.close()]);
});

for (const route of ["chat", "passthrough"] as const) {
  for (const [name, addressOf] of Object.entries(addresses)) {
    test(`${route} refuses ${name} as custom host without connecting`, async () => {
      const seen = listeners.connections();
      const answer = await callVia(untrusting, route, `${addressOf(listeners.port)}/v1`);
      const text = answer.body.toString();
      assert.equal(answer.status, 400, text);
      const { error } = JSON.parse(text);
      assert.equal(error.code, "invalid_custom_host");
      assert.doesNotMatch(error.message, /127\.0\.0\.1|::1|169\.254/, "the message tells a resolved address");
      assert.equal(listeners.connections(), seen);
    });

    test(`${route} does not follow a redirect to ${name}`, async () => {
      const target = `${addressOf(listeners.port)}/v1/target`;
      const upstream = await startRecordingUpstream((_request, response) =>
        response.writeHead(307, { location: target, "content-type": "text/plain" }).end("elsewhere"),
      );
      try {
        const seen = listeners.connections();
        const answer = await callVia(trusting, route, `${upstream.url}/v1`);
        if (route === "chat") assert.equal(answer.status, 502);
        if (route === "chat") assert.ok(JSON.parse(answer.body.toString()).error, "no error");
        if (route === "passthrough") {
          assert.equal(answer.status, 307);
          assert.equal(answer.headers.location, target);
          assert.equal(answer.body.toString(), "elsewhere");
        }
        assert.equal(upstream.requests.length, 1);
        assert.equal(listeners.connections(), seen);
      } finally {
        await upstream.close();
      }
    });
  }
}

test("a private name other than localhost is among the rows above", {
  skip: privateName === undefined && "this machine has no such name",
}, () => {
  assert.ok(privateName);
});

test("the listener is one a trusting gateway does reach", async () => {
  const seen = listeners.connections();
  await callVia(trusting, "passthrough", `http://127.0.0.1:${listeners.port}/v1`);
  assert.equal(listeners.connections(), seen + 1);
});
