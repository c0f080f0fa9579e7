import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { failureOfError, readFailure, statusOfErrorBody } from "../../src/providers/core/failures.ts";
import { fixture } from "../conformance/suite.ts";
import { chat, createTestGateway, helloBody, readJson } from "../support/gateway.ts";

const recorded: readonly (readonly [file: string, status: number, wanted: object])[] = [
  [
    "openai.json",
    429,
    { message: "fixture: request rate too high, retry in 2 s", type: "requests", code: "rate_limit_exceeded" },
  ],
  ["text-with-code.json", 503, { message: "fixture: model overloaded", code: "capacity_exceeded" }],
  ["text.json", 503, { message: "fixture: example/model still loading" }],
  ["message.json", 429, { message: "fixture: request rate too high" }],
  ["detail.json", 422, { message: "body.logit_bias: fixture: field not permitted", type: "extra_forbidden" }],
  ["error-itself.json", 400, { message: "fixture: model nope is unknown", type: "invalid_model", code: "1500" }],
  ["anthropic.json", 400, { message: "fixture: max_tokens is missing", type: "invalid_request_error" }],
  [
    "google.json",
    400,
    {
      message: "fixture: a functionCall part lacks its thought_signature",
      type: "INVALID_ARGUMENT",
      code: "INVALID_ARGUMENT",
    },
  ],
  ["google-list.json", 503, { message: "fixture: model overloaded", type: "UNAVAILABLE", code: "UNAVAILABLE" }],
  ["list-of-errors.json", 400, { message: "Error 5007:fixture: no such model" }],
  ["fault.json", 401, { message: "fixture: key not accepted", code: "oauth.v2.InvalidApiKey" }],
  ["code-and-message.json", 404, { message: "fixture: entity example not found", type: "404", code: "404" }],
  [
    "event.sse",
    400,
    { message: "fixture: max_tokens 900000 is above the model limit 64000", type: "invalid_request_error" },
  ],
];
for (const [file, status, wanted] of recorded) {
  test(`readFailure() reads the recorded ${file}`, () => {
    assert.deepEqual(readFailure(fixture("errors", file), status), wanted);
  });
}

const texts: readonly (readonly [body: unknown, wanted: object])[] = [
  [{ error: { message: "a", type: "t", param: "p", code: 7 } }, { message: "a", type: "t", param: "p", code: "7" }],
  [
    { error: { code: 502, message: "a", metadata: { raw: "b" } } },
    { message: "a", code: "502", members: { metadata: { raw: "b" } } },
  ],
  [
    { error: "invalid_client", error_description: "a" },
    { message: "a", code: "invalid_client" },
  ],
  [{ error: ["a", { message: "b" }] }, { message: "a, b" }],
  [{ error: { detail: "a" } }, { message: "a" }],
  [
    { error: "a", status: 404 },
    { message: "a", code: "404" },
  ],
  [{ error: "", message: "a" }, { message: "a" }],
  [{ message: "a", id: "i" }, { message: "a" }],
  [{ Message: "a" }, { message: "a" }],
  [
    { message: "a", __type: "T" },
    { message: "a", type: "T" },
  ],
  [
    { message: "a", error_code: "E" },
    { message: "a", code: "E" },
  ],
  [{ statusCode: 401, message: "a" }, { message: "a" }],
  [{ detail: "a" }, { message: "a" }],
  [{ detail: [{ loc: ["body", 0, "x"], msg: "a", type: "t" }] }, { message: "body.0.x: a", type: "t" }],
  [
    { object: "error", message: { detail: [{ loc: ["body"], msg: "a", type: "t" }] }, type: "x" },
    { message: "body: a", type: "t" },
  ],
  [
    { id: "i", name: "n", message: "a" },
    { message: "a", type: "n" },
  ],
  [
    { id: "i", name: "n", errors: ["a", "b"] },
    { message: "a, b", type: "n", code: "i" },
  ],
  [
    {
      success: false,
      errors: [
        { code: 1, message: "a" },
        { code: 2, message: "b" },
      ],
    },
    { message: "Error 1:a, Error 2:b" },
  ],
  [{ fault: { faultstring: "a" } }, { message: "a" }],
  [[{ error: { message: "a", status: "INTERNAL" } }], { message: "a", type: "INTERNAL", code: "INTERNAL" }],
  ["plain", { message: '"plain"' }],
  [{ other: 1 }, { message: '{"other":1}' }],
  [{}, { message: "{}" }],
];
for (const [body, wanted] of texts) {
  const text = JSON.stringify(body);
  test(`readFailure() reads ${text}`, () => assert.deepEqual(readFailure(text, 500), wanted));
}

for (const [text, message] of [
  [" upstream busy\n", "upstream busy"],
  ["<!DOCTYPE html>\n<html><h1>502 Bad Gateway</h1>", "<!DOCTYPE html>\n<html><h1>502 Bad Gateway</h1>"],
  ["x".repeat(9_999), "x".repeat(2_000)],
  ["", "status 502"],
] as const) {
  test(`readFailure() shows the text ${JSON.stringify(text.slice(0, 30))}`, () => {
    assert.deepEqual(readFailure(text, 502), { message });
  });
}

test("readFailure() reads the first meaningful event of a stream", () => {
  const text = ': wait\r\n\r\nevent: error\r\ndata: {"type":"error","error":{"type":"t","message":"a"}}\r\n\r\n';
  assert.deepEqual(readFailure(text, 400), { message: "a", type: "t" });
  assert.deepEqual(readFailure('data: [{"error":"a"}]\n\n', 400), { message: "a" });
});

test("readFailure() takes the exception's name from the header when the body has none", () => {
  const headers = new Headers({ "x-amzn-errortype": "ThrottlingException:http://internal.example/" });
  const named = { type: "ThrottlingException", code: "ThrottlingException" };
  assert.deepEqual(readFailure('{"message":"a"}', 429, headers), { message: "a", ...named });
});

const statuses: readonly (readonly [error: unknown, status: number])[] = [
  [{ type: "overloaded_error" }, 529],
  [{ type: "rate_limit_error" }, 429],
  [{ type: "api_error" }, 500],
  [{ type: "requests", code: "rate_limit_exceeded" }, 429],
  [{ type: "throttlingException", code: "throttlingException" }, 429],
  [{ type: "ThrottlingException" }, 429],
  [{ code: "com.amazon.coral#ThrottlingException:http://internal.example/" }, 429],
  [{ type: "serviceUnavailableException" }, 503],
  [{ type: "validationException" }, 400],
  [{ type: "internalServerException" }, 500],
  [{ status: "RESOURCE_EXHAUSTED" }, 429],
  [{ status: "UNAVAILABLE" }, 503],
  [{ status: "INVALID_ARGUMENT" }, 400],
  [{ status: "PERMISSION_DENIED" }, 403],
  [{ status: "UNAUTHENTICATED" }, 401],
  [{ status: "NOT_FOUND" }, 404],
  [{ status: "INTERNAL" }, 500],
  [{ status: "DEADLINE_EXCEEDED" }, 504],
  [{ code: 503, status: "INTERNAL" }, 503],
  [{ code: "429", message: "a" }, 429],
  [{ status: 408 }, 408],
  [{ code: 200 }, 502],
  [{ code: "constructor", type: "__proto__" }, 502],
  [{ message: "a" }, 502],
  ["a", 502],
  [null, 502],
];
for (const [error, status] of statuses) {
  test(`statusOfErrorBody() is ${status} for ${JSON.stringify(error)}`, () => {
    assert.equal(statusOfErrorBody(error), status);
  });
}

const failures: readonly (readonly [error: unknown, wanted: readonly unknown[]])[] = [
  [{ message: "a", type: "overloaded_error" }, [529, "x error: a", "overloaded_error", null]],
  [
    { message: "a", code: 8, status: "RESOURCE_EXHAUSTED" },
    [429, "x error: a", "RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"],
  ],
  [{ message: "a", code: null, type: null }, [502, "x error: a", "api_error", null]],
  [{ message: "a", code: "429" }, [429, "x error: a", "rate_limit_error", "429"]],
  [{ reason: "a" }, [502, 'x error: {"reason":"a"}', "api_error", null]],
  ["a", [502, "x error: a", "api_error", null]],
  [undefined, [502, "x error: no reason was given", "api_error", null]],
];
for (const [error, wanted] of failures) {
  test(`failureOfError() reads ${JSON.stringify(error)}`, () => {
    const { status, message, type, code } = failureOfError(error, "x");
    assert.deepEqual([status, message, type, code], wanted);
  });
}

let answer = () => new Response("{}");
const transport: Transport = { send: async () => answer() };
const gateway = await createTestGateway({ transport });
after(() => gateway.close());

const ask = (body: object = helloBody) =>
  chat(gateway, body, { "x-gateway-provider": "openai", authorization: "Bearer provider-key" });

for (const [file, type] of [
  ["event.sse", "text/event-stream"],
  ["anthropic.json", "application/json"],
] as const) {
  test(`the recorded ${file} becomes an error of the provider`, async () => {
    const text = fixture("errors", file);
    answer = () => new Response(text, { status: 400, headers: { "content-type": type } });
    const response = await ask({ ...helloBody, stream: true });
    const { error } = await readJson<{ error: object }>(response);
    const { message } = readFailure(text, 400);
    assert.deepEqual(
      [response.status, error],
      [400, { message: `openai error: ${message}`, type: "invalid_request_error", param: null, code: null }],
    );
  });
}

test("error objects with status 200 get the status of their type", async () => {
  answer = () => Response.json({ error: { status: "RESOURCE_EXHAUSTED", message: "a" } });
  assert.equal((await ask()).status, 429);
});
