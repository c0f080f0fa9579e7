import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import {
  adminKey,
  createTemporaryFolder,
  createTestGateway,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { startServer, type Upstream } from "../support/upstream.ts";

const secret = "sk-test-0123456789abcdef";
const folder = createTemporaryFolder();
let gateway: TestGateway;
let upstream: Upstream;
let answer: { status: number; body: unknown } = { status: 200, body: {} };
let asked: string[] = [];
before(async () => {
  gateway = await createTestGateway({
    database: `file:${folder.path}/gateway.db`,
  });
  upstream = await startServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
});
after(async () => {
  await gateway.close();
  await upstream.close();
  folder.remove();
});

interface Tested {
  success: boolean | null;
  status_code: number | null;
  models: number | null;
  error: string | null;
  message: string;
  response_time_ms: number;
}

async function store(members: object = {}, slug = `p-${crypto.randomUUID().slice(0, 8)}`): Promise<string> {
  const body = {
    name: slug,
    slug,
    ai_provider_id: "openai",
    key: secret,
    configurations: { custom_host: `${upstream.url}/v1` },
    default_provider_slug: slug,
    ...members,
  };
  await done(call(gateway, "POST /integrations", { key: workspaceKey, body }));
  return slug;
}
const run = (slug: string, { kind = "providers", key = workspaceKey, query = "" } = {}) =>
  done(call<Tested>(gateway, `POST /${kind}/${slug}/test${query}`, { key }));

test("a credential that works is confirmed by the provider's list of models", async () => {
  const slug = await store();
  answer = { status: 200, body: { object: "list", data: [{ id: "gpt-a" }, { id: "gpt-b" }] } };
  for (const kind of ["providers", "integrations"]) {
    asked = [];
    const { response_time_ms: time, ...shown } = await run(slug, { kind });
    assert.deepEqual(asked, [`GET /v1/models Bearer ${secret}`]);
    assert.ok(time >= 0);
    assert.deepEqual(shown, {
      object: "provider_test",
      provider: slug,
      success: true,
      status_code: 200,
      models: 2,
      error: null,
      message: "The provider listed its models",
    });
  }
});

test("a refused credential fails in the provider's own words, without the credential", async () => {
  const slug = await store();
  const message = `Incorrect API key provided: ${secret}.`;
  answer = { status: 401, body: { error: { message, type: "invalid_request_error", code: "invalid_api_key" } } };
  const shown = await run(slug);
  assert.deepEqual([shown.success, shown.status_code], [false, 401]);
  assert.match(shown.error ?? "", /Incorrect API key provided/);
  assert.equal(JSON.stringify(shown).includes(secret), false);
});

test("a provider that fails, or is away, fails the test with what is known", async () => {
  const slug = await store();
  answer = { status: 503, body: { error: { message: "overloaded" } } };
  const failing = await run(slug);
  assert.deepEqual([failing.success, failing.status_code], [false, 503]);
  assert.match(failing.error ?? "", /overloaded/);
  const gone = await startServer(() => {});
  await gone.close();
  const away = await run(await store({ configurations: { custom_host: `${gone.url}/v1` } }));
  assert.deepEqual([away.success, away.status_code], [false, null]);
  assert.match(away.error ?? "", /Cannot get a response from openai/);
});

test("a provider without a list of models is neither confirmed nor refused", async () => {
  const slug = await store({ ai_provider_id: "lightning-ai" });
  asked = [];
  const shown = await run(slug);
  assert.deepEqual([shown.success, shown.status_code, shown.error], [null, null, null]);
  assert.match(shown.message, /has no list of models/);
  assert.deepEqual(asked, []);
});

test("admin keys name the workspace of a provider, and test an integration through any provider that uses it", async () => {
  const slug = await store();
  answer = { status: 200, body: { object: "list", data: [] } };
  assert.equal(await refusal(call(gateway, `POST /providers/${slug}/test`, { key: adminKey })), "400 AB01");
  const shown = await run(slug, { key: adminKey, query: "?workspace_id=default" });
  assert.equal(shown.success, true);
  assert.equal(
    (await run(slug, { kind: "integrations", key: adminKey, query: "?workspace_id=default" })).success,
    true,
  );
});

test("an integration that no provider uses is refused with what to do", async () => {
  const slug = await store({ create_default_provider: false, default_provider_slug: undefined });
  const answer = await call(gateway, `POST /integrations/${slug}/test`, { key: workspaceKey });
  assert.equal(await refusal(Promise.resolve(answer)), "409 AB07");
  assert.match(JSON.stringify(answer.body), /no provider uses it yet; create one/);
});

test("a test leaves an audit row that names the record", async () => {
  const slug = await store();
  await run(slug);
  const { id } = await done(call<{ id: string }>(gateway, `GET /providers/${slug}`, { key: workspaceKey }));
  const rows = await done(
    call(
      gateway,
      "GET /audit-logs?start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z&resource_type=providers&action=test",
      { key: adminKey },
    ),
  );
  assert.ok(JSON.stringify(rows).includes(id));
});
