// Each page as who may see it: nothing that is shown is refused.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import { chat, fillStand } from "./data.ts";
import { assertClean, type ConsoleStand, listPages, noConsole, openStand } from "./support.ts";

let stand: ConsoleStand;
before(async () => {
  if (noConsole) return;
  stand = await openStand();
  await fillStand(stand);
  await chat(stand, "Hello");
});
after(() => stand?.close());

/** Key of a new user with a role in the workspace, with each scope that such a key can hold. */
async function keyOf(role: "manager" | "member"): Promise<string> {
  const { gateway, call, workspaceId } = stand;
  const invite = await call("POST /v1/admin/users/invites", gateway.adminKey, {
    email: `${role}@example.com`,
    role: "member",
    workspaces: [{ id: workspaceId, role }],
    workspace_api_key_details: { scopes: scopesOfKind("workspace-user") },
  });
  const token = new URL(String(invite.invite_link)).searchParams.get("token");
  const accepted = await call(`POST /v1/admin/users/invites/${String(invite.id)}/accept`, "", { token });
  const keys = Array.isArray(accepted.api_keys) ? accepted.api_keys : [];
  return String(keys[0]?.key);
}

const viewers = {
  admin: () => Promise.resolve(stand.gateway.adminKey),
  manager: () => keyOf("manager"),
  member: () => keyOf("member"),
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
