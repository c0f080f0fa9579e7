// A row of the log with 10 MB of bodies in a real browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { CDPSession } from "playwright-core";
import { assertClean, type ConsolePage, type ConsoleStand, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

/** Sends a request whose bodies are stored four times over: as they came, as they were sent, and both responses. */
async function send(content: string): Promise<void> {
  const { gateway } = stand;
  const config = { provider: "echo", override_params: { temperature: 1 } };
  const response = await fetch(`${gateway.url}/v1/messages`, {
    method: "POST",
    headers: {
      "x-gateway-api-key": gateway.workspaceKey,
      "x-gateway-config": JSON.stringify(config),
      "content-type": "application/json",
    },
    body: JSON.stringify({ model: "echo-1", max_tokens: 10, messages: [{ role: "user", content }] }),
  });
  assert.equal(response.status, 200, await response.text());
}

/** Ids of the rows, the newest first, once there are so many. */
async function waitForRows(count: number): Promise<string[]> {
  for (;;) {
    const { data } = await stand.call("GET /v1/logs", stand.gateway.workspaceKey);
    const rows = Array.isArray(data) ? data : [];
    if (rows.length >= count) return rows.map(({ id }) => String(id));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Seconds of processor time that the main thread has used since the page was loaded. */
async function readSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
}

/** Opens a row, walks through what is shown of it, and finds words in its JSON. */
async function walk({ page, open }: ConsolePage, id: string | undefined): Promise<void> {
  await open(`/logs/${id}`);
  for (const name of [/^Timeline/, /^Usage and cost/, /^Changes/, /^JSON/]) {
    await page.getByRole("tab", { name }).click();
    await page.getByRole("tab", { name, selected: true }).waitFor();
  }
  await page.getByLabel("Find in this text").fill("Start of it");
  await page.keyboard.press("Enter");
  await page.locator("[data-found]").waitFor();
  await page.getByRole("tab", { name: "Conversation" }).click();
  await page
    .getByText(/Start of it/)
    .first()
    .waitFor();
}

test("a row of 10 MB opens, is searched and is left without freezing the tab", { skip: noConsole }, async () => {
  for (const length of [40_000, 1_048_576]) await send(`Start of it. ${'"\\'.repeat(length)}`);
  const [big, small] = await waitForRows(2);
  const headers = { "x-gateway-api-key": stand.gateway.workspaceKey };
  const stored = await fetch(`${stand.gateway.url}/v1/logs/${big}`, { headers });
  assert.ok((await stored.arrayBuffer()).byteLength > 10 * 1_048_576);
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const session = await one.context.newCDPSession(one.page);
  // processor time, so that other programs of the machine do not count
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  await walk(one, small);
  const ofSmall = await readSeconds(session);
  await walk(one, big);
  const ofBig = await readSeconds(session);
  assert.ok(ofBig < ofSmall + 1.5, `${ofBig} s of the main thread, ${ofSmall} s for a small row`);
  assert.ok((await one.page.locator("*").count()) < 5_000);
  await one.page.getByRole("main").getByRole("link", { name: "Logs" }).first().click();
  await one.page.locator("[data-index='1']").waitFor();
  assertClean(one);
});
