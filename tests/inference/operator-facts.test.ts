import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperatorFacts } from "../../src/schemas/model-facts.ts";
import { call, done } from "../support/control.ts";
import { createTestGateway, requestHeaders, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const future = "nova-9";
const answer = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: future,
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
};

interface Place {
  gateway: TestGateway;
  upstream: RecordingUpstream;
}

/** Runs with a gateway and an upstream, and an integration of a provider that calls it. */
async function withGateway(
  { facts, provider = "mistral-ai" }: { facts?: OperatorFacts; provider?: string },
  run: (place: Place) => Promise<void>,
): Promise<void> {
  const upstream = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  const gateway = await createTestGateway(facts ? { modelFacts: facts } : {});
  try {
    const body = {
      name: "Own",
      slug: "own",
      ai_provider_id: provider,
      key: "fake-stored-credential-1234567890",
      configurations: { custom_host: `${upstream.url}/v1` },
      create_default_provider: true,
      default_provider_slug: "own",
    };
    await done(call(gateway, "POST /integrations", { key: workspaceKey, body }));
    await run({ gateway, upstream });
  } finally {
    await gateway.close();
    await upstream.close();
  }
}

const putModel = ({ gateway }: Place, model_facts: unknown, slug = future) =>
  call(gateway, "PUT /integrations/own/models", {
    key: workspaceKey,
    body: { models: [{ slug, enabled: true, model_facts }] },
  });

interface Asked {
  sent: Record<string, unknown>;
  dropped: string | null;
}

/** Sends a chat, or a message of the Messages API, and returns what the provider was sent. */
async function ask({ gateway, upstream }: Place, path = "/v1/chat/completions", model = future): Promise<Asked> {
  const headers = requestHeaders({ "x-gateway-provider": "@own" });
  const body = { model, temperature: 0.3, max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };
  const response = await gateway.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, await response.text());
  return {
    sent: JSON.parse(upstream.requests.at(-1)?.text ?? "{}"),
    dropped: response.headers.get("x-gateway-dropped-params"),
  };
}

const paths = ["/v1/chat/completions", "/v1/messages"];
const withoutSampling: OperatorFacts = {
  "mistral-ai": { rows: [{ match: ["nova-*"], facts: { sampling: "none" } }] },
};

for (const path of paths) {
  test(`a future model is sent a temperature at ${path} until its integration says that it takes none`, async () => {
    await withGateway({}, async (place) => {
      assert.deepEqual(
        [await ask(place, path)].map(({ sent, dropped }) => [sent.temperature, dropped]),
        [[0.3, null]],
      );
      await done(putModel(place, { sampling: "none" }));
      const { sent, dropped } = await ask(place, path);
      assert.deepEqual([sent.temperature, dropped], [undefined, "temperature"]);
      await done(putModel(place, null));
      assert.equal((await ask(place, path)).sent.temperature, 0.3);
    });
  });

  test(`a future model is sent no temperature at ${path} where a row of the file matches it`, async () => {
    await withGateway({ facts: withoutSampling }, async (place) => {
      assert.deepEqual((await ask(place, path)).sent.temperature, undefined);
      assert.deepEqual((await ask(place, path, "other")).sent.temperature, 0.3);
    });
  });
}

test("chats of OpenAI's own clients are fitted to what the operator says", async () => {
  await withGateway({ provider: "openai" }, async (place) => {
    assert.equal((await ask(place)).sent.temperature, 0.3);
    await done(putModel(place, { sampling: "none" }));
    const { sent, dropped } = await ask(place);
    assert.deepEqual([sent.temperature, dropped], [undefined, "temperature"]);
  });
});

test("what the operator says for lists of models leaves a chat as it was sent", async () => {
  const anyOf = [{ type: "object", properties: { a: {} }, required: ["a"] }];
  const sent = {
    model: future,
    messages: [{ role: "user", content: "Hello" }],
    tools: [{ type: "function", function: { name: "draw", parameters: { anyOf } } }],
  };
  const listed = {
    contextWindow: 128_000,
    inputs: ["text"],
    outputs: ["text"],
    takesTools: true,
    reasons: false,
  } as const;
  const rows = [{ match: [future], facts: { ...listed, maxInputTokens: 100_000, retiredOn: "2030-01-01" } }];
  await withGateway({ facts: { openai: { rows } }, provider: "openai" }, async (place) => {
    const send = async () => {
      const init = {
        method: "POST",
        headers: requestHeaders({ "x-gateway-provider": "@own" }),
        body: JSON.stringify(sent),
      };
      const response = await place.gateway.fetch("/v1/chat/completions", init);
      assert.equal(response.status, 200, await response.text());
      return JSON.parse(place.upstream.requests.at(-1)?.text ?? "{}");
    };
    assert.deepEqual(await send(), sent);
    await done(putModel(place, { contextWindow: 64_000 }));
    assert.deepEqual(await send(), sent);
  });
});

test("facts of the integration precede the file's, and those the built-in table's", async () => {
  const model = "gpt-5";
  const facts: OperatorFacts = { openai: { rows: [{ match: ["gpt-5*"], facts: { sampling: "any" } }] } };
  const temperature = async (place: Place) => (await ask(place, "/v1/messages", model)).sent.temperature;
  await withGateway({ provider: "openai" }, async (place) => assert.equal(await temperature(place), undefined));
  await withGateway({ facts, provider: "openai" }, async (place) => {
    assert.equal(await temperature(place), 0.3);
    await done(putModel(place, { sampling: "none" }, model));
    assert.equal(await temperature(place), undefined);
    await done(putModel(place, { contextWindow: 1 }, model));
    assert.equal(await temperature(place), 0.3);
  });
});

test("the models of an integration list their facts", async () => {
  await withGateway({}, async (place) => {
    const facts = { sampling: "none", efforts: ["low", "max"], thinkingBudget: [1_024, 32_000], contextWindow: 9 };
    await done(putModel(place, facts));
    const { models } = await done(
      call<{ models: { model_facts: unknown }[] }>(place.gateway, "GET /integrations/own/models", {
        key: workspaceKey,
      }),
    );
    assert.deepEqual(models[0]?.model_facts, facts);
  });
});

test("a gateway does not start with facts of a provider that it does not have", async () => {
  await assert.rejects(createTestGateway({ modelFacts: { nobody: { rows: [] } } }), /nobody is not a provider/);
});
