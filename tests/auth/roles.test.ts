import assert from "node:assert/strict";
import { test } from "node:test";
import { defaultSecuritySettings, type Role, roleAllows } from "../../src/auth/roles.ts";

for (const [role, scope, changes, wanted] of [
  ["owner", "workspace_service_api_keys.create", {}, true],
  ["admin", "workspace_service_api_keys.create", { managersWriteApiKeys: false, membersWriteApiKeys: false }, true],
  ["manager", "workspace_service_api_keys.create", {}, true],
  ["manager", "workspace_service_api_keys.list", { managersViewApiKeys: false }, false],
  ["manager", "workspace_user_api_keys.rotate", { managersWriteApiKeys: false }, false],
  ["member", "workspace_service_api_keys.create", {}, false],
  ["member", "workspace_service_api_keys.list", {}, false],
  ["member", "workspace_user_api_keys.create", {}, true],
  ["member", "workspace_user_api_keys.create", { membersWriteApiKeys: false }, false],
  ["member", "workspace_user_api_keys.list", { membersWriteApiKeys: false }, true],
  ["member", "workspace_user_api_keys.list", { membersViewApiKeys: false }, false],
  ["member", "policies.list", {}, true],
  ["member", "policies.read", {}, true],
  ["member", "policies.create", {}, false],
  ["member", "policies.update", {}, false],
  ["member", "policies.delete", {}, false],
  ["manager", "policies.delete", {}, true],
] as const satisfies readonly (readonly [Role, string, Record<string, boolean>, boolean])[]) {
  test(`roleAllows() says ${wanted} to ${role} and ${scope} with ${JSON.stringify(changes)}`, () => {
    assert.equal(roleAllows(role, scope, { ...defaultSecuritySettings, ...changes }), wanted);
  });
}
