// The log and sessions in a real browser, beside the API: whatever is changed in which order, no row of another question stays.

import { after, before, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import { rounds, sampleSeed } from "../support/sample.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsoleStand, noConsole, openStand, textOf } from "./support.ts";

const random = createRandom(sampleSeed);
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item; // none is empty

let stand: ConsoleStand;
/** Ends of ranges that hold all rows, some of them, and none. */
let ranges: readonly string[] = [];
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  const start = Date.now();
  let middle = start;
  for (let row = 0; row < 40; row++) {
    if (row === 20) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      middle = Date.now();
    }
    await chat(
      stand,
      `Row ${row}`,
      { model: `model-${row % 5}` },
      {
        "x-gateway-session-id": `session-${row % 7}`,
        "x-gateway-trace-id": `trace-${row % 4}`,
        "x-gateway-metadata": JSON.stringify({ team: row % 2 === 0 ? "red" : "blue" }),
        ...(row % 6 === 0 && { "x-gateway-echo-status": "503" }),
      },
    );
  }
  await eventually("the rows", async () => {
    const { data } = await stand.call("GET /v1/logs?limit=100", stand.gateway.workspaceKey);
    return Array.isArray(data) && data.length === 40;
  });
  const iso = (time: number) => new Date(time).toISOString();
  ranges = [
    "",
    `from=${iso(middle)}`,
    `from=${iso(start - 1000)}&to=${iso(middle)}`,
    `from=${iso(start - 9e6)}&to=${iso(start - 8e6)}`,
  ];
});
after(() => stand?.close());

const filters = [
  "",
  "model=model-1",
  "status_code=5xx",
  "metadata.team=red",
  "status_code=2xx&metadata.team=blue",
  "model=nobody",
];

/** Changes the address without loading the page anew, as a link does. */
const go = (page: Page, path: string) =>
  page.evaluate((address) => {
    history.pushState({}, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);

/** Rows that are shown, each as its words. */
const shownRows = (page: Page): Promise<string[]> =>
  page.locator("[data-index]").evaluateAll((rows) => rows.map((row) => row.textContent ?? ""));

test("rows of the log are those of the API, whatever is changed in which order", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/logs?range=24h&columns=model,status,trace");
  for (let round = 0; round < rounds(200); round++) {
    const query = [pick(filters), pick(ranges)].filter((part) => part !== "").join("&");
    await go(page, `/console/logs?columns=model,status,trace&${query}`);
    const { data } = await stand.call(`GET /v1/logs?limit=100&${query}`, stand.gateway.workspaceKey);
    const rows = data as { model: string; trace_id: string }[]; // as documented
    await eventually(`the ${rows.length} rows of ${query}`, async () => {
      const shown = await shownRows(page);
      const first = rows.slice(0, shown.length);
      const isSame = first.every((row, at) => shown[at]?.includes(row.model) && shown[at]?.includes(row.trace_id));
      return isSame && (rows.length === 0 ? shown.length === 0 : shown.length >= Math.min(rows.length, 15));
    });
  }
  assertClean(one);
});

test("sessions and their totals are those of the API, whatever is changed in which order", {
  skip: noConsole,
}, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  const { page } = one;
  await one.open("/sessions?range=24h");
  for (let round = 0; round < rounds(200); round++) {
    const query = [pick(filters), pick(ranges)].filter((part) => part !== "").join("&");
    await go(page, `/console/sessions?${query}`);
    const { data } = await stand.call(`GET /v1/sessions?page_size=100&${query}`, stand.gateway.workspaceKey);
    const rows = data as { id: string; requests: number; errors: number }[]; // as documented
    await eventually(`the ${rows.length} sessions of ${query}`, async () => {
      const cells = await page
        .locator("[data-index]")
        .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent ?? "")));
      const shown = cells.map(([id, , requests, errors]) => [id, requests, errors].join(" "));
      return shown.join("\n") === rows.map(({ id, requests, errors }) => `${id} ${requests} ${errors}`).join("\n");
    });
  }
  assertClean(one);
});

test("the figures of a trace are the sums of its rows", { skip: noConsole }, async () => {
  const one = await stand.signIn(stand.gateway.workspaceKey);
  for (const trace of ["trace-0", "trace-3", "trace-1"]) {
    await go(one.page, `/console/traces/${trace}`);
    await one.page.getByRole("heading", { level: 1, name: `Trace ${trace}` }).waitFor();
    const { data } = await stand.call(`GET /v1/logs?limit=100&trace_id=${trace}`, stand.gateway.workspaceKey);
    const rows = data as { status: number }[]; // as documented
    const errors = rows.filter(({ status }) => status >= 400).length;
    const figures = one.page.getByRole("region", { name: "Figures of the trace" });
    const wanted = `Requests${rows.length}Errors${errors}`;
    await eventually(wanted, async () => (await textOf(figures)).includes(wanted));
  }
  assertClean(one);
});
