// WCAG 2.2 AA, as axe-core checks it, on each page, light and dark; and no page is wider than a small screen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { findings } from "./axe.ts";
import { chat, fillStand, runBatch } from "./data.ts";
import {
  assertClean,
  type ConsolePage,
  type ConsoleStand,
  listPages,
  noConsole,
  openStand,
  settle,
} from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  for (const content of ["Hello", "How are you?"]) await chat(stand, content);
  await runBatch(stand, ["Good morning"]);
});
after(() => stand?.close());

const parts = ["lists", "records", "forms"] as const;

/** The pages are checked in so many tests, so that each stays short. */
const slices = [0, 1, 2, 3] as const;

/** What one test checks. */
interface Part {
  readonly part: (typeof parts)[number];
  readonly slice: (typeof slices)[number];
}

/** Pages of the navigation, the first record of each list, or the forms that make one. */
async function eachPage(
  one: ConsolePage,
  { part, slice }: Part,
  visit: (address: string) => Promise<void>,
): Promise<void> {
  const addresses = (await listPages(one)).filter((_, index) => index % slices.length === slice);
  for (const address of addresses) {
    await one.open(address);
    await settle(one.page);
    if (part === "lists") await visit(address);
    const workspace = one.page.getByRole("main").getByRole("button", { name: "default", exact: true });
    if ((await workspace.count()) > 0) {
      await workspace.click();
      await settle(one.page);
      if (part === "lists") await visit(`${address} in a workspace`);
    }
    const row = one.page.locator("main [data-opens]").first();
    if (part === "records" && (await row.count()) > 0) {
      await row.click();
      await settle(one.page);
      await visit(`${address} opened`);
    }
    const create = one.page.locator(`main a[href="/console${address}/new"]`);
    if (part !== "forms" || (await create.count()) === 0) continue;
    await one.open(`${address}/new`);
    await settle(one.page);
    await visit(`${address}/new`);
  }
}

for (const who of ["workspaceKey", "adminKey"] as const) {
  for (const scheme of ["light", "dark"] as const) {
    for (const part of parts.flatMap((part) => slices.map((slice) => ({ part, slice })))) {
      test(`axe-core finds nothing serious in the ${part.part}, part ${part.slice + 1}, of the ${who} in ${scheme}`, {
        skip: noConsole,
      }, async () => {
        const one = await stand.signIn(stand.gateway[who], { scheme });
        const problems: string[] = [];
        await eachPage(one, part, async (address) => {
          for (const finding of await findings(one)) problems.push(`${address}: ${finding}`);
        });
        assert.deepEqual(problems, []);
        assertClean(one);
        await one.context.close();
      });
    }
  }
}

for (const scheme of ["light", "dark"] as const) {
  test(`axe-core finds nothing serious in the pages without a session in ${scheme}`, { skip: noConsole }, async () => {
    const one = await stand.visit({ scheme });
    for (const address of ["/", "/accept-invite?invite=none&token=none"]) {
      await one.open(address);
      assert.deepEqual(await findings(one), [], address);
    }
    await one.page.getByRole("button", { name: "Accept" }).click();
    await one.page.getByRole("alert").waitFor();
    assert.deepEqual(await findings(one), []);
    assertClean(one);
    await one.context.close();
  });
}

test("no page is wider than a screen of 360 px", { skip: noConsole }, async () => {
  const wide = await stand.signIn(stand.gateway.workspaceKey);
  const addresses = await listPages(wide);
  const one = await stand.signIn(stand.gateway.workspaceKey, { width: 360 });
  const problems: string[] = [];
  for (const address of addresses) {
    await one.open(address);
    await one.page.waitForLoadState("networkidle");
    const width = await one.page.evaluate(() => document.documentElement.scrollWidth);
    const inner = await one.page.evaluate(() => document.getElementById("content")?.scrollWidth ?? 0);
    if (Math.max(width, inner) > 360) problems.push(`${address}: ${width} ${inner}`);
  }
  assert.deepEqual(problems, []);
});
