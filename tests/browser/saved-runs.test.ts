// Saved runs of the playground in a real browser: saved, opened by link in another session, run again, and hostile ones.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../support/eventually.ts";
import { findings } from "./axe.ts";
import { assertHarmless, hit, planted } from "./planted.ts";
import { assertClean, type ConsoleStand, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (!noConsole) stand = await openStand();
});
after(() => stand?.close());

const name = `<img src=x onerror="${hit}">`;
const runsOf = async () => {
  const { data } = await stand.call("GET /v1/playground-runs", stand.gateway.workspaceKey);
  return data as { id: string; name: string; models: string[] }[]; // as documented
};

async function ask(page: Page, content: string): Promise<void> {
  await page.getByRole("combobox", { name: "Provider" }).first().fill("echo");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Model" }).first().fill("echo-1");
  await page.keyboard.press("Escape");
  await page.getByLabel("Text of message 2").first().fill(content);
  await page.keyboard.press("Control+Enter");
}

test("a run is saved in three clicks, opened by its link with its answer, tokens and cost, run again and deleted", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/playground");
  await ask(page, "Ships leave at dawn");
  const answer = page.getByRole("region", { name: "Column 1" });
  await answer.locator("p", { hasText: "Ships leave at dawn" }).waitFor();
  await answer.getByText("$0.00").waitFor();
  await page.getByRole("button", { name: "History" }).click();
  assert.deepEqual(await findings(one), []);
  await page.getByRole("menuitem", { name: "Save this run" }).click();
  await page.getByRole("dialog").getByLabel("Name").fill(name);
  await page.getByRole("dialog").getByRole("switch").check();
  assert.deepEqual(await findings(one), []);
  await page.getByRole("dialog").getByRole("button", { name: "Save", exact: true }).click();
  await page.waitForURL(/run=/);
  const [run] = await runsOf();
  assert.deepEqual([run?.name, run?.models], [name, ["echo-1"]]);
  assertClean(one);

  const other = await stand.signIn(stand.gateway.workspaceKey, { width: 390 });
  await other.open(`/playground?run=${run?.id}`);
  const column = other.page.getByRole("region", { name: "Column 1" });
  await column.locator("p", { hasText: "Ships leave at dawn" }).waitFor();
  await column.getByText("$0.00").waitFor();
  assert.equal(await other.page.getByLabel("Text of message 2").inputValue(), "Ships leave at dawn");
  await other.page.getByLabel("Text of message 2").fill("Ships arrive at dusk");
  await column.getByRole("button", { name: "Run", exact: false }).first().click();
  await column.locator("p", { hasText: "Ships arrive at dusk" }).waitFor();
  await other.page.getByRole("button", { name: "History" }).click();
  await other.page.getByRole("menuitem", { name: `Edit the run ${name}` }).click();
  await assertHarmless(other, "a saved run");
  await other.page.getByRole("button", { name: "Delete", exact: true }).click();
  await eventually("no run", async () => (await runsOf()).length === 0);
  await other.open("/playground?run=00000000-0000-4000-8000-000000000000");
  await other.page.getByText(/Cannot find this playground run/).waitFor();
  assertClean(other);
  await Promise.all([one.context.close(), other.context.close()]);
});

test("runs that a program saved are words, whatever they hold", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const message = (text: string) => ({ role: "user", content: text });
  const answers = planted.map((text) => ({
    answer: { text, reasoning: text, finish: text, provider: text, error: text },
  }));
  const odd = [
    7,
    null,
    "x",
    [],
    { kind: 7, turns: 7 },
    { turns: [{}, { message: 7 }, { answer: 7 }, { answer: { usage: "x" } }] },
  ];
  for (const contents of [
    { columns: [{ target: { model: planted[0] }, turns: answers }], messages: planted.map(message), tools: planted[0] },
    { columns: [{ turns: planted.map((text) => ({ message: message(text) })) }], servers: planted, shared: false },
    { columns: odd, messages: odd, servers: 7, tools: {}, stream: "x" },
    { columns: "x", ["__proto__"]: { columns: 1 } },
    {},
  ]) {
    const body = { name: planted[1], contents };
    const { id } = await stand.call("POST /v1/playground-runs", stand.gateway.workspaceKey, body);
    await one.open(`/playground?run=${id}`);
    await one.page.getByRole("region", { name: "Column 1" }).waitFor();
    await one.page.waitForLoadState("networkidle");
    await assertHarmless(one, JSON.stringify(contents).slice(0, 80));
  }
  await one.context.close();
});
