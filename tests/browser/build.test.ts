// Playground, prompts and configs in a real browser: what a person does with them from the first word to the result.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  editorOf,
  enterKey,
  fillCode,
  fillConfig,
  noConsole,
  openStand,
} from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

const signIn = (): Promise<ConsolePage> => stand.signIn(stand.gateway.workspaceKey);

/** Replaces the text of an editor. */
const write = (page: Page, label: string, text: string) => fillCode(page, editorOf(page, label), text);

async function sendToEcho(page: Page, content: string): Promise<void> {
  await page.getByRole("combobox", { name: "Provider" }).first().fill("echo");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Model" }).first().fill("echo-1");
  await page.keyboard.press("Escape");
  await page.getByLabel("Text of message 2").first().fill(content);
}

test("the playground streams into two columns, and what was typed survives a session that ended", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/playground");
  await sendToEcho(page, "Ships leave at dawn");
  await page.getByRole("button", { name: "Add column" }).click();
  await page.keyboard.press("Control+Enter");
  for (const name of ["Column 1", "Column 2"]) {
    const column = page.getByRole("region", { name });
    await column.locator("p", { hasText: "Ships leave at dawn" }).waitFor();
    await column.getByText("$0.00").waitFor();
  }
  await page.evaluate(async () => {
    const session = await (await fetch("/console/session")).json();
    await fetch("/console/session", { method: "DELETE", headers: { "x-gateway-csrf": session.csrf_token } });
  });
  await page.getByRole("button", { name: /Run all/ }).click();
  await page.getByText("Your session ended").waitFor();
  await enterKey(page, stand.gateway.workspaceKey);
  await page.getByText("Your session ended").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Text of message 2").inputValue(), "Ships leave at dawn");
  await page.getByRole("button", { name: "Show code" }).first().click();
  await page.getByRole("dialog").getByText("x-gateway-api-key: $GATEWAY_API_KEY").waitFor();
  assertClean(one);
});

test("a stored provider is found by its name, a model is chosen from the provider's list, and any other can be typed", {
  skip: noConsole,
}, async () => {
  await stand.call("POST /v1/integrations", stand.gateway.workspaceKey, {
    name: "House voice",
    slug: "house",
    ai_provider_id: "echo",
    create_default_provider: true,
    default_provider_slug: "voice",
  });
  const one = await signIn();
  const { page } = one;
  await one.open("/playground");
  const [provider, model] = ["Provider", "Model"].map((name) => page.getByRole("combobox", { name }).first());
  await provider?.fill("house");
  await page.getByRole("option", { name: /House voice/ }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await provider?.inputValue(), "@voice");
  await model?.click();
  await page.getByRole("option", { name: "echo-1" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await model?.inputValue(), "echo-1");
  await model?.fill("echo-of-mine");
  await page.keyboard.press("Enter");
  assert.equal(await model?.inputValue(), "echo-of-mine");
  assertClean(one);
});

test("an admin key is shown what it needs before it can call models", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.adminKey);
  await one.open("/playground");
  await one.page.getByText("An admin key cannot call models").waitFor();
  assert.equal(await one.page.getByRole("button", { name: "Run", exact: true }).isDisabled(), true);
  assertClean(one);
});

test("a prompt is made, changed into a second version, labelled, made the default and run", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/prompts/new");
  await page.getByLabel("Name").first().fill("Greeting");
  await write(page, "Text of message 1", "Be {{mood}}.");
  await page.getByRole("button", { name: "Create prompt" }).click();
  await page.getByLabel("{{mood}}").waitFor();
  await write(page, "Text of message 2", "Greet {{who}}");
  await page.getByRole("button", { name: "Save version" }).click();
  await page.getByLabel("{{who}}").fill("Ada");
  await page.getByRole("button", { name: "Render" }).click();
  await page.getByText("Greet Ada").waitFor();
  await page.getByRole("tab", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Make default" }).click();
  await page.getByRole("button", { name: "Label version 2" }).click();
  await page.getByRole("menuitem", { name: "production" }).click();
  await page.getByRole("row", { name: /^2 Default production/ }).waitFor();
  await page.locator(".cm-deletedChunk").first().waitFor();
  assertClean(one);
});

test("a config shows what the gateway refused at its place, is saved, and explained on its tree", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/configs/new");
  await page.getByLabel("Name").first().fill("Two targets");
  const targets = (weight: number) =>
    `{"strategy":{"mode":"fallback"},"targets":[{"provider":"echo","weight":${weight}},{"provider":"echo","override_params":{"model":"second"}}]}`;
  await fillConfig(page, targets(-1));
  await page.getByRole("button", { name: "Create config" }).click();
  await page.locator(".cm-lintRange-error", { hasText: "-1" }).waitFor();
  await fillConfig(page, targets(1));
  await page.getByRole("button", { name: "Create config" }).click();
  await page.waitForURL(/\/configs\/pc-/);
  await page.getByRole("button", { name: "Explain" }).click();
  await page
    .getByRole("treeitem", { name: /Call 2/ })
    .last()
    .waitFor();
  await page.getByRole("treeitem").first().focus();
  await page.keyboard.press("ArrowRight");
  const focused = await page.evaluate(() => document.activeElement?.getAttribute("data-path"));
  assert.equal(focused, "config.targets[0]");
  assertClean(one);
});

test("a config of two targets in a group is made by its form alone, what is refused stands at its field, and the JSON is the same", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  const config = {
    strategy: { mode: "fallback" },
    targets: [{ provider: "echo", azure_resource_name: "mine" }],
    x_nobody_knows: { deep: [1, null] },
  };
  await one.open("/configs/new");
  await page.getByRole("button", { name: "Add target" }).waitFor();
  let clicks = 0;
  const click = async (name: string, role: "button" | "treeitem" | "tab" = "button") => {
    await page.getByRole(role, { name, exact: true }).first().click();
    clicks++;
  };
  await page.getByLabel("Name", { exact: false }).first().fill("By form");
  await click("Add target");
  const form = page.getByRole("group", { name: "Target", exact: true });
  await form.getByRole("combobox", { name: "Provider" }).fill("echo");
  await form.getByRole("combobox", { name: "Model" }).fill("echo-2");
  await form.getByLabel("Weight").fill("-1");
  await click("Create config");
  await form.getByText("At least 0").waitFor();
  assert.equal(await form.getByLabel("Weight").getAttribute("aria-invalid"), "true");
  await page.waitForFunction(() => document.activeElement?.getAttribute("aria-invalid") === "true");
  await form.getByLabel("Weight").fill("");
  await click("Retries and failures");
  await click("Retry");
  await form.getByLabel("Attempts").fill("2");
  await click("Create config");
  await page.waitForURL(/\/configs\/pc-/);
  assert.ok(clicks <= 6, String(clicks));
  const slug = page.url().split("/").at(-1);
  const read = async () =>
    JSON.parse(String((await stand.call(`GET /v1/configs/${slug}`, stand.gateway.workspaceKey)).config));
  const made = await read();
  assert.deepEqual(made.targets.at(-1), {
    provider: "echo",
    override_params: { model: "echo-2" },
    retry: { attempts: 2 },
  });
  // what the form does not know stays, and is shown
  await stand.call(`PUT /v1/configs/${slug}`, stand.gateway.workspaceKey, {
    config: { ...config, x_nobody_knows: undefined },
  });
  await page.reload();
  await page.getByRole("treeitem").nth(1).click();
  await page.getByText("azure_resource_name", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Put into a group" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved").first().waitFor();
  assert.deepEqual(await read(), {
    strategy: { mode: "fallback" },
    targets: [{ strategy: { mode: "fallback" }, targets: [{ provider: "echo", azure_resource_name: "mine" }] }],
  });
  assertClean(one);
});

test("the tree of a config is changed by keyboard, and a half typed value is not lost or sent", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/configs/new");
  await page.getByLabel("Name", { exact: false }).first().fill("By keyboard");
  await page.getByRole("button", { name: "Add target" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("[role=treeitem]").length === 3);
  await page.getByRole("button", { name: "Move up" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { selected: true }).focus();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("data-path")), "config.targets[0]");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText("config.targets[1]", { exact: true }).waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByText("config.targets[0]", { exact: true }).waitFor();
  await page.getByRole("combobox", { name: "Provider" }).fill("echo");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Parameters", exact: true }).click();
  await write(page, "Override params", '{"temperature": ');
  await page.getByRole("button", { name: "Create config" }).click();
  await page.getByRole("status").filter({ hasText: "Override params" }).waitFor();
  await page.getByRole("main").getByText("JSON", { exact: true }).first().click();
  assert.equal(await editorOf(page, "Override params").count(), 1);
  await write(page, "Override params", '{"temperature": 0.5}');
  await page.getByRole("button", { name: "Create config" }).click();
  await page.waitForURL(/\/configs\/pc-/);
  assertClean(one);
});
