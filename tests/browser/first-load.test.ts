// How many requests a browser makes for a page of the console, without a cache.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Request } from "playwright-core";
import { fillStand } from "./data.ts";
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
});
after(() => stand?.close());

/** Most requests of a page: files, the session and calls of the API. */
const most = 12;

/** Opens a page as a browser does that has nothing of it, and lists what it asks for. */
async function load({ page, open }: ConsolePage, path: string): Promise<string[]> {
  const urls: string[] = [];
  const note = (request: Request) => void urls.push(request.url());
  await page.goto("about:blank");
  page.on("requestfinished", note);
  await open(path);
  await settle(page);
  page.off("requestfinished", note);
  // without a cache, a script that is announced before it is imported is asked for twice
  return urls.filter((url, index) => url.includes("/v1/") || urls.indexOf(url) === index);
}

/** Signs in without a cache. */
async function signInCold(key: string): Promise<ConsolePage> {
  const one = await stand.signIn(key);
  const session = await one.context.newCDPSession(one.page);
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  return one;
}

for (const key of ["workspaceKey", "adminKey"] as const) {
  test(`each page takes at most ${most} requests with ${key}`, { skip: noConsole }, async () => {
    const one = await signInCold(stand.gateway[key]);
    const lists = await listPages(one);
    const tooMany: string[] = [];
    const look = async (path: string) => {
      const urls = await load(one, path);
      if (urls.length > most) tooMany.push(`${path}: ${urls.length} requests:\n${urls.join("\n")}`);
    };
    for (const path of lists) {
      await look(path);
      const form = one.page.getByRole("main").locator(`a[href="/console${path}/new"]`);
      const isForm = (await form.count()) > 0;
      const row = one.page.locator("[data-index='0']");
      if (await row.isVisible()) {
        await row.click();
        await settle(one.page);
        const { pathname } = new URL(one.page.url());
        if (pathname !== `/console${path}`) await look(pathname.replace("/console", ""));
      }
      if (isForm) await look(`${path}/new`);
    }
    assert.deepEqual(tooMany, []);
    assertClean(one);
  });
}
