import assert from "node:assert/strict";
import { test } from "node:test";
import { auditedActions, auditedResources, choicesOf } from "../../console/src/pages/organisation/audit-values.ts";
import { adminEndpoints } from "../../src/admin/endpoints.ts";

const audited = adminEndpoints.flatMap((endpoint) => ("audit" in endpoint && endpoint.audit ? [endpoint.audit] : []));

test("the filters of the audit log offer what each route of the control plane writes", () => {
  assert.ok(audited.length > 80);
  const missing = audited.flatMap(({ resource, action }) => [
    ...(auditedResources.includes(resource) ? [] : [resource]),
    ...(auditedActions.includes(action) ? [] : [action]),
  ]);
  assert.deepEqual(missing, []);
});

test("choicesOf() has words for each value, and for another one that an address holds", () => {
  const choices = choicesOf(["mcp_servers", "api_keys"], "other_kind");
  assert.deepEqual(
    choices.map(({ label }) => label),
    ["API keys", "MCP servers", "Other kind"],
  );
  assert.equal(choicesOf(["api_keys"], undefined).length, 1);
});
