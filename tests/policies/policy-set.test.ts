import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Subject } from "../../src/policies/conditions.ts";
import type { Limit } from "../../src/policies/limit-store.ts";
import { type ActivePolicy, PolicySet } from "../../src/policies/policy-set.ts";

const subject: Subject = {
  organisationId: "org-1",
  workspaceId: "workspace-1",
  workspaceSlug: "team",
  apiKey: "key-1",
  virtualKey: null,
  provider: "openai",
  config: null,
  prompt: null,
  models: [["gpt-4o"]],
  endpointType: "chatComplete",
  metadata: {},
};

const limit: Limit = { id: "l", organisationId: "org-1", counts: "requests", most: 1, window: "day", alertAt: null };
const policyOf = (id: string, members: Pick<ActivePolicy, "conditions" | "groupBy">): ActivePolicy => ({
  id,
  name: null,
  kind: "rate",
  limit: { ...limit, id },
  ...members,
});

test("PolicySet.limitsOf() names policy and bucket, and leaves out policies whose key to group by is missing", () => {
  const conditions = [{ key: "provider", value: "*" }];
  const policies = new PolicySet([
    policyOf("one", { conditions, groupBy: [{ key: "api_key" }] }),
    policyOf("two", { conditions, groupBy: [{ key: "metadata.user" }] }),
  ]);
  const code = "rate_limits_policy_exhaust_error";
  const policy = { id: "one", name: null };
  const one = { limit: { ...limit, id: "one" }, bucket: "api_key:key-1", kind: "rate", code, policy };
  assert.deepEqual(policies.limitsOf(subject), [{ ...one, holder: "policy one for api_key:key-1" }]);
  const named = policies.limitsOf({ ...subject, metadata: { user: "alice" } });
  assert.deepEqual(named.map(({ bucket }) => bucket).sort(), ["api_key:key-1", "metadata.user:alice"]);
});

test("PolicySet.limitsOf() distinguishes requests that differ in anything a policy looks at", () => {
  const key = fc.constantFrom(
    "api_key",
    "virtual_key",
    "provider",
    "config",
    "prompt",
    "model",
    "endpoint_type",
    "mcp_server",
    "mcp_tool",
    "user_id",
    "metadata.a",
    "metadata.b",
  );
  const value = fc.constantFrom("*", "x", "y*", "*z", "@x/*");
  const conditions = fc.array(fc.record({ key, value }), { minLength: 1, maxLength: 2 });
  const groupBy = fc.uniqueArray(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.map((one) => ({ key: one })));
  const members = fc.record({ conditions, groupBy });
  const text = fc.constantFrom("x", "y", "yz", "x,y");
  const maybe = fc.option(text, { nil: null });
  const request = fc.record({
    apiKey: text,
    virtualKey: maybe,
    provider: text,
    config: maybe,
    prompt: maybe,
    models: fc.array(fc.uniqueArray(text, { minLength: 1, maxLength: 2 }), { maxLength: 2 }),
    endpointType: text,
    // a client repeats its metadata, which is then the same object
    metadata: fc.oneof(fc.constantFrom({ a: "x" }, { a: "y", b: "x" }), fc.record({ a: text, b: text, c: text })),
    tool: fc.option(fc.record({ server: fc.tuple(text, text), name: fc.tuple(text), userId: maybe }), {
      nil: undefined,
    }),
  });
  fc.assert(
    fc.property(fc.array(members, { minLength: 1, maxLength: 8 }), fc.array(request), (list, requests) => {
      const policies = list.map((one, index) => policyOf(`p${index}`, one));
      const set = new PolicySet(policies);
      for (const one of requests) {
        const { tool, ...others } = one;
        const asked = { ...subject, ...others, ...(tool && { tool }) };
        assert.deepEqual(set.limitsOf(asked), new PolicySet(policies).limitsOf(asked));
      }
    }),
    { numRuns: 300 },
  );
});

for (const [key, changes] of [
  ["api_key", { apiKey: "key-2" }],
  ["virtual_key", { virtualKey: "other" }],
  ["provider", { provider: "groq" }],
  ["config", { config: "other" }],
  ["prompt", { prompt: "other" }],
  ["endpoint_type", { endpointType: "embed" }],
  ["model", { models: [["gpt-4o", "other"]] }],
  ["model", { models: [["other"]] }],
  ["model", { models: [["gpt-4o"], ["other"]] }],
  ["model", { models: undefined }],
  ["mcp_tool", { tool: { server: ["s", "i"], name: ["other"], userId: null } }],
] as const) {
  test(`PolicySet.limitsOf() distinguishes requests with the same metadata and ${JSON.stringify(changes)}`, () => {
    const full = { ...subject, virtualKey: "v", config: "c", prompt: "p" };
    const policies = [
      policyOf("group", { conditions: [{ key: "provider", value: "*" }], groupBy: [{ key }] }),
      policyOf("condition", { conditions: [{ key, value: "other" }], groupBy: [{ key: "api_key" }] }),
    ];
    const set = new PolicySet(policies);
    for (const asked of [full, full, { ...full, ...changes } as Subject, full]) {
      assert.deepEqual(set.limitsOf(asked), new PolicySet(policies).limitsOf(asked));
    }
  });
}
