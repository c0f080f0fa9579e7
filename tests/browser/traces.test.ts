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

test("a session of 30 traces is found in the list, shows their order and its totals, and leads to each in one click", {
  skip: noConsole,
}, async () => {
  const session = `${planted} / 100% a, b`;
  for (let trace = 0; trace < 30; trace++) {
    const headers = { "x-gateway-session-id": session, "x-gateway-trace-id": `of session ${trace}` };
    const body = trace === 29 ? { messages: "none" } : {};
    await chat(stand, `Turn ${trace}`, body, { ...headers, "x-gateway-span-name": `Turn ${trace}` });
  }
  await eventually("the rows of the session", async () => {
    const { data } = await stand.call("GET /v1/sessions", stand.gateway.workspaceKey);
    return Array.isArray(data) && data[0]?.requests === 30;
  });

  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/sessions?status_code=5xx");
  await page.getByText("Nothing matches these filters").waitFor();
  await one.open("/sessions?status_code=4xx");
  const listed = page.locator("[data-index='0']");
  assert.ok((await textOf(listed)).startsWith(session));
  await page.getByRole("button", { name: "Remove the filter Status" }).click();
  assert.ok((await textOf(listed)).startsWith(session));
  assert.deepEqual(await findings(one), []);
  await listed.click();
  await page.getByRole("heading", { level: 1, name: `Session ${session}` }).waitFor();
  const traces = page.getByRole("list", { name: "Traces" }).getByRole("listitem");
  await traces.nth(29).waitFor();
  assert.equal(await traces.count(), 30);
  const names = await traces.evaluateAll((items) => items.map((item) => item.textContent?.match(/Turn \d+/)?.[0]));
  assert.deepEqual(
    names,
    Array.from({ length: 30 }, (_, trace) => `Turn ${trace}`),
  );
  assert.match(await textOf(page.getByRole("region", { name: "Figures of the session" })), /Requests30Errors1/);
  assert.deepEqual(await findings(one), []);
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  await traces.nth(7).getByRole("link").click();
  await page.getByRole("heading", { level: 1, name: "Trace of session 7" }).waitFor();
  await page.getByRole("link", { name: "Open session" }).click();
  await page.getByRole("heading", { level: 1, name: `Session ${session}` }).waitFor();
  assertClean(one);
  await one.context.close();
});

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
