import assert from "node:assert/strict";
import { test } from "node:test";
import { permissionRows, roles, verbs } from "../../console/src/resources/permissions.ts";
import { text } from "../../console/src/text/text.ts";
import { defaultSecuritySettings, roleAllows } from "../../src/auth/roles.ts";
import { overrideGroups } from "../../src/control/settings.ts";

const names = Object.keys(defaultSecuritySettings);
const decisions = permissionRows(names).flatMap(({ thing, decide }) =>
  roles.flatMap((role) => verbs.map((verb) => ({ role, verb, thing, decision: decide(role, verb) }))),
);

test("permissionRows() shows each permission of each role once, all of them in words", () => {
  const shown = decisions.flatMap(({ decision }) => (typeof decision === "object" ? [decision.name] : []));
  assert.deepEqual(shown.toSorted(), names.toSorted());
  assert.deepEqual(
    decisions.map(({ thing }) => thing).filter((thing) => text.permissions.things[thing] === undefined),
    [],
  );
});

test("what is shown as always or never allowed is so whatever the switches say", () => {
  const families: Readonly<Record<string, string>> = {
    Ws: "workspaces",
    WsUsers: "workspace_users",
    WsIntegrations: "workspace_integrations",
    WsMcpIntegrations: "workspace_mcp_integrations",
    McpServers: "mcp_servers",
  };
  const fixed = decisions.filter(({ role, decision }) => role !== "organisationAdmins" && typeof decision === "string");
  assert.equal(fixed.length, 15);
  for (const { role, verb, thing, decision } of fixed) {
    for (const isOn of [true, false]) {
      const settings = Object.fromEntries(names.map((name) => [name, isOn]));
      const scope = `${families[thing]}.${verb === "view" ? "read" : "update"}`;
      const allowed = roleAllows(role === "managers" ? "manager" : "member", scope, settings);
      assert.equal(allowed, decision === "always", `${role} ${scope}`);
    }
  }
});

test("the form of the settings offers each group that workspaces may decide on", () => {
  assert.deepEqual(Object.keys(text.settings.overrides).toSorted(), Object.keys(overrideGroups).toSorted());
});
