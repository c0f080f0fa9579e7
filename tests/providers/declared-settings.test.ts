import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import * as v from "valibot";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { defineProvider } from "../../src/providers/core/define.ts";
import { addressSetting, hostLabel, placeSetting, secretSetting } from "../../src/providers/core/settings.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, helloBody, workspaceKey as key, readJson, waitForLog } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

/** A provider that an embedder adds: nothing but its declaration says what its settings are. */
const acme = defineProvider({
  slug: "acme",
  settings: {
    prefix: "acme",
    requires: { integrations: ["acme_site", "acme_pass"], credentials: [["acme_site", "acme_pass"]] },
    virtualKeys: { acme_site: { field: "resourceName" }, acme_pass: { field: "awsSecretAccessKey" } },
    unread: { acme_colour: v.unknown() },
    schema: v.object({
      site: v.optional(addressSetting(hostLabel("must be a label of a host name"))),
      zone: v.optional(placeSetting(hostLabel("must be a zone")), "one"),
      // a name that says nothing of a secret
      pass: v.optional(secretSetting(v.string())),
    }),
  },
  baseUrl: ({ site, zone }) => `https://${site}.${zone}.acme.example`,
  authenticate: (_, { pass = "" }) => ({ "x-acme": pass }),
  operations: { chat: { path: () => "/chat" } },
});

const gift = defineProvider({
  slug: "gift",
  keyless: true,
  free: true,
  settings: { prefix: "gift", schema: v.object({}) },
  baseUrl: "https://gift.example",
  authenticate: () => ({}),
  operations: { chat: { path: () => "/chat" } },
});

const sent: { url: string; init: TransportInit }[] = [];
const transport: Transport = {
  async send(url, init) {
    sent.push({ url, init });
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return Response.json({ id: "1", object: "chat.completion", choices: [], usage });
  },
};
const options = { transport, providers: [acme, gift], headerAliases: ["x-other-"] };
const gateway = await createTestGateway({ ...options, inFile: true });
after(() => gateway.close());
beforeEach(() => {
  sent.length = 0;
});

const secret = "of-no-known-form-1";
const noKey = { authorization: null, "x-gateway-provider": null };

/** Calls as the transport saw them: their address and the secret they carried. */
const calls = () => sent.map(({ url, init }) => `${url} ${init.headers["x-acme"]}`);
const wanted = [`https://main.one.acme.example/chat ${secret}`];

/** Everything in the tables that hold what callers sent. */
async function storedText(): Promise<string> {
  const database = await gateway.openFile();
  const tables = ["log_batches LEFT JOIN log_bodies USING (seq)", "audit_logs", "integrations", "config_versions"];
  const pages = await Promise.all(tables.map((table) => database.read(`SELECT * FROM ${table}`)));
  return pages.map(({ rows }) => rows.map((row) => Object.values(row).map(String).join(" ")).join("\n")).join("\n");
}

test("settings in headers reach the provider; logs hold a digest of the secret one", async () => {
  for (const [prefix, trace] of [
    ["x-gateway-", "trace-acme-1"],
    ["x-other-", "trace-acme-2"],
  ] as const) {
    const settings = { [`${prefix}acme-site`]: "main", [`${prefix}acme-pass`]: secret };
    const headers = { ...noKey, "x-gateway-provider": "acme", "x-gateway-trace-id": trace, ...settings };
    const response = await chat(gateway, helloBody, headers);
    assert.equal(response.status, 200, await response.text());
    const row = await waitForLog(gateway, trace);
    assert.match(row.request.headers[`${prefix}acme-pass`] ?? "", /^hmac:[0-9a-f]{12}$/);
    assert.equal(row.request.headers[`${prefix}acme-site`], "main");
  }
  assert.deepEqual(calls(), [...wanted, ...wanted]);
  assert.ok(!(await storedText()).includes(secret));
});

test("settings in a config are its credential; saved ones are sealed and stay with their address", async () => {
  const config = { provider: "acme", acme_site: "main", acme_pass: secret, acme_colour: "blue" };
  const inline = await chat(gateway, helloBody, { ...noKey, "x-gateway-config": JSON.stringify(config) });
  assert.equal(inline.status, 200, await inline.text());
  const { slug } = await done<{ slug: string }>(
    call(gateway, "POST /configs", { key, body: { name: "Acme", config } }),
  );
  const saved = await chat(gateway, helloBody, { ...noKey, "x-gateway-config": slug });
  assert.equal(saved.status, 200, await saved.text());
  assert.deepEqual(calls(), [...wanted, ...wanted]);
  const shown = await done<{ config: string }>(call(gateway, `GET /configs/${slug}`, { key }));
  const masked = JSON.parse(shown.config);
  assert.equal(masked.acme_pass, "of*****m-1");
  const moved = { name: "Acme", config: { ...masked, acme_site: "other" } };
  assert.match(await problem(gateway, `PUT /configs/${slug}`, { key, body: moved }), /^400 /);
  const alone = { name: "Alone", config: { provider: "acme", acme_site: "main" } };
  assert.match(await problem(gateway, "POST /configs", { key, body: alone }), /^400 /);
  assert.ok(!(await storedText()).includes(secret));
});

test("a body that repeats secret settings is logged without them", async () => {
  const headers = { ...noKey, "x-gateway-provider": "gift", "x-gateway-trace-id": "trace-body" };
  const body = { ...helloBody, acmePass: secret, inner: { acme_pass: secret, "x-gateway-acme-pass": secret } };
  const response = await chat(gateway, body, headers);
  assert.equal(response.status, 200, await response.text());
  const logged = JSON.stringify((await waitForLog(gateway, "trace-body")).request.body);
  assert.equal(logged.split("[masked]").length - 1, 3, logged);
  assert.ok(!(await storedText()).includes(secret));
});

test("settings of an integration are checked, sealed and stay with their address", async () => {
  const integration = { name: "Acme", slug: "acme-i", ai_provider_id: "acme", create_default_provider: false };
  const create = (configurations: object) => ({ key, body: { ...integration, configurations } });
  const settings = { acme_site: "main", acme_pass: secret };
  for (const [changes, param] of [
    [{ acme_site: undefined }, "acme_site"],
    [{ acme_pass: undefined }, "acme_pass"],
    [{ acme_site: "a.b" }, "acme_site"],
    [{ acme_zone: "a/b" }, "acme_zone"],
    [{ acme_pass: 5 }, "acme_pass"],
    [{ acme_more: "x" }, "acme_more"],
  ] as const) {
    const answer = await problem(gateway, "POST /integrations", create({ ...settings, ...changes }));
    assert.equal(answer, `400 AB01 configurations.${param}`);
  }
  await done(call(gateway, "POST /integrations", create(settings)));
  const shown = await done<{ configurations: object }>(call(gateway, "GET /integrations/acme-i", { key }));
  assert.deepEqual(shown.configurations, { acme_site: "main", masked_acme_pass: "of*****m-1" });
  await done(
    call(gateway, "POST /providers", { key, body: { name: "Acme", slug: "acme-p", integration_id: "acme-i" } }),
  );
  const response = await chat(gateway, helloBody, { ...noKey, "x-gateway-provider": "@acme-p" });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(calls(), wanted);
  const update = (configurations: object) =>
    problem(gateway, "PUT /integrations/acme-i", { key, body: { configurations } });
  assert.equal(await update({ acme_site: "other" }), "400 AB01 configurations.acme_site");
  assert.equal(await update({ acme_zone: "two" }), "200 undefined undefined");
  assert.equal(await update({ acme_site: "other", acme_pass: secret }), "200 undefined undefined");
  assert.ok(!(await storedText()).includes(secret));
});

test("virtual keys give settings by the fields the provider names", async () => {
  const body = { name: "Acme", slug: "acme-v", provider: "acme", key: "", resourceName: "main" };
  const missing = await problem(gateway, "POST /virtual-keys", { key, body });
  assert.equal(missing, "400 AB01 awsSecretAccessKey");
  await done(call(gateway, "POST /virtual-keys", { key, body: { ...body, awsSecretAccessKey: secret } }));
  const response = await chat(gateway, helloBody, { ...noKey, "x-gateway-provider": "@acme-v" });
  assert.equal(response.status, 200, await response.text());
  assert.deepEqual(calls(), wanted);
});

test("where only saved things count, settings that shape an address are refused in headers", async () => {
  const closed = await createTestGateway({ ...options, savedOnly: true });
  for (const name of ["acme-site", "acme-zone"]) {
    const response = await chat(closed, helloBody, { ...noKey, [`x-gateway-${name}`]: "main" });
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.deepEqual([response.status, error.code], [400, "inline_provider_url_blocked"], name);
  }
  await closed.close();
});

test("a keyless provider needs no key in configs and integrations, and a free one costs nothing", async () => {
  const integration = { name: "Gift", slug: "gift-i", ai_provider_id: "gift", create_default_provider: false };
  await done(call(gateway, "POST /integrations", { key, body: integration }));
  const config = { name: "Gift", config: { provider: "gift" } };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /configs", { key, body: config }));
  const headers = { ...noKey, "x-gateway-config": slug, "x-gateway-trace-id": "trace-gift" };
  const response = await chat(gateway, helloBody, headers);
  assert.equal(response.status, 200, await response.text());
  assert.equal((await waitForLog(gateway, "trace-gift")).cost, 0);
});

for (const { slug, settings, unreadSettings, requirements, virtualKeyFields } of builtInProviders) {
  const { integrations = [], mode, credentials = [] } = requirements;
  const ofModes = mode ? [mode.setting, ...Object.values(mode.integrations).flat(), ...(mode.absent ?? [])] : [];
  const named = [...integrations, ...ofModes, ...credentials.flat(), ...Object.keys(virtualKeyFields)];
  if (named.length + unreadSettings.length === 0) continue;
  test(`what ${slug} says of its settings are settings it has`, () => {
    const known = new Set(["key", ...settings.map(({ member }) => member)]);
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
    );
    assert.deepEqual(
      unreadSettings.filter(({ member }) => known.has(member)),
      [],
    );
  });
}
