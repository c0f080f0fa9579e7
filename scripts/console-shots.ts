// npm run console:shots [-- FOLDER]: screenshots of each page, form and record of the console, 1440 and 390 px wide,
// light and dark.
// They go to dist/shots, or the folder given. Needs Chromium and a built console.

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chat, fillStand, runBatch } from "../tests/browser/data.ts";
import { type ConsoleStand, listPages, noConsole, openStand, settle } from "../tests/browser/support.ts";

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, "../dist/shots"));

/** Pages with the records they show, by what the navigation offers. */
async function shoot(
  stand: ConsoleStand,
  who: "workspaceKey" | "adminKey",
  options: { width: number; scheme: "light" | "dark" },
) {
  const wide = await stand.signIn(stand.gateway[who]);
  const addresses = await listPages(wide);
  await wide.context.close();
  const one = await stand.signIn(stand.gateway[who], options);
  const save = async (name: string) => {
    await settle(one.page);
    const file = `${who === "adminKey" ? "admin" : "workspace"}${name.replaceAll("/", "-")}-${options.width}-${options.scheme}.png`;
    await one.page.screenshot({ path: join(folder, file) });
  };
  for (const address of addresses) {
    await one.open(address);
    await save(address === "/" ? "-overview" : address);
    const workspace = one.page.getByRole("main").getByRole("button", { name: "default", exact: true });
    if ((await workspace.count()) > 0) {
      await workspace.click();
      await save(`${address}-in-workspace`);
    }
    const row = one.page.locator("main [data-opens]").first();
    if ((await row.count()) > 0) {
      await row.click();
      await one.page.locator("[role=tab], [role=dialog]").first().waitFor();
      await save(`${address}-opened`);
      await one.open(address);
    }
    const create = one.page.locator(`main a[href="/console${address}/new"]`);
    if ((await create.count()) === 0) continue;
    await one.open(`${address}/new`);
    await save(`${address}-new`);
  }
  await one.context.close();
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
for (const width of [1440, 390]) {
  for (const scheme of ["light", "dark"] as const) {
    for (const who of ["workspaceKey", "adminKey"] as const) await shoot(stand, who, { width, scheme });
  }
}
await stand.close();
console.log(folder);
process.exit(0);
