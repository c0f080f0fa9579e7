import assert from "node:assert/strict";
import { test } from "node:test";
import { groupPermissions } from "../../console/src/resources/permissions.ts";
import { text } from "../../console/src/text/text.ts";
import { defaultSecuritySettings } from "../../src/auth/roles.ts";
import { overrideGroups } from "../../src/control/settings.ts";

test("groupPermissions() shows each permission of each role once, all of them in words", () => {
  const names = Object.keys(defaultSecuritySettings);
  const lines = groupPermissions(names).flatMap(({ lines }) => lines);
  const shown = lines.flatMap(({ view, change }) => [view, change]).filter((name) => name !== undefined);
  assert.deepEqual(shown.toSorted(), names.toSorted());
  assert.deepEqual(
    lines.map(({ thing }) => thing).filter((thing) => text.permissions.things[thing] === undefined),
    [],
  );
});

test("the form of the settings offers each group that workspaces may decide on", () => {
  assert.deepEqual(Object.keys(text.settings.overrides).toSorted(), Object.keys(overrideGroups).toSorted());
});
