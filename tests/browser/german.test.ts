// The main pages in German: no words of English are left over, nothing is wider than a small screen, and the language can be chosen.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { de } from "../../console/src/text/de.ts";
import { en } from "../../console/src/text/en.ts";
import { chat } from "./data.ts";
import { assertClean, type ConsolePage, type ConsoleStand, noConsole, openStand, settle } from "./support.ts";

let stand: ConsoleStand;
let one: ConsolePage;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await chat(stand, "Hallo");
  one = await stand.signIn(stand.gateway.workspaceKey);
});
after(() => stand?.close());

const wordsIn = (table: object): readonly string[] =>
  Object.values(table).flatMap((word) =>
    typeof word === "string" ? [word] : typeof word === "object" && word !== null ? wordsIn(word) : [],
  );

const german = new Set(wordsIn(de));
/** What users or the API named: the collection that is there from the start, and kinds of checks. */
const names = new Set(["Default", "Custom", "Policy", "Language"]);
/** Words that are only English: others, such as Name, are in both languages. */
const onlyEnglish = new Set(wordsIn(en).filter((word) => !german.has(word) && !names.has(word)));

test("the account menu chooses German, for this browser and all its pages", { skip: noConsole }, async () => {
  const { page } = one;
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Deutsch" }).click();
  await page.getByRole("heading", { name: "Übersicht" }).waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "de");
  assertClean(one);
});

for (const path of [
  "/",
  "/logs",
  "/analytics",
  "/health",
  "/sessions",
  "/playground",
  "/prompts",
  "/configs/new",
  "/models",
  "/api-keys",
  "/api-keys/new",
  "/providers",
  "/guardrails/new",
  "/usage-limits/new",
  "/alert-rules/new",
]) {
  test(`${path} in German has no words of English, and fits a small screen`, { skip: noConsole }, async () => {
    const { page } = one;
    await page.setViewportSize({ width: 390, height: 844 });
    await one.open(path);
    await settle(page);
    const shown = await page.evaluate(() => {
      const found: string[] = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
        found.push(node.nodeValue?.trim() ?? "");
      for (const element of document.querySelectorAll("[aria-label], [placeholder], [title]"))
        for (const name of ["aria-label", "placeholder", "title"]) found.push(element.getAttribute(name) ?? "");
      return found;
    });
    assert.deepEqual(
      [...new Set(shown)].filter((word) => onlyEnglish.has(word)),
      [],
    );
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `${overflow} px too wide`);
    assertClean(one);
  });
}
