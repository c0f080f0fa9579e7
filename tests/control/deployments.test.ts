import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDeployment, findDeploymentWorkspace, readDeploymentAuth } from "../../src/control/deployments.ts";

const workspace = { id: "id-a", slug: "a" };
const mapping = { jwt_sub_workspace_mapping: { one: "b" } };

for (const [settings, sub, wanted] of [
  [{}, undefined, undefined],
  [null, "one", undefined],
  [{ workspaces_allowed: [] }, undefined, undefined],
  [{ workspaces_allowed: [], allow_all_workspaces: false }, undefined, "no_workspace_configured"],
  [{ allow_all_workspaces: false }, "one", "no_workspace_configured"],
  [{ workspaces_allowed: ["a"] }, undefined, undefined],
  [{ workspaces_allowed: ["id-a"] }, undefined, undefined],
  [{ workspaces_allowed: ["b"] }, undefined, "workspace_not_allowed"],
  [{ workspaces_allowed: ["b"], allow_all_workspaces: true }, undefined, undefined],
  [{ jwt_subs_allowed: [] }, undefined, undefined],
  [{ jwt_subs_allowed: ["one"] }, "one", undefined],
  [{ jwt_subs_allowed: ["one"] }, "two", "subject_not_allowed"],
  [{ jwt_subs_allowed: ["one"] }, undefined, "subject_not_allowed"],
  [{ workspaces_allowed: ["b"], jwt_subs_allowed: ["one"] }, "two", "workspace_not_allowed"],
] as const) {
  test(`checkDeployment() says ${wanted} for ${sub} and ${JSON.stringify(settings)}`, () => {
    assert.equal(checkDeployment(readDeploymentAuth(settings), { workspace, sub }), wanted);
  });
}

for (const [settings, sub, wanted] of [
  [mapping, "one", "b"],
  [mapping, "two", undefined],
  [mapping, "constructor", undefined],
  [{ ...mapping, workspaces_allowed: ["c", "b"] }, "two", "c"],
  [{ ...mapping, workspaces_allowed: ["c", "b"] }, undefined, "c"],
  [{ ...mapping, workspaces_allowed: ["c", "b"] }, "one", "b"],
  [{ workspaces_allowed: ["c"], allow_all_workspaces: true }, undefined, undefined],
  [{ allow_all_workspaces: false }, undefined, undefined],
] as const) {
  test(`findDeploymentWorkspace() finds ${wanted} for ${sub} in ${JSON.stringify(settings)}`, () => {
    assert.equal(findDeploymentWorkspace(readDeploymentAuth(settings), sub), wanted);
  });
}
