import assert from "node:assert/strict";
import { test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { organisationKinds, workspaceKinds } from "../../src/declared/kinds/all.ts";
import { resourcesOf } from "../../src/declared/resources.ts";

/** Kinds of records that files do not declare, and why. */
const exceptions: Readonly<Record<string, string>> = {
  users: "people sign in, or come by SCIM",
  invites: "people are invited once",
  workspace_users: "members of workspaces are people",
  scim_tokens: "its secret is shown once",
  scim_groups: "groups are the identity provider's",
  scim_mappings: "they name groups of the identity provider",
  labels: "versions of prompts have them, which are made by hand",
  label_policies: "who may move labels of prompts",
  deployments: "a process registers itself",
  log_exports: "an export is a job, and a schedule holds cursors",
  example_sets: "examples are data, to whose versions runs refer",
  eval_runs: "a run is a job",
  saved_views: "questions of people",
  playground_runs: "requests of people, with their answers",
  oauth_clients: "clients register themselves",
};

/** What endpoints create, as the audit log names it. */
const created = new Set(
  adminEndpoints.flatMap((endpoint) =>
    "audit" in endpoint && endpoint.audit?.action === "create" ? [endpoint.audit.resource] : [],
  ),
);

test("each kind of record is declared by files, or stays with the API for a reason", () => {
  const declared = resourcesOf({ organisation: {}, workspaces: { default: { keys: {} } } });
  const unknown = [...created].filter((resource) => !declared.has(resource) && !exceptions[resource]);
  assert.deepEqual(unknown, []);
  assert.deepEqual(
    Object.keys(exceptions).filter((resource) => declared.has(resource) || !created.has(resource)),
    [],
    "exceptions that are none",
  );
});

test("what a file declares is what the control plane refuses to change beside it", () => {
  const declared = resourcesOf({ organisation: {}, workspaces: { default: { keys: {} } } });
  // as the audit log names them
  const names: Readonly<Record<string, string>> = { keys: "api_keys", partials: "prompt_partials" };
  const sections = [...organisationKinds, ...workspaceKinds].map(({ section }) => names[section] ?? section);
  assert.deepEqual(
    [...new Set(sections)].toSorted(),
    [...declared].filter((one) => !["workspaces", "virtual_keys"].includes(one)).toSorted(),
  );
});
