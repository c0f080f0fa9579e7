// The overview, the log and analytics in a real browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import { findings } from "./axe.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsolePage, type ConsoleStand, noConsole, openStand, saveWith } from "./support.ts";

let stand: ConsoleStand;
let one: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  for (const model of ["echo-1", "echo-1", "echo-2"]) await chat(stand, `Hello ${model}`, { model });
  one = await stand.signIn(stand.gateway.workspaceKey);
});
after(() => stand?.close());

const search = () => new URL(one.page.url()).searchParams;

/** Waits until the log has at least so many rows that a filter finds. */
const stored = (filter: string, count: number) =>
  eventually(`${count} rows of ${filter}`, async () => {
    const { data } = await stand.call(`GET /v1/logs?${filter}`, stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length >= count;
  });

test("a model of the overview leads to its log rows", { skip: noConsole }, async () => {
  await one.open("/?range=1h");
  await one.page.getByRole("link", { name: "echo-2", exact: true }).click();
  await one.page.locator("[data-index='0']").waitFor();
  assert.deepEqual([search().get("model"), search().get("range")], ["echo-2", "1h"]);
  assert.equal(await one.page.locator("[data-index]").count(), 1);
  assertClean(one);
});

test("requests of the console are counted where they are asked for, and lead to their rows", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/files");
  const card = page.getByRole("region", { name: "Requests", exact: true });
  const shown = async () => Number((await card.textContent())?.match(/^Requests(\d+)/)?.[1]);
  await stored("source=console&operation=listFiles", 1);
  await one.open("/?range=1h");
  await card.waitFor();
  const programs = await shown();
  await page.getByRole("switch", { name: "Requests of the console" }).click();
  await eventually("more requests", async () => (await shown()) > programs);
  await page.getByRole("switch", { name: "Requests of the console" }).click();
  await eventually("as many as before", async () => (await shown()) === programs);
  await card.getByRole("link", { name: "Requests" }).click();
  await page.locator("[data-index='0']").waitFor();
  assert.equal(search().get("source"), "gateway,custom,otel");
  assert.equal(await page.locator("[data-index]").count(), programs);
  assertClean(one);
});

test("filters are added by keyboard, stand in the address and can be saved as a view", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await one.open("/logs");
  await page.locator("[data-index='2']").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("model=echo-1");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove the filter Model" }).waitFor();
  await page.keyboard.type("status: 2xx");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove the filter Status" }).waitFor();
  assert.deepEqual([search().get("model"), search().get("status_code")], ["echo-1", "2xx"]);
  await page.getByRole("button", { name: "Saved views" }).click();
  await page.getByRole("menuitem", { name: "Save as a view" }).click();
  await page.getByLabel("Name").fill("Good ones");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Good ones", exact: true }).waitFor();
  await one.open("/logs");
  await page.getByRole("button", { name: "Saved views" }).click();
  await page.getByRole("menuitem", { name: "Good ones", exact: true }).click();
  await page.getByRole("button", { name: "Remove the filter Status" }).waitFor();
  assert.equal(search().get("status_code"), "2xx");
  assertClean(one);
});

test("j, k and Enter open a row, which is replayed and rated", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/logs?model=echo-2");
  await page.locator("[data-index='0']").waitFor();
  await page.keyboard.press("j");
  await page.locator("[data-index='0']:focus").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("article").first().waitFor();
  assert.match(
    (await page.locator("article").allInnerTexts()).join("\n"),
    /User\s+Hello echo-2[\s\S]*Assistant\s+Hello echo-2/,
  );
  await page.getByRole("tab", { name: "Replay" }).click();
  await page.getByLabel("Or a config as JSON").fill('{"provider":"echo","override_params":{"model":"echo-3"}}');
  await page.getByRole("button", { name: "Replay the request" }).click();
  await page.getByText("echo · echo-3").waitFor();
  await page.getByRole("tab", { name: "Feedback" }).click();
  await page.getByRole("button", { name: "Good" }).click();
  await page.getByRole("button", { name: "Give feedback" }).click();
  await page.getByRole("cell", { name: "+1", exact: true }).waitFor();
  assertClean(one);
});

test("the live tail shows requests as they end, and holds them while it is paused", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/logs?live=1");
  await page.getByText("Connected: requests appear as they end").waitFor();
  await chat(stand, "now", { model: "tail-1" });
  await page.getByText("tail-1", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await chat(stand, "later", { model: "tail-2" });
  await page.getByRole("button", { name: "Resume, 1 new" }).waitFor();
  assert.equal(await page.getByText("tail-2", { exact: true }).count(), 0);
  await page.getByRole("button", { name: "Resume, 1 new" }).click();
  await page.getByText("tail-2", { exact: true }).waitFor();
  assertClean(one);
});

test("groups of analytics are saved as CSV", { skip: noConsole }, async () => {
  const { page } = one;
  await one.open("/analytics?range=1h&columns=requests");
  await page.getByRole("cell", { name: "echo-2", exact: true }).waitFor();
  const { text } = await saveWith(page, page.getByRole("button", { name: "CSV" }).last());
  assert.match(text, /^model,requests\r\necho-1,2\r\n/);
  assertClean(one);
});

/** Members of the rows of a grouping, and how the page names it. */
const groupings = [
  { path: "model", label: "Model", member: "model" },
  { path: "users", label: "User", member: "user" },
  { path: "api_key", label: "API key", member: "api_key" },
  { path: "status_code", label: "Status", member: "status_code" },
  { path: "workspace", label: "Workspace", member: "workspace" },
  { path: "metadata/team", label: "team", member: "metadata_value" },
] as const;

test("rows of analytics are the groups of the chosen grouping, whichever was shown before", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  for (let index = 0; index < 8; index++) {
    const metadata = { _user: `user-${index % 3}`, team: `team-${index}` };
    await chat(
      stand,
      `Hello ${index}`,
      { model: `grouped-${index}` },
      { "x-gateway-metadata": JSON.stringify(metadata) },
    );
  }
  await stored("metadata.team=team-7", 1);
  await one.open("/analytics?range=1h&columns=requests");
  const group = page.getByRole("combobox", { name: "Group by", exact: true });
  const rows = page.getByRole("table", { name: /by/ }).locator("tbody tr");
  const random = createRandom(sampleSeed);
  for (let round = 0; round < rounds(15); round++) {
    const { path, label, member } = groupings[Math.floor(random() * groupings.length)] ?? groupings[0];
    await group.click();
    await group.fill(label);
    await page.getByRole("option", { name: label, exact: true }).click();
    const query = new URLSearchParams({
      columns: "requests",
      // the page does not count its own replay
      source: "gateway,custom,otel",
      page_size: "50",
      time_of_generation_min: new Date(Date.now() - 3_600_000).toISOString(),
      time_of_generation_max: new Date(Date.now() + 60_000).toISOString(),
    });
    const { data } = await stand.call(`GET /v1/analytics/groups/${path}?${query}`, stand.gateway.workspaceKey);
    const groups = Array.isArray(data) ? data : [];
    const expected = groups.map((row) => `${(row[member] ?? "") === "" ? "none" : "some"} ${row.requests}`);
    const shown = async () => {
      const cells = await rows.evaluateAll((all) =>
        all.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent ?? "")),
      );
      return cells.map(([name = "", requests]) => `${/^No /.test(name) ? "none" : "some"} ${requests}`);
    };
    await eventually(
      `round ${round} shows the ${expected.length} groups of ${path}`,
      async () => JSON.stringify((await shown()).sort()) === JSON.stringify([...expected].sort()),
    );
  }
  assertClean(one);
});

test("lists of providers and integrations show requests, errors and the p95 of the last hour", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  await stand.call("POST /v1/integrations", stand.gateway.workspaceKey, {
    name: "Measured",
    slug: "measured",
    ai_provider_id: "echo",
    create_default_provider: true,
    default_provider_slug: "measured",
  });
  await chat(stand, "Hello", {}, { "x-gateway-provider": "@measured" });
  await stored("virtual_key=measured", 1);
  for (const list of ["/providers", "/integrations"]) {
    await one.open(list);
    const row = page.getByRole("row", { name: /measured/i }).first();
    await row.getByText("1 request, 0 errors").waitFor();
    assert.match((await row.textContent()) ?? "", /0 errors\s*[\d.]+ ms/);
  }
  await one.open("/integrations/measured");
  await page.getByText("1 request, 0 errors").waitFor();
  assertClean(one);
});

test("a row shows the alias that was asked for, labels of its target and what auto chose", {
  skip: noConsole,
}, async () => {
  const { gateway, call } = stand;
  const make = (row: string, body: object) => call(`POST ${row}`, gateway.workspaceKey, body);
  const integration = {
    name: "Labelled",
    slug: "labelled",
    ai_provider_id: "echo",
    key: "none",
    labels: { region: "eu" },
  };
  await make("/v1/integrations", integration);
  const targets = ["small", "large"].map((name) => ({ name, provider: "@labelled", override_params: { model: name } }));
  const { slug } = await make("/v1/configs", { name: "Tiers", config: { strategy: { mode: "auto" }, targets } });
  await make("/v1/model-aliases", { name: "house-name", target: { config: slug } });
  await make("/v1/chat/completions", { model: "house-name", messages: [{ role: "user", content: "Hello" }] });
  await stored(`config=${slug}`, 1);
  const { page } = one;
  await one.open(`/logs?config=${slug}`);
  await page.locator("[data-index='0']").click();
  const details = page.getByRole("region", { name: "Details", exact: true });
  await details.getByText("house-name", { exact: true }).waitFor();
  assert.match((await details.textContent()) ?? "", /Asked ashouse-nameLabelsregion: eu/);
  assertClean(one);
});

test("words of contents are found from the box, the row opens beside the list, and its neighbours in one key each", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  const planted = "<img src=x onerror=globalThis.wasRun=true>";
  for (const turn of ["first", "second", "third"]) await chat(stand, `Parcel Q-77 ${turn} ${planted}`);
  await stored("search=parcel", 3);
  await one.open("/logs");
  await page.locator("[data-index='2']").waitFor();
  const box = page.locator("[data-search]");
  await box.fill(`parcel q-77 ${planted}`);
  await box.press("Enter");
  await page.getByText(/^3 found, \d+ requests searched$/).waitFor();
  assert.equal(await page.locator("[data-index]").count(), 3);
  await page.locator("[data-index='0']").click();
  const drawer = page.getByRole("dialog");
  const article = drawer.locator("article").first();
  await article.getByText("third").waitFor();
  await page.keyboard.press("j");
  await article.getByText("second").waitFor();
  await drawer.getByRole("button", { name: "Next request" }).click();
  await article.getByText("first").waitFor();
  assert.ok(await drawer.getByRole("button", { name: "Next request" }).isDisabled());
  await page.keyboard.press("k");
  await article.getByText("second").waitFor();
  assert.deepEqual(await findings(one), []);
  await page.keyboard.press("Escape");
  await drawer.waitFor({ state: "detached" });
  assert.equal(await page.locator("[data-index]").count(), 3);
  assert.equal(await page.evaluate(() => Reflect.get(globalThis, "wasRun")), undefined);
  await one.open("/logs?search=nobody-wrote-this");
  await page.getByText("Nothing matches").waitFor();
  assertClean(one);
});

test("the list's place stays while rows are read, its columns and totals are remembered", {
  skip: noConsole,
}, async () => {
  const { page } = one;
  for (let turn = 0; turn < 40; turn++) await chat(stand, `Turn ${turn}`, { model: "place-1" });
  await stored("limit=100&model=place-1", 40);
  await one.open("/logs");
  const table = page.getByRole("table", { name: "Logs" });
  await page.locator("[data-index='20']").waitFor();
  await table.evaluate((element) => element.scrollTo(0, 20 * 36));
  await page.locator("[data-index='30']").click();
  await page.getByRole("dialog").locator("article").first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.equal(await table.evaluate((element) => element.scrollTop), 20 * 36);

  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Provider" }).uncheck();
  await page.getByRole("checkbox", { name: "Session" }).check();
  await page.getByRole("button", { name: "Move Status to the front" }).click();
  await page.getByRole("textbox", { name: "Width of Model" }).fill("20");
  assert.deepEqual(await findings(one), []);
  await page.getByRole("button", { name: "Totals" }).click();
  await page
    .getByRole("region", { name: "Totals of these requests" })
    .getByText(/Requests \d+ · Errors/)
    .waitFor();
  await one.open("/logs");
  const heads = page.getByRole("columnheader");
  await heads.filter({ hasText: "Session" }).waitFor();
  const labels = (await heads.allInnerTexts()).map((label) => label.trim());
  assert.equal(labels[0], "Status");
  assert.ok(!labels.includes("Provider"));
  await page.getByRole("region", { name: "Totals of these requests" }).waitFor();
  assert.deepEqual(await findings(one), []);
  for (const broken of [
    "[]",
    "{",
    '{"order":[1,{}],"shown":{"at":3},"widths":{"model":"x","at":1e9}}',
    '{"shown":[]}',
  ]) {
    await page.evaluate((text) => localStorage.setItem("console.logs.columns", text), broken);
    await one.open("/logs");
    await page.getByRole("columnheader", { name: "Provider" }).waitFor();
  }
  assertClean(one);
});
