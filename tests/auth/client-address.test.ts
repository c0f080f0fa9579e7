import assert from "node:assert/strict";
import { test } from "node:test";
import { createClientAddress, toSource } from "../../src/lib/client-address.ts";
import { readSettings } from "../../src/settings.ts";
import { call } from "../support/control.ts";
import { adminKey, createTestGateway, type TestGateway } from "../support/gateway.ts";

const proxies = ["10.0.0.0/8", "2001:db8:1::/48", "192.0.2.7"];

for (const [what, peer, forwarded, wanted] of [
  ["a direct client", "203.0.113.5", undefined, "203.0.113.5"],
  ["a direct client that makes up proxies", "203.0.113.5", "198.51.100.1", "203.0.113.5"],
  ["a client behind one proxy", "10.0.0.1", "203.0.113.5", "203.0.113.5"],
  ["a client behind two proxies", "10.0.0.1", "203.0.113.5, 192.0.2.7", "203.0.113.5"],
  ["a client that makes up what is before it", "10.0.0.1", "1.1.1.1, 10.9.9.9, 203.0.113.5", "203.0.113.5"],
  ["a client on an address of the range", "10.0.0.1", "10.2.3.4", "10.2.3.4"],
  ["a proxy that names nobody", "10.0.0.1", undefined, "10.0.0.1"],
  ["a proxy that names what is no address", "10.0.0.1", "203.0.113.5, unknown", "10.0.0.1"],
  ["empty parts", "10.0.0.1", "203.0.113.5,,", "10.0.0.1"],
  ["an address with a port", "10.0.0.1", "203.0.113.5:4711", "203.0.113.5"],
  ["an IPv6 address with a port", "10.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"],
  ["an IPv6 proxy", "2001:db8:1::9", "2001:db8:2::5", "2001:db8:2::5"],
  ["an IPv4 peer as dual-stack sockets show it", "::ffff:10.0.0.1", "203.0.113.5", "203.0.113.5"],
  ["a client as dual-stack sockets show it", "::ffff:203.0.113.5", undefined, "203.0.113.5"],
  ["an address that only looks like one", "10.0.0.1", "0x0a.1", "10.0.0.1"],
  ["no peer", undefined, "203.0.113.5", "unknown"],
] as const) {
  test(`createClientAddress() finds ${what}`, () => {
    assert.equal(createClientAddress(proxies)(peer, forwarded), wanted);
  });
}

for (const bad of [
  "proxy.example.com",
  "10.0.0.0/33",
  "10.0.0.0/",
  "10/8",
  "::/129",
  "::ffff:10.0.0.0/104",
  "*",
  "1.2.3",
]) {
  test(`TRUSTED_PROXIES with ${bad} stops the start`, () => {
    assert.throws(() => readSettings({ TRUSTED_PROXIES: `127.0.0.1, ${bad}` }), /TRUSTED_PROXIES/);
  });
}

for (const [address, source] of [
  ["203.0.113.5", "203.0.113.5"],
  ["::ffff:203.0.113.5", "203.0.113.5"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::ffff", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["unknown", "unknown"],
] as const) {
  test(`toSource() counts ${address} as ${source}`, () => assert.equal(toSource(address), source));
}

async function withGateway(run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await createTestGateway({ authFailuresPerMinute: 2, trustedProxies: proxies });
  try {
    await run(gateway);
  } finally {
    await gateway.close();
  }
}

/** Statuses of wrong keys, one after the other. */
async function fail(gateway: TestGateway, sources: readonly [peer: string, forwarded?: string][]): Promise<number[]> {
  const statuses: number[] = [];
  for (const [remoteAddress, forwarded] of sources) {
    const headers = {
      "x-gateway-api-key": "wrong-key-000000000000",
      ...(forwarded && { "x-forwarded-for": forwarded }),
    };
    const response = await gateway.fetch("/v1/models", { headers }, { remoteAddress });
    await response.text();
    statuses.push(response.status);
  }
  return statuses;
}

test("wrong keys from one IPv6 network of 64 bits are counted together", () =>
  withGateway(async (gateway) => {
    const network = ["::1", "::2", "::3"].map((host): [string] => [`2001:db8:9:9${host}`]);
    assert.deepEqual(await fail(gateway, network), [401, 401, 429]);
    assert.deepEqual(await fail(gateway, [["2001:db8:9:8::1"]]), [401]);
  }));

test("clients behind a trusted proxy are counted apart, and others cannot choose who they are", () =>
  withGateway(async (gateway) => {
    const behind = (forwarded: string): [string, string] => ["10.0.0.1", forwarded];
    const [first, second] = [behind("203.0.113.5"), behind("203.0.113.6")];
    assert.deepEqual(await fail(gateway, [first, first, first, second]), [401, 401, 429, 401]);
    const liars = ["1", "2", "3"].map((end): [string, string] => ["198.51.100.9", `203.0.113.${end}`]);
    assert.deepEqual(await fail(gateway, liars), [401, 401, 429]);
    const prefixed = ["1", "2", "3"].map((end) => behind(`9.9.9.${end}, 203.0.113.7`));
    assert.deepEqual(await fail(gateway, prefixed), [401, 401, 429]);
  }));

test("audit rows hold the client's address, not the proxy's", () =>
  withGateway(async (gateway) => {
    const response = await gateway.fetch(
      "/v1/admin/workspaces",
      {
        method: "POST",
        headers: {
          "x-gateway-api-key": adminKey,
          "content-type": "application/json",
          "x-forwarded-for": "1.1.1.1, 203.0.113.5",
        },
        body: JSON.stringify({ name: "Made behind a proxy" }),
      },
      { remoteAddress: "10.0.0.1" },
    );
    assert.equal(response.status, 200, await response.text());
    const { body } = await call<{ records: { client_ip: string }[] }>(
      gateway,
      "GET /audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2999-01-01T00:00:00Z",
    );
    assert.equal(JSON.stringify(body).includes("203.0.113.5"), true, JSON.stringify(body));
    assert.equal(JSON.stringify(body).includes('"10.0.0.1"'), false);
  }));
