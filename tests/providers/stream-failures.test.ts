import assert from "node:assert/strict";
import { test } from "node:test";
import { UpstreamError } from "../../src/errors.ts";
import { cohere } from "../../src/providers/cohere/mod.ts";
import { type Provider, requireOperation, type StreamMapper } from "../../src/providers/core/types.ts";
import { mistral } from "../../src/providers/mistral-ai/mod.ts";

const request = { model: "m", messages: [{ role: "user", content: "Hello" }], stream: true };

function createMapper(provider: Provider, head: { answerId?: string; created?: number } = {}): StreamMapper {
  const options = { strict: true, drop: () => {}, ...head };
  const mapper = requireOperation(
    provider.bind(() => null),
    "chat",
  ).streamMapper?.(request, options);
  assert.ok(mapper);
  return mapper;
}

const event = (data: object) => ({ event: "", data: JSON.stringify(data) });

for (const [name, provider, failure, status, message] of [
  [
    "an error at the end",
    cohere,
    { type: "message-end", delta: { finish_reason: "ERROR", error: "fixture: broken" } },
    502,
    "cohere error: fixture: broken",
  ],
  [
    "an error with a status",
    mistral,
    { error: { message: "fixture: busy", code: 429 } },
    429,
    "mistral-ai error: fixture: busy",
  ],
  ["an error that is only a string", mistral, { error: "fixture: broken" }, 502, "mistral-ai error: fixture: broken"],
] as const) {
  test(`${provider.slug} streams that report ${name} fail`, () => {
    assert.throws(
      () => createMapper(provider).map(event(failure)),
      (error) => error instanceof UpstreamError && error.status === status && error.message === message,
    );
  });
}

test("streams that break off before their end are incomplete", () => {
  const mapper = createMapper(cohere);
  mapper.map(event({ type: "message-start", id: "a", delta: { message: { role: "assistant" } } }));
  mapper.map(event({ type: "content-delta", index: 0, delta: { message: { content: { text: "Six" } } } }));
  assert.equal(mapper.isComplete(), false);
});

test("chunks without id and time get the same ones of the gateway", () => {
  const mapper = createMapper(mistral, { answerId: "chatcmpl-g", created: 11 });
  const chunks = ["Six", "."].flatMap((content) => mapper.map(event({ choices: [{ index: 0, delta: { content } }] })));
  assert.deepEqual(
    chunks.map((chunk) => [Reflect.get(chunk, "id"), Reflect.get(chunk, "created")]),
    [
      ["chatcmpl-g", 11],
      ["chatcmpl-g", 11],
    ],
  );
});
