// What pages say of records and of requests, in words.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsolePage, type ConsoleStand, noConsole, openStand, textOf } from "./support.ts";

let stand: ConsoleStand;
let one: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await stand.call("POST /v1/integrations", stand.gateway.workspaceKey, {
    name: "Echo here",
    slug: "echo-here",
    ai_provider_id: "echo",
    default_provider_slug: "echo-here",
  });
  one = await stand.signIn(stand.gateway.workspaceKey);
});
after(() => stand?.close());

test("a credential is tested with a button, and a provider shows the requests of its last hour", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await chat(stand, "Hello", {}, { "x-gateway-provider": "@echo-here" });
  for (const path of ["/providers/echo-here", "/integrations/echo-here"]) {
    await one.open(path);
    await page.getByRole("button", { name: "Test credential" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^The provider listed its models in [\d.]+ ms$/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  }
  await eventually("the list to show the requests", async () => {
    await one.open("/providers");
    const row = page.locator("[data-index='0']");
    await row.waitFor();
    return /\d requests?, 0 errors/.test(await textOf(row));
  });
  assertClean(one);
});

test("the budget of a key is shown as what is used of it", { skip: noConsole }, async () => {
  const { page } = one;
  const made = await stand.call("POST /v1/api-keys/workspace/service", stand.gateway.workspaceKey, {
    name: "With a budget",
    scopes: ["completions.write"],
    usage_limits: { type: "cost", credit_limit: 5, periodic_reset: "monthly" },
  });
  await one.open(`/api-keys/${String(made.id)}`);
  await page.getByText("$0.00 of $5.00, resets monthly", { exact: true }).waitFor();
  assertClean(one);
});

test("the row of a denied request names the guardrail and the check", { skip: noConsole }, async () => {
  const { page } = one;
  const { slug } = await stand.call("POST /v1/guardrails", stand.gateway.workspaceKey, {
    name: "No secrets",
    checks: [{ id: "default.contains", parameters: { words: ["forbidden"], operator: "none" } }],
    actions: { deny: true },
  });
  const config = JSON.stringify({ provider: "echo", input_guardrails: [slug] });
  const denied = await chat(stand, "forbidden", {}, { "x-gateway-config": config, "x-gateway-trace-id": "denied-row" });
  assert.equal(denied.status, 446);
  await eventually("the row to be stored", async () => {
    const { data } = await stand.call("GET /v1/logs?trace_id=denied-row", stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length > 0;
  });
  await one.open("/logs?trace_id=denied-row");
  await page.locator("[data-index='0']").click();
  await page
    .getByRole("alert")
    .getByText(`Denied by ${String(slug)}: default.contains`)
    .waitFor();
  assertClean(one);
});

test("code after a run is the request that was run", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/playground");
  await page.getByRole("combobox", { name: "Provider" }).first().fill("echo");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Model" }).first().fill("echo-1");
  await page.keyboard.press("Escape");
  await page.getByLabel("Text of message 2").first().fill("Ships leave at dawn");
  const code = async () => {
    await page.getByRole("button", { name: "Show code" }).click();
    const dialog = page.getByRole("dialog");
    const shown = await textOf(dialog.getByText(/x-gateway-api-key/).first());
    await dialog.getByRole("button", { name: "Close" }).click();
    await dialog.waitFor({ state: "hidden" });
    return shown;
  };
  const before = await code();
  assert.match(before, /Ships leave at dawn/);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("$0.00").waitFor();
  assert.equal(await code(), before);
  assertClean(one);
});

test("the page of a prompt names the default version, makes another the default, and opens the shown one", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const { workspaceKey } = stand.gateway;
  const { id: collection } = await stand.call("POST /v1/collections", workspaceKey, { name: "Of words" });
  const members = { collection_id: collection, parameters: {}, virtual_key: "echo-here", model: "echo-1" };
  const string = (content: string) => JSON.stringify([{ role: "user", content }]);
  const { slug } = await stand.call("POST /v1/prompts", workspaceKey, {
    name: "Twice",
    string: string("first"),
    ...members,
  });
  await stand.call(`PUT /v1/prompts/${String(slug)}`, workspaceKey, {
    string: string("second"),
    patch: true,
  });
  await one.open(`/prompts/${String(slug)}`);
  await page.getByText(`${slug} · version 2, the newest · requests without a version get version 1`).waitFor();
  const link = page.getByRole("main").getByRole("link", { name: "Playground" });
  assert.equal(await link.getAttribute("href"), `/console/playground?prompt=${slug}%402`);
  await page.getByRole("button", { name: "Make version 2 the default" }).click();
  await page.getByText(`${slug} · version 2, the newest · the default`).waitFor();
  assert.equal(await link.getAttribute("href"), `/console/playground?prompt=${slug}`);
  assertClean(one);
});
