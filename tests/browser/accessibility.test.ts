// WCAG 2.2 AA, as axe-core checks it, on each page, light and dark; and no page is wider than a small screen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { chat, fillStand } from "./data.ts";
import { assertClean, type ConsolePage, type ConsoleStand, listPages, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  for (const content of ["Hello", "How are you?"]) await chat(stand, content);
});
after(() => stand?.close());

/** Serious and critical findings of axe-core. */
async function findings({ page }: ConsolePage): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { violations } = await Reflect.get(globalThis, "axe").run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    });
    return violations;
  });
  return (Array.isArray(found) ? found : [])
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }: { html: string }) => html.slice(0, 160)).join(" | ")}`);
}

/** Pages of the navigation, their forms, and the first record of each list. */
async function eachPage(one: ConsolePage, visit: (address: string) => Promise<void>): Promise<void> {
  for (const address of await listPages(one)) {
    await one.open(address);
    await one.page.waitForLoadState("networkidle");
    await visit(address);
    const create = one.page.locator(`main a[href="/console${address}/new"]`);
    const hasForm = (await create.count()) > 0;
    const row = one.page.locator("main [data-opens]").first();
    if ((await row.count()) > 0) {
      await row.click();
      await one.page.waitForLoadState("networkidle");
      await visit(`${address} opened`);
    }
    if (!hasForm) continue;
    await one.open(`${address}/new`);
    await visit(`${address}/new`);
  }
}

for (const who of ["workspaceKey", "adminKey"] as const) {
  for (const scheme of ["light", "dark"] as const) {
    test(`axe-core finds nothing serious on the pages of the ${who} in ${scheme}`, { skip: noConsole }, async () => {
      const one = await stand.signIn(stand.gateway[who], { scheme });
      const problems: string[] = [];
      await eachPage(one, async (address) => {
        for (const finding of await findings(one)) problems.push(`${address}: ${finding}`);
      });
      assert.deepEqual(problems, []);
      assertClean(one);
    });
  }
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
