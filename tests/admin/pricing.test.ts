import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestGateway, readJson, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

interface Pricing {
  currency: string;
  pay_as_you_go: Record<string, { price: number }> & { additional_units?: Record<string, { price: number }> };
}

const read = async (path: string) => readJson<Pricing>(await gateway.fetch(path));

for (const prefix of ["", "/v1"]) {
  test(`GET ${prefix}/model-configs/pricing answers US cents per token without credential`, async () => {
    const { currency, pay_as_you_go } = await read(`${prefix}/model-configs/pricing/openai/gpt-4o`);
    assert.equal(currency, "USD");
    assert.deepEqual(pay_as_you_go.request_token, { price: 0.00025 });
    assert.deepEqual(pay_as_you_go.response_token, { price: 0.001 });
    assert.deepEqual(pay_as_you_go.cache_read_input_token, { price: 0.000125 });
  });

  test(`GET ${prefix}/model-configs/general answers facts`, async () => {
    const facts = await readJson<Record<string, unknown>>(
      await gateway.fetch(`${prefix}/model-configs/general/anthropic/claude-3-5-haiku-20241022`),
    );
    assert.deepEqual(facts, {
      object: "model",
      id: "claude-3-5-haiku-20241022",
      name: "claude-3-5-haiku-20241022",
      provider: "anthropic",
      priced: [
        "request_token",
        "response_token",
        "cache_read_input_token",
        "cache_write_input_token",
        "cache_write_1h",
        "web_search",
      ],
      batch: true,
    });
  });

  for (const kind of ["pricing", "general"]) {
    for (const rest of ["openai/no-such-model", "no-such-provider/gpt-4o", "openai/", "__proto__/constructor"]) {
      test(`GET ${prefix}/model-configs/${kind}/${rest} is 404`, async () => {
        const response = await gateway.fetch(`${prefix}/model-configs/${kind}/${rest}`);
        assert.equal(response.status, 404);
        assert.deepEqual(await readJson(response), {
          status: "failure",
          success: false,
          message: "Model not found",
          error: "Model not found",
          data: { message: "Model not found", errorCode: "AB08" },
        });
      });
    }
  }
}

test("prices of units, images and batches are US cents", async () => {
  const units = await read("/model-configs/pricing/azure-ai/gpt-4.1-2025-04-14");
  assert.deepEqual(units.pay_as_you_go.additional_units?.web_search, { price: 1 });
  const { pay_as_you_go } = await read("/model-configs/pricing/azure-ai/Stable-Diffusion-3.5-Large");
  assert.deepEqual(pay_as_you_go.image, { default: { default: { price: 8 } } });
  const batch = await readJson<{ batch: object }>(
    await gateway.fetch("/model-configs/pricing/anthropic/claude-3-5-haiku-20241022"),
  );
  assert.deepEqual(batch.batch, { request_token: { price: 0.00004 }, response_token: { price: 0.0002 } });
});

for (const model of ["meta-llama/Llama-2-70b-chat-hf", "meta-llama%2FLlama-2-70b-chat-hf"]) {
  test(`a model may contain a slash: ${model}`, async () => {
    const { pay_as_you_go } = await read(`/model-configs/pricing/anyscale/${model}`);
    assert.deepEqual(pay_as_you_go.request_token, { price: 0.0001 });
  });
}
