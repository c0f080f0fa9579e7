// Each page as who may see it: nothing that is shown is refused.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chat, fillStand, keyOf } from "./data.ts";
import { assertClean, type ConsoleStand, listPages, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  await chat(stand, "Hello");
});
after(() => stand?.close());

const viewers = {
  admin: () => Promise.resolve(stand.gateway.adminKey),
  manager: () => keyOf(stand, "manager"),
  member: () => keyOf(stand, "member"),
} as const;

/** Pages that only some may see. */
const ownPages = {
  admin: ["/users", "/audit", "/settings", "/secret-references"],
  manager: ["/guardrails", "/configs", "/prompts"],
  member: ["/prompts"],
} as const;

for (const who of ["admin", "manager", "member"] as const) {
  test(`every page that is shown to an ${who} opens without a refusal`, { skip: noConsole }, async () => {
    const one = await stand.signIn(await viewers[who]());
    const { page } = one;
    const addresses = await listPages(one);
    for (const wanted of ownPages[who]) assert.ok(addresses.includes(wanted), wanted);
    if (who === "member") assert.ok(!addresses.includes("/users") && !addresses.includes("/audit"));
    const refused: string[] = [];
    for (const address of addresses) {
      await one.open(address);
      await page.waitForLoadState("networkidle");
      const alerts = await page.getByRole("alert").filter({ hasText: "The request failed" }).allTextContents();
      refused.push(...alerts.map((alert) => `${address}: ${alert}`));
    }
    assert.deepEqual(refused, []);
    assertClean(one);
  });
}
