// The page "Models" in a real browser: what the gateway knows of the models that a workspace may call.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findings } from "./axe.ts";
import { assertClean, type ConsoleStand, noConsole, openStand, textOf } from "./support.ts";

const planted = `<img src=x onerror="globalThis.wasRun=true">`;

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const key = stand.gateway.workspaceKey;
  const integration = { name: "Facts", slug: "facts", ai_provider_id: "openai", key: "sk-not-a-real-key" };
  await stand.call("POST /v1/integrations", key, { ...integration, default_provider_slug: "facts" });
  const facts = {
    contextWindow: 64_000,
    maxOutputTokens: 4_000,
    inputs: ["text", "image"],
    outputs: ["text"],
    takesTools: true,
    retiredOn: "2031-01-02",
  };
  const price = { pay_as_you_go: { request_token: { price: 0.0001 }, response_token: { price: 0.0004 } } };
  const models = [
    { slug: "house-1", enabled: true, is_custom: true, model_facts: facts, pricing_config: price },
    { slug: planted, enabled: true, is_custom: true },
  ];
  await stand.call("PUT /v1/integrations/facts/models", key, { models, allow_all_models: false });
  await stand.call("POST /v1/model-aliases", key, { name: "house", target: { model: "@facts/house-1" } });
});
after(() => stand?.close());

test("the page of models shows windows, modalities, prices and retirement, of aliases too", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/models");
  for (const name of ["@facts/house-1", "house"]) {
    await page.getByLabel("Search by name").fill(name);
    const row = page.getByRole("row").filter({ has: page.getByText(name, { exact: true }) });
    await row.waitFor();
    const shown = await textOf(row);
    for (const said of ["64,000", "4,000", "text+image->text", "tools", "$1.00 in, $4.00 out", "2031"]) {
      assert.ok(shown.includes(said), `${said} in ${shown}`);
    }
  }
  await page.getByLabel("Search by name").fill("onerror");
  await page.getByRole("row", { name: planted }).waitFor();
  assert.deepEqual(await findings(one), []);
  await page.getByLabel("Search by name").fill("no such model");
  await page.getByText("No model with this name").waitFor();
  await one.open("/integrations/facts");
  await page.getByText("contextWindow").or(page.getByText("Context window")).first().waitFor();
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  assertClean(one);
});

test("the page of models fits a phone", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey, { width: 390, scheme: "dark" });
  await one.open("/models");
  await one.page.getByRole("row", { name: "@facts/house-1" }).waitFor();
  assert.equal(await one.page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.deepEqual(await findings(one), []);
  assertClean(one);
});
