// The page "Health" in a real browser: what served the requests of the last hour, and what failed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { findings } from "./axe.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsoleStand, createRecord, noConsole, openStand, textOf } from "./support.ts";

const planted = `<img src=x onerror="globalThis.wasRun=true">`;

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

test("the page of health shows failing models, also on a phone, and follows new requests", {
  skip: noConsole,
}, async () => {
  const key = stand.gateway.workspaceKey;
  for (let turn = 0; turn < 5; turn++) await chat(stand, "Hi", { model: planted }, { "x-gateway-echo-status": "503" });
  const rows = async () => {
    const { data } = await stand.call("GET /v1/health/summary", key);
    return Array.isArray(data) ? data : [];
  };
  await eventually("a failing model", async () => (await rows()).some(({ state }) => state === "failing"));
  const one = await stand.signIn(key, { width: 390, scheme: "dark" });
  const { page } = one;
  await one.open("/health");
  const models = page.getByRole("region", { name: "Models", exact: true });
  const row = models.getByRole("row", { name: planted });
  await row.waitFor();
  assert.match(await textOf(row), /failing5100/i);
  await page.getByRole("status").getByText("1 with failed requests, 0 targets left out").waitFor();
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  await chat(stand, "Hi", { model: "fine" });
  await eventually("the next row", async () => (await rows()).some(({ name }) => name === "fine"));
  await page.getByRole("button", { name: "Refresh" }).focus();
  await page.keyboard.press("Enter");
  await models.getByRole("row", { name: "fine" }).waitFor();
  await row.getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Logs" }).waitFor();
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  assertClean(one);
});

test("an alert that is made in the page fires, and its history says so", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey, { width: 390 });
  const { page } = one;
  await createRecord(one, "/alert-rules", { Name: planted, Threshold: "1", "Least requests": "1" });
  await page.getByRole("heading", { level: 1, name: planted }).waitFor();
  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await eventually("it fires", async () => {
    const { state } = await stand.call(`GET /v1/alert-rules/${id}`, stand.gateway.workspaceKey);
    return state === "firing";
  });
  await page.reload();
  const history = page.getByRole("region", { name: "History" });
  assert.match(await textOf(history.getByRole("row").nth(1)), /firing/i);
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  await page.getByRole("button", { name: "Send a test" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("must have an entry that can be tested").waitFor();
});
