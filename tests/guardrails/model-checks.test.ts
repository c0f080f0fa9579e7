import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { chat, createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** What the model says, or a reply with its status. */
let said: string | { status: number; body: object } = "";
let provider = "";
before(async () => {
  gateway = await createTestGateway();
  upstream = await startRecordingUpstream((_, response) => {
    const { status, body } =
      typeof said === "string"
        ? {
            status: 200,
            body: {
              id: "c-1",
              object: "chat.completion",
              model: "judge",
              choices: [{ index: 0, message: { role: "assistant", content: said } }],
              usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
            },
          }
        : said;
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  const made = await done(
    call<{ provider_slug: string }>(gateway, "POST /integrations", {
      key: workspaceKey,
      body: {
        name: "J",
        ai_provider_id: "openai",
        key: "sk-judge-key-000000",
        configurations: { custom_host: `${upstream.url}/v1` },
      },
    }),
  );
  provider = made.provider_slug;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

interface Checked {
  verdict: boolean;
  data: Record<string, unknown> | null;
  error: { message: string } | null;
}

/** Asks under a check that denies. */
async function ask(check: object, { text = "my text", key = workspaceKey } = {}) {
  const config = JSON.stringify({ input_guardrails: [{ ...check, deny: true }] });
  const trace = crypto.randomUUID();
  const response = await chat(
    gateway,
    { model: "echo-1", messages: [{ role: "user", content: text }] },
    { "x-gateway-api-key": key, "x-gateway-provider": "echo", "x-gateway-config": config, "x-gateway-trace-id": trace },
  );
  const body = (await response.json()) as {
    error?: { message: string };
    choices?: { message: { content: string } }[];
    hook_results?: { before_request_hooks: { checks: Checked[] }[] };
  };
  const result = body.hook_results?.before_request_hooks[0]?.checks[0];
  return { status: response.status, result, body, trace };
}

const judge = (more: object = {}) => ({ provider, model: "judge", ...more });

for (const [answer, status] of [
  ['{"label": "clean"}', 200],
  ['```json\n{"label": "word salad"}\n```', 446],
  ['{"label": "who knows"}', 446],
  ["I cannot say", 446],
  ["", 446],
] as const) {
  test(`gibberish answers ${status} where the model says ${answer}`, async () => {
    said = answer;
    const { status: found } = await ask({ "gateway.gibberish": judge() });
    assert.equal(found, status);
    const sent = JSON.parse(upstream.requests.at(-1)?.text ?? "{}");
    assert.deepEqual([sent.model, JSON.parse(sent.messages[1].content)], ["judge", { text: "my text" }]);
    assert.equal(upstream.requests.at(-1)?.headers.authorization, "Bearer sk-judge-key-000000");
  });
}

test("moderateContent asks moderation models by their API, and others by chat", async () => {
  const categories = ["hate", "violence"];
  said = {
    status: 200,
    body: {
      id: "m",
      model: "omni-moderation",
      results: [{ flagged: true, categories: { hate: true, violence: false } }],
    },
  };
  const moderated = await ask({ "gateway.moderateContent": judge({ model: "omni-moderation", categories }) });
  assert.deepEqual([moderated.status, moderated.result?.data?.flagged], [446, ["hate"]]);
  assert.equal(upstream.requests.at(-1)?.path, "/v1/moderations");
  said = '{"flagged": ["sexual", "violence", "other"]}';
  const chatted = await ask({ "gateway.moderateContent": judge({ categories }) });
  assert.deepEqual([chatted.status, chatted.result?.data?.flagged], [446, ["violence"]]);
  assert.equal(upstream.requests.at(-1)?.path, "/v1/chat/completions");
  said = '{"flagged": []}';
  assert.equal((await ask({ "gateway.moderateContent": judge({ categories }) })).status, 200);
});

test("pii asks a model for names and addresses, and replaces them wherever they are", async () => {
  said =
    '{"entities": [{"kind": "NAME", "text": "Jo Doe"}, {"kind": "NAME", "text": "absent"}, {"kind": "OTHER", "text": "text"}]}';
  const check = { "gateway.pii": judge({ categories: ["NAME", "EMAIL_ADDRESS"], redact: true }) };
  const { body } = await ask(check, { text: "Jo Doe and Jo Does, jo@example.com; again Jo Doe" });
  assert.equal(body.choices?.[0]?.message.content, "{{NAME_1}} and Jo Does, {{EMAIL_ADDRESS_1}}; again {{NAME_1}}");
});

test("the calls of checks have rows with costs in the same trace, and no guardrails run on them", async () => {
  said = '{"label": "clean"}';
  const defaults = await done(
    call<{ id: string }>(gateway, "POST /guardrails", {
      key: workspaceKey,
      body: { name: "G", checks: [{ id: "gateway.gibberish", parameters: judge() }], actions: { deny: true } },
    }),
  );
  const workspaces = await done(call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces"));
  const workspace = `PUT /admin/workspaces/${workspaces.data[0]?.id}`;
  await done(call(gateway, workspace, { body: { defaults: { input_guardrails: [defaults.id] } } }));
  const before = upstream.requests.length;
  const { status, trace } = await ask({ "gateway.gibberish": judge() });
  assert.equal(status, 200);
  // its own check and the default's, each once: no check checks the question of another
  assert.equal(upstream.requests.length - before, 2);
  const rows = await waitForLogs(gateway, `trace_id=${trace}`, 3);
  assert.deepEqual(rows.map(({ model }) => model).toSorted(), ["echo-1", "judge", "judge"]);
  await done(call(gateway, workspace, { body: { defaults: { input_guardrails: [] } } }));
});

test("a used-up budget refuses the calls of checks, so a guardrail that denies does", async () => {
  said = '{"label": "clean"}';
  const key = await done(
    call<{ id: string; key: string }>(gateway, "POST /api-keys/workspace/service", {
      key: workspaceKey,
      body: { name: "K", scopes: ["completions.write"], rate_limits: [{ type: "requests", unit: "rpd", value: 2 }] },
    }),
  );
  assert.equal((await ask({ "gateway.gibberish": judge() }, { key: key.key })).status, 200);
  const { status } = await ask({ "gateway.gibberish": judge() }, { key: key.key });
  assert.ok([429, 446].includes(status), String(status));
});

test("a check may ask the model of an alias, and one that leads nowhere denies", async () => {
  said = '{"label": "clean"}';
  const body = { name: "asked/judge", target: { model: `@${provider}/judge` } };
  await done(call(gateway, "POST /model-aliases", { key: workspaceKey, body }));
  assert.equal((await ask({ "gateway.gibberish": { model: "asked/judge" } })).status, 200);
  assert.equal(JSON.parse(upstream.requests.at(-1)?.text ?? "{}").model, "judge");
  const { status, result } = await ask({ "gateway.gibberish": { model: "nothing" } });
  assert.deepEqual([status, result?.error?.message], [446, "Cannot ask the model: its call returned 400"]);
});

test("a check without a model is refused, unless the operator chose one", async () => {
  const { status, body } = await ask({ "gateway.gibberish": {} });
  assert.equal(status, 400);
  assert.match(body.error?.message ?? "", /needs provider and model/);
  const own = await createTestGateway({ guardrailModel: { provider: "chosen", model: "judge" } });
  const saved = await call(own, "POST /guardrails", {
    key: workspaceKey,
    body: { name: "G", checks: [{ id: "gateway.gibberish" }] },
  });
  assert.equal(saved.status, 200);
  await own.close();
});

test("a provider that is this gateway again leads to no endless chain of checks", async () => {
  const host = await startRecordingUpstream(async (request, response) => {
    // the request arrives at the gateway as one of its clients
    const headers = new Headers({
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": "echo",
    });
    const hops = request.headers["gateway-hops"];
    if (typeof hops === "string") headers.set("gateway-hops", hops);
    headers.set(
      "x-gateway-config",
      JSON.stringify({ input_guardrails: [{ "gateway.gibberish": { provider: loop, model: "judge" }, deny: true }] }),
    );
    const again = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body: request.text });
    response.writeHead(again.status, { "content-type": "application/json" });
    response.end(await again.text());
  });
  const { provider_slug: loop } = await done(
    call<{ provider_slug: string }>(gateway, "POST /integrations", {
      key: workspaceKey,
      body: {
        name: "L",
        ai_provider_id: "openai",
        key: "sk-loop-key-0000000",
        configurations: { custom_host: `${host.url}/v1` },
      },
    }),
  );
  const { status } = await ask({ "gateway.gibberish": judge({ provider: loop }) });
  assert.equal(status, 446);
  assert.ok(host.requests.length <= 3, String(host.requests.length));
  await host.close();
});

test("a model that fails or is unknown leaves the check undecided", async () => {
  said = { status: 500, body: { error: { message: "down" } } };
  const failed = await ask({ "gateway.gibberish": judge() });
  assert.deepEqual(
    [failed.status, failed.result?.error?.message],
    [446, "Cannot ask the model: its call returned 500"],
  );
  const unknown = await ask({ "gateway.gibberish": judge({ provider: "nobody" }) });
  assert.match(unknown.result?.error?.message ?? "", /returned 400/);
});
