import assert from "node:assert/strict";
import { test } from "node:test";
import type { Subject } from "../../src/policies/conditions.ts";
import { explainPolicy } from "../../src/policies/explain.ts";

const subject: Subject = {
  organisationId: "o",
  workspaceId: "w",
  workspaceSlug: "team",
  apiKey: "k",
  virtualKey: "main",
  provider: "openai",
  config: null,
  prompt: null,
  models: [["gpt-4o"]],
  endpointType: "chatComplete",
  metadata: { user: "alice" },
};
const groupBy = [{ key: "api_key" }];

for (const [conditions, why] of [
  [[{ key: "provider", value: "openai" }], "All conditions hold"],
  [[{ key: "workspace_id", value: ["x", "team"] }], "All conditions hold"],
  [[{ key: "model", value: "@main/*" }], "All conditions hold"],
  [
    [
      { key: "provider", value: "*" },
      { key: "metadata.user", value: ["bob", "carol"] },
    ],
    "The condition metadata.user asks for another value than alice",
  ],
  [[{ key: "config", value: "*" }], "The request has no value for the condition config"],
  [[{ key: "metadata.team", value: "*" }], "The request has no value for the condition metadata.team"],
  [[{ key: "model", value: "*", excludes: ["x", "gpt-4*"] }], "The condition model excludes gpt-4o"],
  [[{ key: "model", value: "claude", excludes: "gpt-4o" }], "The condition model asks for another value than gpt-4o"],
] as const) {
  test(`explainPolicy() says of ${JSON.stringify(conditions)}: ${why}`, () => {
    const applies = why === "All conditions hold";
    const wanted = { applies, why, bucket: applies ? "api_key:k" : null };
    assert.deepEqual(explainPolicy({ conditions, groupBy }, subject), wanted);
  });
}

test("explainPolicy() names the key to group by that the request lacks", () => {
  const conditions = [{ key: "provider", value: "*" }];
  const { applies, why } = explainPolicy({ conditions, groupBy: [...groupBy, { key: "metadata.team" }] }, subject);
  assert.deepEqual([applies, why], [false, "The request has no value for metadata.team, by which the policy groups"]);
});
