// What the console shows of calls that fail: the gateway's message, status and trace id; and what it keeps of an ended session.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page, Response } from "playwright-core";
import { eventually } from "../support/eventually.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  enterKey,
  fillForm,
  noConsole,
  openStand,
  submitOf,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

const signIn = (): Promise<ConsolePage> => stand.signIn(stand.gateway.workspaceKey);

/** Waits for the answer to a call that a page makes while it does something. */
async function answerTo(page: Page, path: string, act: () => Promise<unknown>): Promise<Response> {
  const [response] = await Promise.all([
    page.waitForResponse((one) => new URL(one.url()).pathname === path && one.status() >= 400),
    act(),
  ]);
  return response;
}

/** Requires that an open page shows what the gateway answered. */
async function requireShown(page: Page, response: Response): Promise<void> {
  const { error } = await response.json();
  const trace = response.headers()["x-gateway-trace-id"] ?? "";
  assert.match(trace, /^[0-9A-HJKMNP-TV-Z]{26}$/);
  const alert = page.getByRole("alert").filter({ hasText: "The request failed" });
  await alert.waitFor();
  const shown = await textOf(alert);
  for (const wanted of [error.message, `Status ${response.status()}`, error.code, `Trace ID ${trace}`]) {
    assert.ok(shown.includes(wanted), `${wanted} in ${shown}`);
  }
}

test("a record that does not exist is said in the gateway's words, with status and trace id", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  const response = await answerTo(page, "/v1/guardrails/pg-none", () => one.open("/guardrails/pg-none"));
  assert.equal(response.status(), 404);
  await requireShown(page, response);
  assertClean(one);
});

test("a refused write is said in the gateway's words, and the form keeps what was typed", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/guardrails/new");
  await fillForm(page, { Name: "Refused", "Add check": "Matches a pattern", Pattern: "(" });
  const create = submitOf(page);
  const response = await answerTo(page, "/v1/guardrails", () => create.click());
  assert.equal(response.status(), 400);
  await requireShown(page, response);
  assert.equal(await page.getByLabel("Name").first().inputValue(), "Refused");
  await fillForm(page, { Pattern: "x" });
  await create.click();
  await page.getByRole("heading", { level: 1, name: "Refused" }).waitFor();
  assertClean(one);
});

test("a form marks the field that would be refused and sends nothing, and later the field that the gateway refuses", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page } = one;
  const sent: string[] = [];
  page.on("request", (request) => {
    if (request.method() === "POST") sent.push(new URL(request.url()).pathname);
  });
  await one.open("/labels/new");
  await fillForm(page, { Name: "not a name" });
  await submitOf(page).click();
  const name = page.locator("form").getByLabel("Name");
  await page.locator("form [aria-invalid=true]").waitFor();
  assert.equal(await name.getAttribute("aria-invalid"), "true");
  await page.getByText("Not in the form that is expected here", { exact: true }).waitFor();
  await page.getByRole("alert").filter({ hasText: "These fields need a change: Name" }).waitFor();
  assert.equal(await name.evaluate((input) => input.ownerDocument.activeElement === input), true);
  assert.deepEqual(sent, []);
  await fillForm(page, { Name: "marked" });
  await submitOf(page).click();
  await page.getByRole("heading", { level: 1, name: "marked" }).waitFor();

  await one.open("/partials/new");
  await fillForm(page, { Name: "Refused", Template: "{{#open}}" });
  const response = await answerTo(page, "/v1/prompts/partials", () => submitOf(page).click());
  const { error } = await response.json();
  assert.equal(error.param, "string");
  await eventually("the message at the field and above the form", async () => {
    return (await page.locator("form").getByText(error.message, { exact: true }).count()) === 2;
  });
  assertClean(one);
});

test("a call to a model that fails is said in the gateway's words in the playground", { skip: noConsole }, async () => {
  const one = await signIn();
  const { page } = one;
  await one.open("/playground");
  await page.getByRole("combobox", { name: "Provider" }).first().fill("@nobody");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Model" }).first().fill("echo-1");
  await page.keyboard.press("Escape");
  await page.getByLabel("Text of message 2").first().fill("Hello");
  const response = await answerTo(page, "/v1/chat/completions", () => page.keyboard.press("Control+Enter"));
  await requireShown(page, response);
  assertClean(one);
});

test("a gateway that does not answer is said so, and the page recovers by a retry", { skip: noConsole }, async () => {
  const one = await signIn();
  const { page, context } = one;
  await one.open("/labels");
  await page.getByRole("row", { name: /production/ }).waitFor();
  await context.setOffline(true);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Collections" }).click();
  const alert = page.getByRole("alert").filter({ hasText: "Cannot reach the gateway" });
  await alert.waitFor();
  await context.setOffline(false);
  await alert.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("row", { name: /^Default/ }).waitFor();
  assert.equal(await alert.count(), 0);
  assert.ok(one.problems.splice(0).every((problem) => problem.includes("ERR_INTERNET_DISCONNECTED")));
});

test("a session that ended under a changed record leads to sign-in and back to the same form as it was", {
  skip: noConsole,
}, async () => {
  const { call, gateway } = stand;
  const checks = [{ id: "default.contains", parameters: { words: ["x"], operator: "none" } }];
  const made = await call("POST /v1/guardrails", gateway.workspaceKey, { name: "Kept", checks, actions: {} });
  const one = await signIn();
  const { page } = one;
  const address = `/guardrails/${String(made.slug)}/edit?from=here`;
  await one.open(address);
  await fillForm(page, { Name: "Changed name", "Deny what fails": "on" });
  // signed out in another tab
  await page.evaluate(async () => {
    const session = await (await fetch("/console/session")).json();
    await fetch("/console/session", { method: "DELETE", headers: { "x-gateway-csrf": session.csrf_token } });
  });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Your session ended" }).waitFor();
  await enterKey(page, gateway.workspaceKey);
  await page.getByRole("heading", { name: "Your session ended" }).waitFor({ state: "hidden" });
  assert.equal(page.url(), `${gateway.url}/console${address}`);
  assert.equal(await page.getByLabel("Name").first().inputValue(), "Changed name");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "Changed name" }).waitFor();
  const stored = await call(`GET /v1/guardrails/${String(made.slug)}`, gateway.workspaceKey);
  assert.match(JSON.stringify([stored.name, stored.actions]), /^\["Changed name",.*"deny":true/);
  assertClean(one);
});

test("a session that ended before the page was loaded leads to sign-in and to the page that was asked for", {
  skip: noConsole,
}, async () => {
  const one = await signIn();
  const { page, context } = one;
  await context.clearCookies();
  await page.goto(`${stand.gateway.url}/console/logs?model=echo-1`);
  await enterKey(page, stand.gateway.workspaceKey);
  await page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
  assert.equal(page.url(), `${stand.gateway.url}/console/logs?model=echo-1`);
  assertClean(one);
});
