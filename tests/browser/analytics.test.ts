// Figures by group over time in a real browser: beside the API, whatever is changed in which order.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import { assertClean, type ConsoleStand, noConsole, openStand } from "./support.ts";

const random = createRandom(sampleSeed);
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item; // none is empty

let stand: ConsoleStand;
/** Ends of ranges that hold all rows, some of them, and none. */
let ranges: readonly (readonly [from: string, to: string])[] = [];

before(async () => {
  if (noConsole) return;
  stand = await openStand();
  // more than the chart has colours, all of them with a price
  const models = "gpt-4o gpt-4o-mini gpt-4.1 gpt-4.1-mini gpt-4.1-nano o3 o4-mini gpt-5 gpt-5-mini".split(" ");
  const entry = (index: number) => ({
    request: {
      url: "https://api.example/v1/chat/completions",
      provider: pick(["openai", "anthropic"]),
      body: { model: models[index % models.length] },
    },
    response: {
      status: pick([200, 200, 200, 429, 503]),
      body: {
        usage: { prompt_tokens: Math.floor(random() * 900), completion_tokens: 7, total_tokens: 0 },
      },
    },
    metadata: { _user: `user-${Math.floor(random() * 3)}`, team: pick(["red", "blue"]) },
  });
  const start = Date.now();
  for (let part = 0; part < 3; part++) {
    const rows = Array.from({ length: 40 }, (_, index) => entry(index));
    await stand.call("POST /v1/logs", stand.gateway.workspaceKey, rows as unknown as object); // a list is an object
  }
  await eventually("the rows are stored", async () => {
    const all = await figuresOf("model", { figure: "requests", from: new Date(start).toISOString(), to: soon() });
    return all.reduce((sum, one) => sum + one, 0) === 120;
  });
  const [now, day] = [Date.now(), 86_400_000];
  ranges = [
    [start - 3_000_000, now + 60_000],
    [start - 20 * day, now + 60_000],
    [start, now],
    [start - 3 * day, start - 2 * day],
  ].map(([from = 0, to = 0]) => [new Date(from).toISOString(), new Date(to).toISOString()] as const);
});
after(() => stand?.close());

const soon = () => new Date(Date.now() + 60_000).toISOString();

interface Question {
  readonly figure: string;
  readonly from: string;
  readonly to: string;
  readonly filter?: string;
}

/** What the API answers: the figures of the groups, and of all others. */
async function figuresOf(group: string, { figure, from, to, filter = "" }: Question): Promise<number[]> {
  const query = `time_of_generation_min=${from}&time_of_generation_max=${to}&figure=${figure}&top=6&source=gateway,custom,otel${filter}`;
  const answer = await stand.call(`GET /v1/analytics/series/${group}?${query}`, stand.gateway.workspaceKey);
  const { data, other } = answer as { data: { total: number }[]; other: { total: number } | null }; // as documented
  return [...data, ...(other === null ? [] : [other])].map(({ total }) => total);
}

/** Changes the address without loading the page anew, as a link does. */
const go = (page: Page, search: string) =>
  page.evaluate((query) => {
    history.pushState({}, "", `/console/analytics?${query}`);
    dispatchEvent(new PopStateEvent("popstate"));
  }, search);

const shownFigures = (page: Page): Promise<number[]> =>
  page.locator("li b[data-value]").evaluateAll((found) => found.map((one) => Number(one.getAttribute("data-value"))));

/** Groupings with their title, and what names of their groups look like: names of others must never stand there. */
const groupings = {
  model: ["model", /^(?:gpt-|o\d|No model|\d+ others)/],
  users: ["user", /^(?:user-\d|No user|\d+ others)/],
  status_code: ["status", /^(?:\d{3}\b|\d+ others)/],
  ai_service: ["provider", /^(?:openai|anthropic|No provider|\d+ others)/],
  "metadata/team": ["metadata team", /^(?:red|blue|No value|\d+ others)/],
} as const;
const figures = { requests: "Requests", cost: "Cost", total_tokens: "Tokens", error_count: "Errors" } as const;
/** Filters of the address, and the same for the API. */
const filters: Readonly<Record<string, string>> = {
  "": "",
  "status_code=5xx": "&status_code=5xx",
  "metadata.team=red": '&metadata={"team":"red"}',
  "status_code=200&metadata.team=blue": '&status_code=200&metadata={"team":"blue"}',
};

test("figures over time are those of the API, whatever is changed in which order", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/analytics?range=1h");
  const state = { group: "model", figure: "cost", range: 0, filter: "", view: "" } as {
    group: keyof typeof groupings;
    figure: keyof typeof figures;
    range: number;
    filter: string;
    view: string;
  };
  for (let round = 0; round < rounds(200); round++) {
    const changed = pick(["group", "figure", "range", "filter", "view"] as const);
    if (changed === "group") state.group = pick(Object.keys(groupings) as (keyof typeof groupings)[]);
    if (changed === "figure") state.figure = pick(Object.keys(figures) as (keyof typeof figures)[]);
    if (changed === "range") state.range = Math.floor(random() * ranges.length);
    if (changed === "filter") state.filter = pick(Object.keys(filters));
    if (changed === "view") state.view = pick(["", "sum=1", "before=1", "sum=1&before=1"]);
    const { group, figure, filter, view } = state;
    const [from = "", to = ""] = ranges[state.range] ?? [];
    await go(page, `group=${group}&figure=${figure}&from=${from}&to=${to}&${filter}&${view}`);
    const [title, names] = groupings[group];
    await page.getByRole("heading", { name: `${figures[figure]} over time by ${title}` }).waitFor();
    const labels = await page.locator("li:has(b[data-value])").allTextContents();
    for (const label of labels) assert.match(label, names, `${label} stands under ${title}`);
    const wanted = await figuresOf(group, { figure, from, to, filter: filters[filter] ?? "" });
    const isEmpty = wanted.every((value) => value === 0);
    await eventually(`the figures of ${page.url()}`, async () => {
      const shown = await shownFigures(page);
      return isEmpty ? shown.every((value) => value === 0) : JSON.stringify(shown) === JSON.stringify(wanted);
    });
  }
  assertClean(one);
});

test("a drag over the chart zooms in, a click and the table lead to the rows of a point", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  const [from = "", to = ""] = ranges[0] ?? [];
  await one.open(`/analytics?figure=requests&from=${from}&to=${to}`);
  const chart = page.getByRole("img", { name: "Requests over time by model" });
  const box = await chart.boundingBox();
  assert.ok(box !== null);
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.6, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.99, y, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction((former) => new URL(location.href).searchParams.get("from") !== former, from);
  const zoomed = new URL(page.url()).searchParams;
  assert.ok((zoomed.get("from") ?? "") > from && (zoomed.get("to") ?? "") <= to);
  await page.getByRole("button", { name: "Show as a table" }).last().click();
  await page.getByRole("table", { name: "Requests over time by model: points" }).getByRole("link").last().click();
  await page.waitForURL(/\/console\/logs\?.*from=/);
  assertClean(one);
});

test("a month is extended to its end, with the budgets of the workspace", { skip: noConsole }, async () => {
  await stand.call("POST /v1/policies/usage-limits", stand.gateway.workspaceKey, {
    name: "Small budget",
    conditions: [{ key: "workspace_id", value: stand.workspaceId }],
    group_by: [{ key: "workspace_id" }],
    type: "requests",
    credit_limit: 5,
    periodic_reset: "monthly",
  });
  const one = await stand.signIn(stand.gateway.workspaceKey);
  await one.open("/analytics?range=month&figure=requests&sum=1");
  await one.page.getByText(/^At this pace [\d,]+ by/).waitFor();
  await one.page.getByText(/^Small budget: 5 is used up on/).waitFor();
  await one.page.getByRole("img", { name: "Requests over time by model" }).getByText("Small budget: 5").waitFor();
  assertClean(one);
});
