import assert from "node:assert/strict";
import { test } from "node:test";
import { checks, guard, problemsOf, runCheck } from "../support/guardrails.ts";

const id = "default.allowedRequestTypes";

for (const [parameters, metadata, requestType, verdict] of [
  [{}, {}, "embed", true],
  [{ allowedTypes: ["chatComplete", "embed"] }, {}, "embed", true],
  [{ allowedTypes: ["chatComplete"] }, {}, "embed", false],
  [{ allowedTypes: "chatComplete , embed" }, {}, "embed", true],
  [{ allowedTypes: "chatComplete" }, {}, "complete", false],
  [{ allowedTypes: ["chatComplete"] }, {}, "proxy", false],
  [{ blockedTypes: ["embed"] }, {}, "embed", false],
  [{ blockedTypes: "embed,proxy" }, {}, "proxy", false],
  [{ blockedTypes: ["embed"] }, {}, "messages", true],
  [{ allowedTypes: ["messages"], blockedTypes: ["embed"] }, {}, "messages", true],
  [{ allowedTypes: [], blockedTypes: null }, {}, "messages", true],
  [{}, { supported_endpoints: "chatComplete, messages" }, "messages", true],
  [{}, { supported_endpoints: ["chatComplete"] }, "messages", false],
  [{}, { blocked_endpoints: "messages" }, "messages", false],
  [{ allowedTypes: "" }, { blocked_endpoints: ["messages"] }, "messages", false],
  [{ blockedTypes: ["embed"] }, { blocked_endpoints: "messages" }, "messages", true], // own lists, not the metadata's
  [{ allowedTypes: ["messages"] }, { supported_endpoints: "embed" }, "embed", false],
] as const) {
  test(`allowedRequestTypes of ${JSON.stringify([parameters, metadata])} is ${verdict} for ${requestType}`, async () => {
    const { result } = await runCheck(id, parameters, { requestType, metadata });
    assert.deepEqual([result?.verdict, result?.error], [verdict, null]);
    assert.equal(result?.data?.requestType, requestType);
  });
}

test("allowedRequestTypes runs for requests that are forwarded unread", async () => {
  assert.equal(checks.get(id)?.reads, "facts");
  const hooks = [{ allowedRequestTypes: { allowedTypes: ["chatComplete"] }, deny: true }];
  assert.equal((await guard(hooks, { requestType: "proxy", request: {} })).isDenied, true);
});

for (const metadata of [
  { supported_endpoints: "embed,messages", blocked_endpoints: "messages" },
  { supported_endpoints: { embed: true } },
]) {
  test(`allowedRequestTypes cannot decide by ${JSON.stringify(metadata)}`, async () => {
    const { result } = await runCheck(id, { failOnError: true }, { requestType: "embed", metadata });
    assert.deepEqual([result?.verdict, result?.error?.name], [false, "CheckError"]);
  });
}

for (const [parameters, wanted] of [
  [{ allowedTypes: ["chatComplete", "chat"] }, /parameters\.allowedTypes: is not a known request type: chat$/],
  [{ blockedTypes: "embed, x" }, /parameters\.blockedTypes: is not a known request type: x$/],
  [
    { allowedTypes: ["a", "b"], blockedTypes: "b" },
    /parameters: must not have the same request type in allowedTypes and blockedTypes$/,
  ],
  [{ allowedTypes: 5 }, /parameters\.allowedTypes: must be a list of names/],
  [{ blockedTypes: [5] }, /parameters\.blockedTypes/],
] as const) {
  test(`allowedRequestTypes reject the parameters ${JSON.stringify(parameters)}`, () => {
    const problems = problemsOf(id, parameters);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", wanted);
  });
}
