import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  assertClean,
  type ConsoleStand,
  enterKey,
  fillForm,
  noConsole,
  openStand,
  signOut,
  submitOf,
  takeSecret,
  textOf,
} from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

test("a key signs in, the browser stores no part of it, and signing out ends the session", {
  skip: noConsole,
}, async () => {
  const { gateway } = stand;
  const opened = await stand.signIn(gateway.adminKey);
  const { page, context } = opened;
  await opened.open("/api-keys");
  await page.getByRole("row", { name: /First workspace key/ }).waitFor();
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  );
  assert.ok(!stored.includes(gateway.adminKey), stored);
  const [cookie, ...others] = await context.cookies();
  assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, others.length], [true, "Strict", 0]);
  assert.ok(!cookie?.value.includes(gateway.adminKey));
  await signOut(opened);
  await page.reload();
  await page.getByLabel("Gateway key").waitFor();
  assertClean(opened);
});

test("a wrong key is refused in the gateway's own words", { skip: noConsole }, async () => {
  const opened = await stand.visit();
  await opened.page.goto(`${stand.gateway.url}/console`);
  await enterKey(opened.page, "no-such-key-0123456789");
  const alert = opened.page.getByRole("alert");
  await alert.waitFor();
  assert.match(await textOf(alert), /401/);
  assert.match(await textOf(alert), /Trace ID [0-9A-HJKMNP-TV-Z]{26}/);
  assertClean(opened);
});

test("a browser that asks for / is led to the console", { skip: noConsole }, async () => {
  const { page } = await stand.visit();
  await page.goto(stand.gateway.url);
  await page.getByLabel("Gateway key").waitFor();
  assert.match(page.url(), /\/console/);
});

test("a key makes another key in the browser: the secret is shown once and works", { skip: noConsole }, async () => {
  const { gateway } = stand;
  const opened = await stand.signIn(gateway.workspaceKey);
  const { page } = opened;
  await opened.open("/api-keys");
  await page.getByRole("link", { name: "Create API key" }).click();
  await fillForm(page, { Name: "Made in the browser", Scopes: ["completions.write", "logs.list"] });
  await submitOf(page).click();
  const secret = await takeSecret(page);
  await page.getByRole("heading", { name: "Made in the browser" }).waitFor();
  const model = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "x-gateway-api-key": secret, "x-gateway-provider": "echo", "content-type": "application/json" },
    body: JSON.stringify(model),
  });
  assert.equal(response.status, 200, await response.text());
  assert.ok(!(await page.content()).includes(secret));
  assertClean(opened);
});

test("a session that ends leads to sign-in and back, with what was typed still there", {
  skip: noConsole,
}, async () => {
  const opened = await stand.signIn(stand.gateway.workspaceKey);
  const { page, context } = opened;
  await opened.open("/guardrails/new");
  await fillForm(page, { Name: "Half written", "Add check": "Contains" });
  await context.clearCookies();
  await fillForm(page, { Words: ["x"] });
  await submitOf(page).click();
  await page.getByRole("heading", { name: "Your session ended" }).waitFor();
  await enterKey(page, stand.gateway.workspaceKey);
  await page.getByRole("heading", { name: "Your session ended" }).waitFor({ state: "hidden" });
  assert.equal(await page.getByLabel("Name").first().inputValue(), "Half written");
  await submitOf(page).click();
  await page.getByRole("heading", { name: "Half written", exact: true }).waitFor();
  assertClean(opened);
});
