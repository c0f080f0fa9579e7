import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type List, problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
const ids: string[] = [];
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  for (const name of ["One", "Two", "Three"]) {
    ids.push((await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name } }))).id);
  }
});
after(() => gateway.close());

const excluded = async (direction: string, key?: string) => {
  const route = `GET /workspace-exclusions/${direction}-guardrails`;
  const { data, total } = await done(
    call<List<{ workspace_id: string; excluded: boolean }>>(gateway, route, key === undefined ? {} : { key }),
  );
  assert.equal(total, data.length);
  assert.ok(data.every((row) => row.excluded));
  return data.map(({ workspace_id }) => ids.indexOf(workspace_id)).sort();
};
const put = (direction: string, body: object) =>
  call(gateway, `PUT /workspace-exclusions/${direction}-guardrails`, { body });

for (const direction of ["input", "output"]) {
  test(`PUT /workspace-exclusions/${direction}-guardrails merges or replaces`, async () => {
    const opposite = direction === "input" ? "output" : "input";
    const untouched = await excluded(opposite);
    const entry = (index: number, isExcluded?: boolean) => ({
      workspace_id: ids[index],
      ...(isExcluded !== undefined && { excluded: isExcluded }),
    });
    assert.deepEqual(await excluded(direction), []);
    assert.deepEqual(await done(put(direction, { workspaces: [entry(0, true), entry(1)] })), {});
    assert.deepEqual(await excluded(direction), [0, 1]);
    await done(put(direction, { workspaces: [entry(0, false), entry(2, true)] }));
    assert.deepEqual(await excluded(direction), [1, 2]);
    await done(put(direction, { workspaces: [entry(0, true)], override_existing: true }));
    assert.deepEqual(await excluded(direction), [0]);
    assert.deepEqual(await excluded(opposite), untouched);
    await done(put(direction, { workspaces: [], override_existing: true }));
    assert.deepEqual(await excluded(direction), []);
  });
}

for (const [name, body, wanted] of [
  ["no list", {}, "400 AB01 workspaces"],
  ["an entry without a workspace", { workspaces: [{}] }, "400 AB01 workspaces.0.workspace_id"],
  [
    "a flag that is a text",
    { workspaces: [{ workspace_id: "default", excluded: "no" }] },
    "400 AB01 workspaces.0.excluded",
  ],
  ["an unknown workspace", { workspaces: [{ workspace_id: "nowhere" }] }, "403 AB03 workspace_id"],
  ["another organisation", { organisation_id: crypto.randomUUID(), workspaces: [] }, "403 AB03 organisation_id"],
] as const) {
  test(`PUT /workspace-exclusions refuses ${name}`, async () => {
    assert.equal(await problem(gateway, "PUT /workspace-exclusions/input-guardrails", { body }), wanted);
  });
}

test("exclusions stay in their organisation, and workspace keys do not reach them", async () => {
  assert.equal(await refusal(put("input", { workspaces: [{ workspace_id: other.workspaceId }] })), "403 AB03");
  await done(put("input", { workspaces: [{ workspace_id: "default" }] }));
  assert.deepEqual(await excluded("input", other.adminKey), []);
  const route = "GET /workspace-exclusions/input-guardrails";
  assert.equal(await refusal(call(gateway, route, { key: workspaceKey })), "403 AB03");
});
