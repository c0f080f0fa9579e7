// Prompts, configs, rows of the log and settings as admin, manager and member: what the role allows works, and what it does
// not allow is neither shown nor accepted by the API.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chat, fillStand } from "./data.ts";
import { viewers } from "./role-rows.ts";
import { callAs, deleteButton, failuresOf, settle, signInAll, type Viewers } from "./role-viewers.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  deleteRecord,
  editorOf,
  fillCode,
  fillConfig,
  noConsole,
  openStand,
} from "./support.ts";

let stand: ConsoleStand;
let opened: Viewers;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  await chat(stand, "Hello");
  opened = await signInAll(stand);
});
after(() => stand?.close());

/** Opens the only record of a list and returns what addresses it. */
async function openExample(one: ConsolePage, path: string): Promise<string> {
  await one.open(path);
  await one.page.getByRole("row").filter({ hasText: "Example" }).first().click();
  await one.page.getByRole("heading", { level: 1, name: "Example" }).waitFor();
  await settle(one);
  return new URL(one.page.url()).pathname.split("/").at(-1) ?? "";
}

const button = ({ page }: ConsolePage, name: string) =>
  page.getByRole("main").getByRole("button", { name, exact: true });

for (const viewer of ["admin", "manager"] as const) {
  test(`/configs as ${viewer}: create, edit, delete`, { skip: noConsole }, async () => {
    const one = opened[viewer];
    const { page } = one;
    await one.open("/configs");
    await page.getByRole("link", { name: "Create config" }).click();
    await page.getByLabel("Name").first().fill(`Config of ${viewer}`);
    await fillConfig(page, '{"provider":"echo"}');
    await button(one, "Create config").click();
    await page.getByRole("heading", { level: 1, name: `Config of ${viewer}` }).waitFor();
    await page.getByLabel("Name").first().fill(`Renamed by ${viewer}`);
    await button(one, "Save").click();
    await page.getByRole("heading", { level: 1, name: `Renamed by ${viewer}` }).waitFor();
    await deleteRecord(page, `Renamed by ${viewer}`);
    await page.waitForURL(/\/configs$/);
    assertClean(one);
  });
}

test("/configs as member: is read", { skip: noConsole }, async () => {
  const one = opened.member;
  const { page } = one;
  await one.open("/configs");
  await page.getByRole("row").filter({ hasText: "Example" }).first().waitFor();
  assert.equal(await page.locator('main a[href="/console/configs/new"]').count(), 0);
  const slug = await openExample(one, "/configs");
  assert.deepEqual([await button(one, "Save").count(), await deleteButton(one).count()], [0, 0]);
  assert.equal(await page.getByLabel("Name").first().isEditable(), false);
  const body = { name: "Changed", config: { provider: "echo" } };
  assert.equal(await callAs(one, "POST /v1/configs", body), 403);
  assert.equal(await callAs(one, `PUT /v1/configs/${slug}`, body), 403);
  assert.equal(await callAs(one, `DELETE /v1/configs/${slug}`), 403);
  assert.deepEqual(await failuresOf(one), []);
  assertClean(one);
});

for (const viewer of viewers) {
  test(`/prompts as ${viewer}: create, edit, publish, delete`, { skip: noConsole }, async () => {
    const one = opened[viewer];
    const { page } = one;
    await one.open("/prompts");
    await page.getByRole("link", { name: "Create prompt" }).click();
    await page.getByLabel("Name").first().fill(`Prompt of ${viewer}`);
    await fillCode(page, editorOf(page, "Text of message 1"), "Be kind.");
    await button(one, "Create prompt").click();
    await page.getByRole("heading", { level: 1, name: `Prompt of ${viewer}` }).waitFor();
    await fillCode(page, editorOf(page, "Text of message 2"), "Greet {{who}}");
    await button(one, "Save version").click();
    await page.getByRole("tab", { name: "Versions" }).click();
    await button(one, "Make default").click();
    await page.getByRole("row", { name: /^2 Default/ }).waitFor();
    await deleteRecord(page, `Prompt of ${viewer}`);
    await page.waitForURL(/\/prompts$/);
    assert.deepEqual(await failuresOf(one), []);
    assertClean(one);
  });

  test(`a row of the log as ${viewer}: ${viewer === "admin" ? "is read" : "replay, feedback"}`, {
    skip: noConsole,
  }, async () => {
    const one = opened[viewer];
    const { page } = one;
    const calls = viewer !== "admin";
    const beside = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true });
    await one.open("/logs");
    await page.locator("[data-index='0']").click();
    await page.locator("article").first().waitFor();
    await settle(one);
    const id = new URL(page.url()).searchParams.get("row");
    const count = calls ? 1 : 0;
    assert.equal(await page.getByRole("tab", { name: "Replay" }).count(), count);
    assert.equal(await page.getByRole("link", { name: "Open in playground" }).count(), count);
    await page.getByRole("tab", { name: "Feedback" }).click();
    await settle(one);
    assert.equal(await beside("Good").count(), count);
    if (calls) {
      await beside("Good").click();
      await beside("Give feedback").click();
      await page.getByRole("cell", { name: "+1", exact: true }).waitFor();
      await page.getByRole("tab", { name: "Replay" }).click();
      await page.getByRole("button", { name: "Replay the request" }).click();
      await page.getByText("echo · echo-1").nth(1).waitFor();
    } else {
      assert.equal(await callAs(one, `POST /v1/logs/${id}/replay`, {}), 403);
      assert.equal(await callAs(one, "POST /v1/feedback", { trace_id: "one", value: 1 }), 403);
    }
    assert.deepEqual(await failuresOf(one), []);
    assertClean(one);
  });
}

test("settings and the audit log as admin: every group can be changed", { skip: noConsole }, async () => {
  const one = opened.admin;
  await one.open("/settings");
  for (const tab of await one.page.getByRole("tab").all()) {
    await tab.click();
    await button(one, "Save").waitFor();
  }
  await one.open("/audit");
  await settle(one);
  assert.deepEqual(await failuresOf(one), []);
  assertClean(one);
});

for (const viewer of ["manager", "member"] as const) {
  test(`settings and the audit log as ${viewer}: are hidden`, { skip: noConsole }, async () => {
    const one = opened[viewer];
    await one.open("/prompts");
    const links = one.page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    const shown = await Promise.all((await links.all()).map((link) => link.getAttribute("href")));
    assert.ok(shown.includes("/console/prompts"), String(shown));
    assert.ok(!shown.includes("/console/settings") && !shown.includes("/console/audit"), String(shown));
    const { data } = await stand.call("GET /v1/organisations/self", stand.gateway.adminKey);
    const id = typeof data === "object" && data !== null ? String(Reflect.get(data, "id")) : "";
    for (const row of [
      `PUT /v1/organisations/${id}`,
      `PUT /v1/organisations/${id}/auth-settings`,
      "PUT /v1/admin/organisation/defaults",
    ]) {
      assert.equal(await callAs(one, row, {}), 403, row);
    }
    for (const row of [`GET /v1/organisations/${id}`, "GET /v1/audit-logs"])
      assert.equal(await callAs(one, row), 403, row);
    assertClean(one);
  });
}
