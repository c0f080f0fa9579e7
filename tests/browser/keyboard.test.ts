// Sign-in, keys, logs and the playground without a pointer.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { chat } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  noConsole,
  openStand,
  settle,
  submitOf,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  for (const content of ["First", "Second"]) await chat(stand, content);
});
after(() => stand?.close());

/** Presses Tab until an element has the focus. */
async function tabTo(page: Page, element: Locator): Promise<void> {
  await element.waitFor();
  for (let presses = 0; presses < 150; presses++) {
    if (await element.evaluate((node) => node === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${element}`);
}

async function signIn(): Promise<ConsolePage> {
  const one = await stand.visit();
  const { page } = one;
  await page.goto(`${stand.gateway.url}/console`);
  await tabTo(page, page.getByLabel("Gateway key"));
  await page.keyboard.type(stand.gateway.workspaceKey);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Account" }).waitFor();
  return one;
}

const paletteHint = "Go to a page or start an action";

/** Opens a page or starts an action by the command palette. */
async function go(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+K");
  await page.getByRole("combobox", { name: paletteHint }).waitFor();
  await page.keyboard.type(words);
  await page.keyboard.press("Enter");
}

test("what is typed right behind Ctrl+K arrives in the palette", { skip: noConsole }, async () => {
  const one = await signIn();
  const { page } = one;
  await settle(page);
  await page.keyboard.press("Control+K");
  await page.keyboard.type("Playground");
  assert.equal(await page.getByRole("combobox", { name: paletteHint }).inputValue(), "Playground");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Playground" }).waitFor();
  assertClean(one);
});

test("a key is made and deleted by keyboard", { skip: noConsole }, async () => {
  const one = await signIn();
  const { page } = one;
  await go(page, "Create API key");
  await tabTo(page, page.locator("form").getByLabel(/^Name/));
  await page.keyboard.type("By keyboard");
  await tabTo(page, page.locator("form").getByLabel(/^Scopes/));
  await page.keyboard.type("completions.write");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await tabTo(page, submitOf(page));
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Copy the secret now" });
  assert.match(await textOf(dialog.locator("pre")), /^\S{16,}/);
  await tabTo(page, dialog.getByRole("button", { name: "I have copied it" }));
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "By keyboard" }).waitFor();
  await tabTo(page, page.getByRole("button", { name: "Delete" }));
  await page.keyboard.press("Enter");
  const confirm = page.getByRole("dialog").getByLabel("Name");
  await tabTo(page, confirm);
  await page.keyboard.type("By keyboard");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  await page.getByRole("row", { name: /First workspace key/ }).waitFor();
  assert.equal(await page.getByRole("row", { name: /By keyboard/ }).count(), 0);
  assertClean(one);
});

test("a row of the log is found and opened by keyboard, and the way back returns to the list", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await go(page, "Logs");
  await page.locator("[data-index='1']").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.locator("[data-index='1']:focus").waitFor();
  await page.keyboard.press("k");
  await page.locator("[data-index='0']:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("article").first().waitFor();
  await page.keyboard.press("Escape");
  await page.locator("[data-index='0']:focus").waitFor();
  assertClean(one);
});

test("a model is called in the playground by keyboard", { skip: noConsole }, async () => {
  const one = await signIn();
  const { page } = one;
  await go(page, "Playground");
  await tabTo(page, page.getByRole("combobox", { name: "Provider" }).first());
  await page.keyboard.type("echo");
  await page.keyboard.press("Escape");
  await tabTo(page, page.getByRole("combobox", { name: "Model" }).first());
  await page.keyboard.type("echo-1");
  await page.keyboard.press("Escape");
  await tabTo(page, page.getByLabel("Text of message 2").first());
  await page.keyboard.type("Written by keyboard");
  await page.keyboard.press("Control+Enter");
  await page.locator("p", { hasText: "Written by keyboard" }).waitFor();
  assertClean(one);
});

test("on a small screen the menu opens the command palette, and the palette has the focus", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await page.setViewportSize({ width: 360, height: 740 });
  await tabTo(page, page.getByRole("button", { name: "Open the menu" }));
  await page.keyboard.press("Enter");
  await tabTo(page, page.getByRole("dialog").getByRole("button", { name: "Search" }));
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: paletteHint }).waitFor();
  // the menu gives the focus back when it has closed
  await page.getByRole("dialog", { name: "Pages" }).waitFor({ state: "detached" });
  await page.keyboard.type("Guardrails");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Guardrails" }).waitFor();
  assertClean(one);
});
