import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { adminKey, createTestGateway, type TestGateway, waitForLog, workspaceKey } from "../support/gateway.ts";
import { askGuarded, type GuardedRequest, words } from "../support/guarded.ts";
import { saveConfig } from "../support/routed.ts";

let gateway: TestGateway;
let workspaceId = "";
let organisationId = "";
before(async () => {
  gateway = await createTestGateway();
  const { trace } = await askGuarded(gateway, { retry: { attempts: 0 } });
  const log = await waitForLog(gateway, trace);
  workspaceId = log.workspace_id ?? "";
  organisationId = log.organisation_id;
});
after(() => gateway.close());

const admin = <Shape = Record<string, unknown>>(route: string, body?: object) =>
  call<Shape>(gateway, route, { key: adminKey, ...(body && { body }) });
const nothing = { retry: { attempts: 0 } };
/** Asks without any config, or with one. */
const ask = (config: object = nothing, request: GuardedRequest = {}) => askGuarded(gateway, config, request);
const plain = (request: GuardedRequest = {}) =>
  ask(nothing, { ...request, headers: { "x-gateway-config": null, ...request.headers } });

interface Saved {
  id: string;
  slug: string;
}
/** Saves a guardrail that requires these words in a text, or forbids them. */
function save(word: string, actions: object = {}, organisation = false): Promise<Saved> {
  const checks = [{ id: "default.contains", parameters: { words: [word], operator: "none" } }];
  const place = organisation ? {} : { workspace_id: workspaceId };
  return done(admin<Saved>("POST /guardrails", { name: `no ${word}`, checks, actions, ...place }));
}
const setWorkspace = (defaults: object) => done(admin(`PUT /admin/workspaces/${workspaceId}`, { defaults }));
const setOrganisation = (defaults: object) => done(admin("PUT /admin/organisation/defaults", defaults));
beforeEach(async () => {
  await setWorkspace({ input_guardrails: [], output_guardrails: [] });
  await setOrganisation({ input_guardrails: [], output_guardrails: [] });
  await done(
    admin("PUT /workspace-exclusions/input-guardrails", {
      organisation_id: organisationId,
      workspaces: [],
      override_existing: true,
    }),
  );
});
const hooksOf = ({ body }: Awaited<ReturnType<typeof ask>>) => body.hook_results;

test("a config names a saved guardrail by slug or id, and can override its settings for a verdict", async () => {
  const { id, slug } = await save("there");
  for (const [entry, status] of [
    [slug, 246],
    [id, 246],
    [{ id: slug, deny: true }, 446],
    [{ id, async: true }, 200],
  ] as const) {
    const answer = await ask({ input_guardrails: [entry] });
    assert.equal(answer.status, status, JSON.stringify(entry));
    if (status !== 200) assert.equal(hooksOf(answer)?.before_request_hooks[0]?.id, slug);
    if (status !== 200)
      assert.match(String(hooksOf(answer)?.before_request_hooks[0]?.guardrail_version_id), /^[0-9a-f-]{36}$/);
  }
  const denying = await save("there", { deny: true });
  assert.equal((await ask({ output_guardrails: [denying.slug] })).status, 446);
  assert.equal((await ask({ output_guardrails: [{ id: denying.slug, deny: false }] })).status, 246);
});

test("a guardrail listed twice in a direction runs once", async () => {
  const { id, slug } = await save("there");
  const answer = await ask({ input_guardrails: [slug, id], output_guardrails: [slug] });
  assert.deepEqual([hooksOf(answer)?.before_request_hooks.length, hooksOf(answer)?.after_request_hooks.length], [1, 1]);
});

test("a change of a saved guardrail takes effect at once", async () => {
  const { slug } = await save("there");
  const config = await saveConfig(gateway, { input_guardrails: [slug] });
  const named = () => ask(nothing, { headers: { "x-gateway-config": config } });
  assert.equal((await named()).status, 246);
  const checks = [{ id: "default.contains", parameters: { words: ["elsewhere"], operator: "none" } }];
  await done(admin(`PUT /guardrails/${slug}`, { checks }));
  assert.equal((await named()).status, 200);
});

test("an unknown guardrail is refused, when a config is saved and when it is used", async () => {
  const answer = await ask({
    targets: [{ ...nothing, input_guardrails: ["pg-none-000000"] }],
    strategy: { mode: "single" },
  });
  assert.deepEqual([answer.status, answer.body.error?.code], [400, "invalid_guardrails"]);
  assert.match(String(answer.body.error?.message), /Following guardrails are not valid: pg-none-000000/);
  const config = { ...nothing, output_guardrails: [{ id: "pg-none-000000", deny: true }] };
  const refused = await refusal(call(gateway, "POST /configs", { key: workspaceKey, body: { name: "x", config } }));
  assert.equal(refused, "400 AB01");
});

test("a guardrail in a direction its check cannot run in is refused", async () => {
  const checks = [{ id: "default.modelwhitelist", parameters: { models: ["m"] } }];
  const body = { name: "models", checks, workspace_id: workspaceId };
  const { slug } = await done(admin<Saved>("POST /guardrails", body));
  assert.equal((await ask({ output_guardrails: [slug] })).status, 400);
  assert.equal((await ask({ input_guardrails: [slug] })).status, 246);
});

test("defaults run for every request: the config's guardrails first, then the organisation's, then the workspace's", async () => {
  const own = await save("there");
  const ofWorkspace = await save("Hello");
  const ofOrganisation = await save("there", {}, true);
  await setWorkspace({ input_guardrails: [ofWorkspace.slug], output_guardrails: [ofWorkspace.slug] });
  await setOrganisation({ input_guardrails: [ofOrganisation.slug] });
  const answer = await ask({ input_guardrails: [own.slug] });
  assert.deepEqual(
    hooksOf(answer)?.before_request_hooks.map(({ id }) => id),
    [own.slug, ofOrganisation.slug, ofWorkspace.slug],
  );
  assert.deepEqual(
    hooksOf(answer)?.after_request_hooks.map(({ id }) => id),
    [ofWorkspace.slug],
  );
  const without = await plain();
  assert.equal(without.status, 246);
  assert.deepEqual(
    hooksOf(without)?.before_request_hooks.map(({ id }) => id),
    [ofOrganisation.slug, ofWorkspace.slug],
  );
  const messages = await plain({ path: "/v1/messages", body: { max_tokens: 9 } });
  assert.deepEqual([messages.status, hooksOf(messages)?.before_request_hooks.length], [246, 2]);
  const spoken = await plain({ path: "/v1/audio/speech", body: { input: "there", voice: "x" } });
  assert.equal(hooksOf(spoken)?.before_request_hooks.length, 2);
});

test("a denying default cannot be switched off by a config, and an exclusion switches it off", async () => {
  const denying = await save("there", { deny: true }, true);
  await setOrganisation({ input_guardrails: [denying.slug] });
  assert.equal((await plain()).status, 446);
  assert.equal((await ask({ input_guardrails: [] })).status, 446);
  const streamed = await plain({ body: { stream: true } });
  assert.equal(streamed.status, 446);
  await done(
    admin("PUT /workspace-exclusions/input-guardrails", {
      organisation_id: organisationId,
      override_existing: true,
      workspaces: [{ workspace_id: workspaceId, excluded: true }],
    }),
  );
  assert.equal((await plain()).status, 200);
});

test("a soft denial of a default does not soften a hard one", async () => {
  const soft = await done(
    admin<Saved>("POST /guardrails", {
      name: "soft",
      workspace_id: workspaceId,
      actions: { deny: true },
      checks: [{ id: "default.contains", parameters: { words: ["there"], operator: "none" }, soft_deny_200: true }],
    }),
  );
  assert.equal((await ask({ input_guardrails: [soft.slug] })).status, 200);
  const hard = await save("Hello", { deny: true });
  await setWorkspace({ input_guardrails: [hard.slug] });
  assert.equal((await ask({ input_guardrails: [soft.slug] })).status, 446);
});

test("requests to proxy providers are guarded as forwarded requests", async () => {
  const checks = [{ id: "default.allowedRequestTypes", parameters: { allowedTypes: ["chatComplete"] } }];
  const { slug } = await done(
    admin<Saved>("POST /guardrails", { name: "chats", workspace_id: workspaceId, checks, actions: { deny: true } }),
  );
  await setWorkspace({ input_guardrails: [slug] });
  assert.equal((await plain()).status, 200);
  const headers = { "x-gateway-provider": "passthrough", "x-gateway-custom-host": "http://127.0.0.1:9" };
  assert.equal((await plain({ headers })).status, 446);
  assert.equal((await plain({ path: "/v1/some/path" })).status, 446);
});

test("the config of a key counts for requests to a proxy provider", async () => {
  const types = { "default.allowedRequestTypes": { allowedTypes: ["chatComplete"] }, deny: true };
  const texts = { "default.contains": { words: ["there"], operator: "none" }, deny: true };
  const headers = { "x-gateway-provider": "passthrough", "x-gateway-custom-host": "http://127.0.0.1:9" };
  for (const config of [{ input_guardrails: [types] }, { provider: "echo", input_guardrails: [texts] }]) {
    const body = {
      name: `key ${JSON.stringify(config).length}`,
      scopes: ["completions.write"],
      workspace_id: workspaceId,
      defaults: { config_id: await saveConfig(gateway, config), allow_config_override: false },
    };
    const { key } = await done(admin<{ key: string }>("POST /api-keys/workspace/service", body));
    const asked = { headers: { ...headers, "x-gateway-api-key": key } };
    assert.equal((await plain(asked)).status, 446, JSON.stringify(config));
  }
});

test("/openapi.json describes what guardrails add to responses", async () => {
  const document = JSON.parse(await (await gateway.fetch("/openapi.json")).text());
  for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank"]) {
    assert.deepEqual(Object.keys(document.paths[path].post.responses).sort(), ["200", "246", "446", "4XX", "default"]);
  }
  assert.deepEqual(Object.keys(document.paths["/v1/configs/explain"].post.responses).sort(), ["200", "4XX", "default"]);
});

test("a saved guardrail that holds back streams denies them, also as a default", async () => {
  const { slug } = await save("there", { deny: true, stream_mode: "buffer" });
  const streamed = { body: { stream: true } };
  assert.equal((await ask({ output_guardrails: [slug] }, streamed)).status, 446);
  assert.equal((await ask({ output_guardrails: [{ id: slug, stream_mode: "inform" }] }, streamed)).status, 200);
  await setWorkspace({ output_guardrails: [slug] });
  assert.equal((await plain(streamed)).status, 446);
});

for (const [name, onFail] of [
  ["a word", "block"],
  ["an object", { action: "block" }],
] as const) {
  test(`a saved guardrail whose onFail blocks, written as ${name}, denies requests`, async () => {
    const { slug } = await save("there", { onFail });
    assert.equal((await ask({ input_guardrails: [slug] })).status, 446);
  });
}

test("a config cannot soften a default by naming it", async () => {
  const { id, slug } = await save("there", { deny: true }, true);
  await setOrganisation({ input_guardrails: [slug], output_guardrails: [slug] });
  for (const softened of [{ deny: false }, { async: true }, { type: "mutator", async: true }, { on_error: "pass" }]) {
    for (const name of [id, slug]) {
      const entry = { id: name, ...softened };
      const answer = await ask({ input_guardrails: [entry] });
      assert.equal(answer.status, 446, JSON.stringify(entry));
      assert.equal(hooksOf(answer)?.before_request_hooks.length, 1);
    }
  }
  await setOrganisation({ output_guardrails: [slug], input_guardrails: [] });
  assert.equal((await ask({ output_guardrails: [{ id, deny: false }] })).status, 446);
});

test("a config that uses up its checks' time leaves the defaults theirs", async () => {
  const checks = [{ id: "default.regexReplace", parameters: { rule: "/secret/g", redactText: "[cut]" } }];
  const { slug } = await done(
    admin<Saved>("POST /guardrails", { name: "redact", workspace_id: workspaceId, checks, actions: {} }),
  );
  await setWorkspace({ input_guardrails: [slug] });
  const slow = { id: "default.regexMatch", parameters: { rule: "(?:.?){200}[yz]" } };
  const input_guardrails = [{ checks: Array.from({ length: 20 }, () => slow), type: "mutator" }];
  const content = `${"a".repeat(40_000)} secret`;
  const answer = await ask({ input_guardrails }, { body: { messages: [{ role: "user", content }] } });
  assert.match(JSON.stringify(hooksOf(answer)), /take too (?:long|many steps)/);
  assert.doesNotMatch(answer.text, /a secret/);
});

test("saving a guardrail that cannot deny streamed responses returns a warning", async () => {
  const checks = [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }];
  const early = [{ id: "default.modelwhitelist", parameters: { models: ["m"] } }];
  const create = (body: object) =>
    done(admin<Saved & { warnings?: string[] }>("POST /guardrails", { name: "w", ...body }));
  const warned = await create({ checks, actions: { deny: true, stream_mode: "inform" } });
  assert.match(warned.warnings?.[0] ?? "", /cannot deny streamed answers.*stream_mode/);
  for (const body of [
    { checks, actions: { deny: true } },
    { checks, actions: { deny: true, stream_mode: "buffer" } },
    { checks, actions: { deny: true, async: true } },
    { checks, actions: { deny: false } },
    { checks: early, actions: { deny: true } },
  ]) {
    assert.equal((await create(body)).warnings, undefined, JSON.stringify(body));
  }
  const change = (actions: object) =>
    done(admin<{ warnings?: string[] }>(`PUT /guardrails/${warned.slug}`, { actions }));
  assert.equal((await change({ deny: true, stream_mode: "buffer" })).warnings, undefined);
  assert.equal((await change({ deny: true, stream_mode: "inform" })).warnings?.length, 1);
});

test("saving a guardrail whose jwt check lets wrong tokens pass returns a warning", async () => {
  const checks = [{ id: "jwt", parameters: { jwks: { keys: [] } } }];
  const create = (actions: object) =>
    done(admin<Saved & { warnings?: string[] }>("POST /guardrails", { name: "w", checks, actions }));
  for (const actions of [{}, { deny: false }, { deny: true, async: true }]) {
    const { warnings } = await create(actions);
    assert.equal(warnings?.length, 1, JSON.stringify(actions));
    assert.match(warnings[0] ?? "", /wrong token are let through.*actions\.deny/);
  }
  assert.equal((await create({ deny: true })).warnings, undefined);
});

test("the log row of a request denied before its call names the provider", async () => {
  const config = { input_guardrails: [{ ...words("none", ["there"]), deny: true }] };
  for (const headers of [{}, { "x-gateway-provider": "openai" }]) {
    const answer = await ask(config, { headers });
    const provider = Reflect.get(headers, "x-gateway-provider") ?? "echo";
    assert.deepEqual([answer.status, answer.headers.get("x-gateway-provider")], [446, provider]);
  }
});
