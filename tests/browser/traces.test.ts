// A trace as a tree of its spans, and its conversation as one thread, in a real browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { findings } from "./axe.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsoleStand, noConsole, openStand, textOf } from "./support.ts";

const hit = "globalThis.wasRun=true";
const planted = `<img src=x onerror="${hit}">`;

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

test("a trace of 40 spans shows its tree, its sums and its conversation as one thread", {
  skip: noConsole,
}, async () => {
  const trace = "trace/of 40?";
  const first = { role: "user", content: "First question" };
  const headers = (span: string, parent: string, name: string) => ({
    "x-gateway-trace-id": trace,
    "x-gateway-span-id": span,
    "x-gateway-span-name": name,
    ...(parent !== "" && { "x-gateway-parent-span-id": parent }),
  });
  await chat(stand, "", { messages: [first] }, headers("root", "", "Agent"));
  const again = [first, { role: "assistant", content: "First question" }, { role: "user", content: "Second question" }];
  await chat(stand, "", { messages: again }, headers("child", "root", planted));
  for (let index = 0; index < 38; index++)
    await chat(stand, planted, {}, headers(`leaf-${index}`, "child", `Leaf ${index}`));
  await eventually("the rows of the trace", async () => {
    const path = `/v1/logs?limit=100&trace_id=${encodeURIComponent(trace)}`;
    const { data } = await stand.call(`GET ${path}`, stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length === 40;
  });

  const one = await stand.signIn(stand.gateway.workspaceKey, { width: 390, scheme: "dark" });
  const { page } = one;
  await one.open("/logs");
  await page.locator("[data-index='0']").click();
  await page.getByRole("link", { name: "Open trace" }).click();
  await page.getByRole("heading", { level: 1, name: `Trace ${trace}` }).waitFor();
  const spans = page.getByRole("list", { name: "Spans" }).getByRole("listitem");
  await spans.nth(39).waitFor();
  assert.equal(await spans.count(), 40);
  const places = await spans.evaluateAll((items) => items.map((item) => item.getAttribute("data-level")));
  assert.deepEqual(places.slice(0, 3), ["1", "2", "3"]);
  assert.ok((await textOf(spans.nth(1))).includes(planted));
  assert.match(await textOf(page.getByRole("region", { name: "Figures of the trace" })), /Requests40Errors0/);
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);

  await page.getByRole("tab", { name: "Conversation" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("2 messages as above").waitFor();
  await page.getByRole("button", { name: "Read further requests (20)" }).click();
  await page.getByRole("region", { name: "Leaf 37" }).waitFor();
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  await page.getByRole("link", { name: "Leaf 0" }).click();
  await page.getByRole("heading", { level: 1, name: /echo-1/ }).waitFor();
  assertClean(one);
});
