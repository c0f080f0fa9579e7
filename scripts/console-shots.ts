// npm run console:shots [-- FOLDER] [--with TEXT] [--look LOOK]: screenshots of each page, form and record of the
// console, 1440 and 390 px wide, light and dark. Pages that are longer than the screen have several, tabs of records one each.
//   FOLDER       where they go; default: dist/shots
//   --with TEXT  only of pages whose address contains the text, for example `--with /logs`
//   --look LOOK  only as it looks at one width and scheme, for example `--look 390-dark`
// Needs Chromium and a built console.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { chat, fillStand, runBatch } from "../tests/browser/data.ts";
import {
  type ConsolePage,
  type ConsoleStand,
  listPages,
  noConsole,
  openStand,
  settle,
} from "../tests/browser/support.ts";

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: { with: { type: "string", default: "" }, look: { type: "string", default: "" } },
});
const folder = resolve(positionals[0] ?? join(import.meta.dirname, "../dist/shots"));

/** How pages are shown. */
interface Look {
  readonly width: number;
  readonly scheme: "light" | "dark";
}

type Viewer = "workspaceKey" | "adminKey" | "nobody";

const prefixes = { workspaceKey: "workspace", adminKey: "admin", nobody: "nobody" };

/** Saves what a page shows, screen by screen to its end. */
function saver(page: Page, viewer: Viewer, { width, scheme }: Look): (name: string) => Promise<void> {
  const frames = () =>
    page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const scroll = (screen: number) =>
    page.evaluate((screen) => {
      const content = document.querySelector("main");
      if (content === null || document.querySelector("[role=dialog]") !== null) return screen === 1;
      content.scrollTop = (screen - 1) * (content.clientHeight - 60);
      return screen === 1 || content.scrollTop > (screen - 2) * (content.clientHeight - 60) + 40;
    }, screen);
  return async (name) => {
    await settle(page);
    // parts of a page whose code is loaded when they are shown
    await page.waitForFunction(() => document.querySelector("main [data-loading]") === null);
    await page.waitForTimeout(100);
    for (let screen = 1; screen <= 6 && (await scroll(screen)); screen++) {
      await frames();
      const part = screen === 1 ? "" : `-${screen}`;
      const file = `${prefixes[viewer]}${name.replaceAll("/", "-")}-${width}-${scheme}${part}.png`;
      await page.screenshot({ path: join(folder, file) });
    }
  };
}

/** The record of the first row of a list, each of its tabs. */
async function shootRecord({ page }: ConsolePage, address: string, save: (name: string) => Promise<void>) {
  const chats = page.locator("main [data-opens]", { hasText: "echo-1" });
  const row =
    address === "/logs" && (await chats.count()) > 0 ? chats.first() : page.locator("main [data-opens]").first();
  if ((await row.count()) === 0) return;
  await row.click();
  await page.locator("[role=tab], [role=dialog]").first().waitFor();
  await save(`${address}-opened`);
  await shootTabs(page, `${address}-opened`, save);
}

async function shootTabs(page: Page, name: string, save: (name: string) => Promise<void>) {
  for (const tab of (await page.getByRole("tab").all()).slice(1)) {
    const title = (await tab.textContent()) ?? "";
    // the same editor on every record but those of the log
    if (title === "JSON" && !name.startsWith("/logs")) continue;
    await tab.click();
    await save(`${name}-${title.toLowerCase().replaceAll(/\W+/g, " ").trim().replaceAll(" ", "-")}`);
  }
}

/** A page with the record and the form behind it. */
async function shootPage(one: ConsolePage, address: string, save: (name: string) => Promise<void>) {
  const { page } = one;
  await one.open(address);
  await save(address === "/" ? "-overview" : address);
  if (address === "/settings") await shootTabs(page, address, save);
  const workspace = page.getByRole("main").getByRole("button", { name: "default", exact: true });
  if ((await workspace.count()) > 0) {
    await workspace.click();
    await save(`${address}-in-workspace`);
  }
  await shootRecord(one, address, save);
  await one.open(address);
  const create = page.locator(`main a[href="/console${address}/new"]`);
  if ((await create.count()) === 0) return;
  await one.open(`${address}/new`);
  await save(`${address}-new`);
}

/** Pages with the records they show, by what the navigation offers. */
async function shoot(stand: ConsoleStand, viewer: "workspaceKey" | "adminKey", look: Look) {
  const wide = await stand.signIn(stand.gateway[viewer]);
  const addresses = await listPages(wide);
  await wide.context.close();
  const one = await stand.signIn(stand.gateway[viewer], look);
  const save = saver(one.page, viewer, look);
  for (const address of addresses.filter((address) => address.includes(values.with))) {
    await shootPage(one, address, save);
  }
  await one.context.close();
}

/** The page that asks who one is. */
async function shootSignIn(stand: ConsoleStand, look: Look) {
  const { page, context } = await stand.visit(look);
  await page.goto(`${stand.gateway.url}/console`);
  await page.getByLabel("Gateway key").waitFor();
  await saver(page, "nobody", look)("-sign-in");
  await context.close();
}

if (noConsole !== false) {
  console.error(`Cannot make screenshots: ${noConsole}`);
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
const stand = await openStand();
await fillStand(stand);
for (let index = 0; index < 30; index++) await chat(stand, `Question ${index}`);
await runBatch(stand, ["Good morning", "Good evening"]);
await chat(stand, "How long is the flight from Oslo to Rome?", {
  messages: [
    { role: "system", content: "You plan journeys. Answer in **one** sentence." },
    { role: "user", content: "How long is the flight from Oslo to Rome?" },
  ],
  tools: [{ type: "function", function: { name: "find_flights", parameters: { type: "object" } } }],
});
const looks = [1440, 390].flatMap((width): Look[] => [
  { width, scheme: "light" },
  { width, scheme: "dark" },
]);
for (const look of looks.filter(({ width, scheme }) => `${width}-${scheme}`.includes(values.look))) {
  if ("/sign-in".includes(values.with)) await shootSignIn(stand, look);
  for (const viewer of ["workspaceKey", "adminKey"] as const) await shoot(stand, viewer, look);
}
await stand.close();
console.log(folder);
process.exit(0);
