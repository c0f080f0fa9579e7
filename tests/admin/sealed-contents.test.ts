import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openDatabase } from "../../src/db/client.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTemporaryFolder,
  createTestGateway,
  helloBody,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { problem } from "../support/people.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

const folder = createTemporaryFolder();
const file = join(folder.path, "gateway.db");
let gateway: TestGateway;
let upstream: Upstream;
let seen: string | undefined;
before(async () => {
  upstream = await startServer((request, response) => {
    seen = request.headers.authorization;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [] }));
  });
  gateway = await createTestGateway({ database: `file:${file}` });
});
after(async () => {
  await gateway.close();
  await upstream.close();
  folder.remove();
});

const key = workspaceKey;
const secret = "sk-config-secret-0123456789abcdef";
const mask = "sk*****def";

interface Shown {
  slug: string;
  config: string;
}

/** All bytes of the database that are on disk. */
function bytes(): string {
  return ["", "-wal"]
    .map((end) => {
      try {
        return readFileSync(file + end, "latin1");
      } catch {
        return "";
      }
    })
    .join("");
}

const save = async (config: object) =>
  (await done<Shown>(call<Shown>(gateway, "POST /configs", { key, body: { name: "C", config } }))).slug;
const show = async (slug: string) =>
  JSON.parse((await done<Shown>(call<Shown>(gateway, `GET /configs/${slug}`, { key }))).config);
const put = (slug: string, config: object) => problem(gateway, `PUT /configs/${slug}`, { key, body: { config } });
const ok = "200 undefined undefined";

test("the api_key of a saved config is stored encrypted, shown masked and sent in clear", async () => {
  const config = { provider: "openai", api_key: secret, custom_host: `${upstream.url}/v1` };
  const slug = await save(config);
  assert.deepEqual(await show(slug), { ...config, api_key: mask });
  const versions = await done(call(gateway, `GET /configs/${slug}/versions`, { key }));
  assert.ok(!JSON.stringify(versions).includes(secret));
  assert.ok(!bytes().includes(secret));
  const audit = await done(call(gateway, "GET /audit-logs?start_time=2020-01-01&end_time=2100-01-01"));
  assert.ok(!JSON.stringify(audit).includes(secret));
  const answer = await chat(gateway, helloBody, { "x-gateway-provider": null, "x-gateway-config": slug });
  assert.equal(answer.status, 200);
  assert.equal(seen, `Bearer ${secret}`);
});

test("a mask that is sent back preserves the secret, and other fields change", async () => {
  const config = { provider: "openai", api_key: secret, custom_host: `${upstream.url}/v1` };
  const slug = await save({ strategy: { mode: "fallback" }, targets: [config, { provider: "echo" }] });
  const shown = await show(slug);
  assert.equal(await put(slug, { ...shown, retry: { attempts: 1 } }), ok);
  assert.equal(await put(slug, { ...(await show(slug)), targets: [{ provider: "echo" }, shown.targets[0]] }), ok);
  assert.deepEqual((await show(slug)).targets[1].api_key, mask);
  const last = await show(slug);
  assert.equal(await put(slug, { ...last, targets: [last.targets[1]] }), ok);
  seen = undefined;
  await chat(gateway, helloBody, { "x-gateway-provider": null, "x-gateway-config": slug });
  assert.equal(seen, `Bearer ${secret}`);
  const before = await done<{ total: number }>(call(gateway, `GET /configs/${slug}/versions`, { key }));
  assert.equal(await put(slug, await show(slug)), ok);
  const again = await done<{ total: number }>(call(gateway, `GET /configs/${slug}/versions`, { key }));
  assert.equal(again.total, before.total, "the same content is no new version");
});

test("a mask does not follow an address: neither host, nor provider, nor a host above it", async () => {
  const target = { provider: "openai", api_key: secret, custom_host: `${upstream.url}/v1` };
  const slug = await save({ strategy: { mode: "fallback" }, targets: [target] });
  const masked = { ...target, api_key: mask };
  const other = `${upstream.url}/v2`;
  for (const targets of [
    [{ ...masked, custom_host: other }],
    [{ provider: "openai", api_key: mask }],
    [{ ...masked, provider: "groq" }],
    [{ strategy: { mode: "fallback" }, custom_host: other, targets: [masked] }],
  ]) {
    const answer = await put(slug, { strategy: { mode: "fallback" }, targets });
    assert.match(answer, /^400 AB01 config\.targets\.0\..*api_key$/, JSON.stringify(targets));
  }
  const elsewhere = await problem(gateway, "POST /configs", { key, body: { name: "N", config: masked } });
  assert.equal(elsewhere, "400 AB01 config.api_key");
  const fresh = { ...masked, api_key: "given-again-0123456789", custom_host: other };
  assert.equal(await put(slug, { strategy: { mode: "fallback" }, targets: [fresh] }), ok);
});

test("a caller's custom host does not receive the credential of a saved config", async () => {
  const slug = await save({ provider: "openai", api_key: secret });
  seen = undefined;
  const host = `${upstream.url}/v1`;
  const headers = { "x-gateway-provider": null, "x-gateway-custom-host": host };
  const answer = await chat(gateway, helloBody, { ...headers, "x-gateway-config": slug });
  assert.equal(answer.status, 400);
  assert.equal(seen, undefined);
  const inline = JSON.stringify({ provider: "openai", api_key: secret });
  assert.equal((await chat(gateway, helloBody, { ...headers, "x-gateway-config": inline })).status, 200);
});

test("every secret setting of a provider is encrypted in configs, and those of oauth", async () => {
  const members = builtInProviders.flatMap(({ settings }) => settings.filter(({ isSecret }) => isSecret));
  const account = JSON.stringify({ private_key: secret, client_email: "a@b.example" });
  for (const { member } of members) {
    const value = member.endsWith("_json") ? account : secret;
    const slug = await save({ provider: "echo", api_key: secret, [member]: value });
    const shown = await show(slug);
    assert.ok(String(shown[member]).includes("*****"), member);
  }
  const oauth = { token_url: "https://login.example.com/t", client_id: "id", client_secret: secret };
  const slug = await save({ provider: "openai", oauth });
  assert.deepEqual((await show(slug)).oauth, { ...oauth, client_secret: mask });
  assert.ok(!bytes().includes(secret));
});

test("credentials of a guardrail's checks are encrypted, shown masked, and stay with their address", async () => {
  const header = "Bearer guard-secret-0123456789";
  const signing = "guard-secret-that-signs";
  const webhook = (url: string, Authorization: string) => ({
    id: "default.webhook",
    parameters: { webhookURL: url, headers: { Authorization }, secret: signing },
  });
  const url = "https://hooks.example.com/a?token=url-secret-0123456789";
  const body = { name: "G", checks: [webhook(url, header)] };
  const { id } = await done<{ id: string }>(call(gateway, "POST /guardrails", { key, body }));
  const read = () =>
    done<{ checks: { parameters: { webhookURL: string; headers: Record<string, string> } }[] }>(
      call(gateway, `GET /guardrails/${id}`, { key }),
    );
  const [shown] = (await read()).checks;
  assert.deepEqual(shown?.parameters, {
    webhookURL: "https://hooks.example.com/a?*****",
    headers: { Authorization: "Be*****789" },
    secret: "gu*****gns",
  });
  const database = await openDatabase({ url: `file:${file}` });
  const { rows } = await database.read("SELECT content FROM guardrail_versions");
  await database.close();
  assert.ok(!/guard-secret|url-secret/.test(JSON.stringify(rows)));
  const change = (checks: unknown) => problem(gateway, `PUT /guardrails/${id}`, { key, body: { checks } });
  assert.equal(await change((await read()).checks), ok);
  assert.deepEqual((await read()).checks[0]?.parameters, shown?.parameters);
  const moved = await change([webhook("https://elsewhere.example.com/", "Be*****789")]);
  assert.equal(moved, "400 AB01 checks.0.parameters.headers.Authorization");
  assert.equal(await change([webhook("https://elsewhere.example.com/", "Bearer another-0123456")]), ok);
});

test("segments of a webhook's path that look random are encrypted, shown masked, and left out of audit rows", async () => {
  const planted = "k3Jx9Qm2Zt7Lp4Wv8Yb1Rc6N";
  const url = `https://hooks.example.com/services/${planted}/check`;
  const checks = [{ id: "default.webhook", parameters: { webhookURL: url } }];
  const { id } = await done<{ id: string }>(call(gateway, "POST /guardrails", { key, body: { name: "P", checks } }));
  const read = async () => JSON.stringify(await done(call(gateway, `GET /guardrails/${id}`, { key })));
  const shown = await read();
  assert.match(shown, /https:\/\/hooks\.example\.com\/services\/\*{5}\/check/);
  assert.ok(!bytes().includes(planted));
  // the mask that was read stands for the address
  const { checks: masked } = JSON.parse(shown);
  assert.equal(await problem(gateway, `PUT /guardrails/${id}`, { key, body: { name: "Q", checks: masked } }), ok);
  assert.ok(!bytes().includes(planted));
});

test("deleting a config or a guardrail deletes its encrypted secrets", async () => {
  const database = await openDatabase({ url: `file:${file}` });
  const count = async () =>
    Number((await database.read("SELECT count(*) AS total FROM secrets WHERE kind = 'configs'")).rows[0]?.total);
  const before = await count();
  const slug = await save({ provider: "openai", api_key: secret });
  assert.equal(await count(), before + 1);
  await done(call(gateway, `DELETE /configs/${slug}`, { key }));
  assert.equal(await count(), before);
  await database.close();
});

test("secrets that earlier versions stored in clear are encrypted at the start", async () => {
  const other = createTemporaryFolder();
  const url = `file:${join(other.path, "old.db")}`;
  const first = await createTestGateway({ database: url });
  const own = { gateway: first.gateway };
  const body = { name: "Old", config: { provider: "openai", custom_host: `${upstream.url}/v1` } };
  const { slug } = await done<Shown>(call<Shown>(own, "POST /configs", { key, body }));
  const modal = {
    name: "M",
    slug: "modal-one",
    ai_provider_id: "modal",
    key: "k",
    configurations: { modal_secret: "a" },
  };
  await done(call(own, "POST /integrations", { key, body: modal }));
  await first.close();
  const database = await openDatabase({ url });
  const content = JSON.stringify({ ...body.config, api_key: secret });
  await database.write([
    { sql: "UPDATE config_versions SET content = ?", args: [content] },
    { sql: "UPDATE integrations SET configurations = ?", args: [JSON.stringify({ modal_key: secret })] },
    { sql: "DELETE FROM installation WHERE name = 'contents-sealed'", args: [] },
    { sql: "DELETE FROM installation WHERE name = 'integrations-sealed'", args: [] },
  ]);
  await database.close();
  const second = await createTestGateway({ database: url });
  const shown = await done<Shown>(call<Shown>(second, `GET /configs/${slug}`, { key }));
  assert.equal(JSON.parse(shown.config).api_key, mask);
  const integration = await done<{ configurations: object }>(call(second, "GET /integrations/modal-one", { key }));
  assert.deepEqual(integration.configurations, { masked_modal_key: mask, masked_modal_secret: "*****" });
  seen = undefined;
  await chat(second, helloBody, { "x-gateway-provider": null, "x-gateway-config": slug });
  assert.equal(seen, `Bearer ${secret}`);
  await second.close();
  const again = await openDatabase({ url });
  const { rows } = await again.read(
    "SELECT content AS text FROM config_versions UNION ALL SELECT configurations FROM integrations",
  );
  assert.ok(!JSON.stringify(rows).includes(secret));
  await again.close();
  other.remove();
});

const planted = "pl-planted-0123456789abcdef";
const openai = { provider: "openai", api_key: secret };
const spelled: Record<string, object> = {
  "a setting in camel case": {
    provider: "bedrock",
    awsAccessKeyId: "A",
    awsSecretAccessKey: "B",
    awsSessionToken: planted,
  },
  "a key id in camel case": { provider: "bedrock", awsAccessKeyId: planted, awsSecretAccessKey: "B" },
  "a token of Azure in camel case": { provider: "azure-openai", azureAdToken: planted, resourceName: "r" },
  "OAuth as text": {
    provider: "openai",
    oauth: JSON.stringify({ token_url: "https://h.example.com/", client_id: "c", client_secret: planted }),
  },
  "a token below a parameter": { ...openai, override_params: { metadata: { session_token: planted } } },
  "a header of a tool": { ...openai, override_params: { tools: [{ type: "mcp", headers: { "X-Foo": planted } }] } },
  "a header of a check that ends like an address": {
    ...openai,
    before_request_hooks: [
      {
        id: "x",
        checks: [
          {
            id: "default.webhook",
            parameters: { webhookURL: "https://h.example.com/", headers: { "X-Url": planted } },
          },
        ],
      },
    ],
  },
  "headers as text of a check in short form": {
    ...openai,
    input_guardrails: [
      { "default.webhook": { webhookURL: "https://h.example.com/", headers: JSON.stringify({ "X-Foo": planted }) } },
    ],
  },
  "any member of credentials": {
    ...openai,
    input_guardrails: [{ "default.webhook": { webhookURL: "https://h.example.com/", credentials: { foo: planted } } }],
  },
};
for (const [what, config] of Object.entries(spelled)) {
  test(`${what} in a saved config is encrypted, and shown as a mask`, async () => {
    const slug = await save(config);
    const shown = await show(slug);
    assert.ok(!JSON.stringify(shown).includes(planted), JSON.stringify(shown));
    assert.ok(!bytes().includes(planted));
    assert.equal(await put(slug, shown), ok);
    assert.deepEqual(await show(slug), shown);
  });
}

test("explain shows the parameters of a saved config as reading it does", async () => {
  const override_params = { api_key: planted, tools: [{ type: "mcp", authorization: planted }], temperature: 0.5 };
  const slug = await save({ ...openai, override_params });
  const body = { config: slug, request: { path: "/v1/chat/completions", body: { ...helloBody } } };
  const plan = await done(call<object>(gateway, "POST /configs/explain", { key, body }));
  assert.ok(!JSON.stringify(plan).includes(planted));
  assert.match(JSON.stringify(plan), /"temperature":0.5/);
});

test("the mask of a key is refused where an address in camel case changed", async () => {
  const slug = await save({ provider: "azure-openai", api_key: secret, azureResourceName: "mine", deployment_id: "d" });
  const moved = { provider: "azure-openai", api_key: mask, azureResourceName: "theirs", deployment_id: "d" };
  assert.match(await put(slug, moved), /^400 /);
});

test("a description of headers in a schema is preserved", async () => {
  const properties = { headers: { type: "object", description: "Headers to send" } };
  const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties } } }];
  const config = { ...openai, override_params: { tools } };
  assert.deepEqual(await show(await save(config)), { ...config, api_key: mask });
});

test("a config with thousands of credentials is refused quickly", async () => {
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x-${index}`, "0123456789abcdef"]));
  const body = { name: "Many", config: { ...openai, override_params: { headers: many } } };
  assert.match(await problem(gateway, "POST /configs", { key, body }), /^400 /);
});
