// Saved views in a real browser: saved, shared, opened by link, by default and from the overview.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { findings } from "./axe.ts";
import { chat } from "./data.ts";
import { assertHarmless, hit } from "./planted.ts";
import { assertClean, type ConsolePage, type ConsoleStand, noConsole, openStand } from "./support.ts";

const name = `<img src=x onerror="${hit}">`;

let stand: ConsoleStand;
let one: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  for (const model of ["echo-1", "echo-1", "echo-2"]) await chat(stand, `Hello ${model}`, { model });
  one = await stand.signIn(stand.gateway.workspaceKey);
});
after(() => stand?.close());

interface View {
  readonly id: string;
  readonly name: string;
  readonly question: object;
  readonly is_default: boolean;
}
const listed = async () => {
  const { data } = await stand.call("GET /v1/saved-views", stand.gateway.workspaceKey);
  return data as View[]; // as documented
};

/** Clicks by roles and names, and counts them. */
function counted({ page }: ConsolePage) {
  const clicks = { count: 0 };
  const click = async (role: "button" | "menuitem" | "switch", label: string) => {
    await page.getByRole(role, { name: label, exact: role !== "switch" }).click();
    clicks.count++;
  };
  return { clicks, click };
}

test("what the log shows is saved in three clicks, and another session opens it by its link", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/logs?model=echo-1&range=24h");
  await page.locator("[data-index='1']").waitFor();
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Provider" }).uncheck();
  await page.getByRole("textbox", { name: "Width of Model" }).fill("20");
  await page.keyboard.press("Escape");
  const { clicks, click } = counted(one);
  await click("button", "Saved views");
  assert.deepEqual(await findings(one), []);
  await click("menuitem", "Save as a view");
  await page.getByLabel("Name").fill(name);
  assert.deepEqual(await findings(one), []);
  await page.getByRole("switch", { name: "Share in the workspace" }).check();
  await click("button", "Save");
  await page.getByRole("button", { name, exact: true }).waitFor();
  assert.equal(clicks.count, 3);
  const [view] = await listed();
  assert.equal(view?.name, name);
  const { filters, range, columns } = view.question as Record<string, readonly { name: string; width?: number }[]>;
  assert.deepEqual([filters, range], [{ model: "echo-1" }, "24h"]);
  assert.ok(columns?.some((column) => column.name === "model" && column.width === 20));
  assert.ok(!columns?.some((column) => column.name === "provider"));

  const other = await stand.signIn(stand.gateway.workspaceKey, { width: 390 });
  await other.open(`/logs?view=${view.id}`);
  await other.page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
  await other.page.locator("[data-index='1']").waitFor();
  assert.equal(await other.page.locator("[data-index]").count(), 2);
  await assertHarmless(other, "a view by its link");
  await other.page.getByRole("button", { name: "Remove the filter Model" }).click();
  await other.page.locator("[data-index='2']").waitFor();
  await other.page.getByRole("button", { name, exact: true }).click();
  await other.page.getByRole("menuitem", { name: "Save the changes" }).click();
  await eventually("the question changed", async () => !JSON.stringify(await listed()).includes("echo-1"));
  assertClean(other);
  await other.context.close();
  await assertHarmless(one, "a saved view");
});

test("a view is renamed, opens the page by default, and is deleted; without a question the page shows everything", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const body = { name: "Only echo-2", page: "logs", question: { filters: { model: "echo-2" } } };
  await stand.call("POST /v1/saved-views", stand.gateway.workspaceKey, body);
  await one.open("/logs?range=24h");
  const { clicks, click } = counted(one);
  await click("button", "Saved views");
  await click("menuitem", "Edit the view Only echo-2");
  await page.getByLabel("Name").fill("Second");
  await click("switch", "Open this page with it, for me");
  await click("button", "Save");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(clicks.count, 4);
  await one.open("/logs");
  await page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
  await page.locator("[data-index='0']").waitFor();
  assert.equal(await page.locator("[data-index]").count(), 1);
  await page.getByRole("button", { name: "Second", exact: true }).click();
  await page.getByRole("menuitem", { name: "Show everything" }).click();
  await page.locator("[data-index='2']").waitFor();
  assert.equal(new URL(page.url()).search, "");
  await page.getByRole("button", { name: "Saved views", exact: true }).click();
  await page.getByRole("menuitem", { name: "Second opens first" }).click();
  await page.getByRole("button", { name: "Remove the filter Model" }).click();
  await eventually("the address names no view", async () => new URL(page.url()).search === "");
  await page.getByRole("button", { name: "Saved views", exact: true }).click();
  await page.getByRole("menuitem", { name: "Edit the view Second" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(!(await listed()).some((view) => view.name === "Second"));
  await one.open("/logs");
  await page.locator("[data-index='2']").waitFor();
  assertClean(one);
});

test("a link to a view that is gone says so, and what a later version saved does not break the page", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/logs?view=00000000-0000-4000-8000-000000000000");
  await page.getByText("This view does not exist, or is not shared with you.").waitFor();
  await page.locator("[data-index='2']").waitFor();
  const [view] = await listed();
  await page.route("**/v1/saved-views?*", async (route) => {
    const question = {
      filters: { model: "echo-1", colour: "red" },
      shape: "round",
      group: 7,
      columns: [{ name: "x" }],
    };
    await route.fulfill({ json: { object: "list", total: 1, data: [{ ...view, question }] } });
  });
  for (const path of ["logs", "analytics", "sessions"]) {
    await one.open(`/${path}?view=${view?.id}`);
    await page.getByText("This console does not know shape, colour").waitFor();
  }
  await page.unroute("**/v1/saved-views?*");
  assertClean(one);
});

test("a view that an earlier version stored in the browser opens, and moves to the workspace", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const former = [{ name: "Former", search: { model: "echo-2" } }, { name: 7 }, "{"];
  await one.open("/logs");
  await page.evaluate((text) => localStorage.setItem("console.logs.views", text), JSON.stringify(former));
  await one.open("/logs");
  await page.getByRole("button", { name: "Saved views" }).click();
  await page.getByRole("menuitem", { name: "Former", exact: true }).click();
  await page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
  await page.getByRole("button", { name: "Saved views" }).click();
  await page.getByRole("menuitem", { name: "Move the view Former to the workspace" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => localStorage.getItem("console.logs.views")), null);
  const moved = (await listed()).find((view) => view.name === "Former");
  assert.deepEqual(moved?.question, { filters: { model: "echo-2" } });
  assertClean(one);
});

test("a chart of analytics is on the overview of everybody, with the figures of its question", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/analytics?group=model&figure=requests&range=24h&sum=1");
  const { clicks, click } = counted(one);
  await click("button", "Saved views");
  await click("menuitem", "Save as a view");
  await page.getByLabel("Name").fill(`Requests ${name}`);
  await click("switch", "Share in the workspace");
  await click("switch", "Chart on the overview");
  await click("button", "Save");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(clicks.count, 5);
  const body = { name: "Errors", page: "analytics", shared: true, pinned: true, question: { chart: "errors/rate" } };
  await stand.call("POST /v1/saved-views", stand.gateway.workspaceKey, body);
  for (const width of [1440, 390]) {
    const other = await stand.signIn(stand.gateway.workspaceKey, { width });
    await other.open("/?range=1h");
    await other.page.getByRole("region", { name: "Models" }).waitFor();
    await other.page.mouse.wheel(0, 5_000);
    const chart = other.page.getByRole("region", { name: `Requests ${name}` });
    await chart.scrollIntoViewIfNeeded();
    const figures = chart.locator("li b[data-value]");
    await figures.nth(1).waitFor();
    assert.deepEqual(await figures.evaluateAll((found) => found.map((figure) => figure.getAttribute("data-value"))), [
      "2",
      "1",
    ]);
    await other.page.getByRole("region", { name: "Errors" }).last().waitFor();
    assert.deepEqual(await findings(other), []);
    await assertHarmless(other, "the overview");
    await chart.getByRole("link", { name: "Open" }).click();
    await other.page.getByRole("heading", { name: "Requests over time by model" }).waitFor();
    await other.page.getByRole("button", { name: `Requests ${name}`, exact: true }).waitFor();
    assertClean(other);
    await other.context.close();
  }
});
