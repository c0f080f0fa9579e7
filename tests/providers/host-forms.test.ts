// What holds for every provider that speaks OpenAI's chat format.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as v from "valibot";
import type { ConversionOptions, OperationAdapter, Provider } from "../../src/providers/core/types.ts";
import { openaiCompatible } from "../../src/providers/outside.ts";
import { builtInProviders } from "../../src/providers/registry.ts";

/** A provider whose declaration says nothing of its responses. */
const undeclared = openaiCompatible({
  slug: "undeclared",
  baseUrl: "https://api.undeclared.example/v1",
  settings: { prefix: "undeclared", schema: v.object({}) },
});

/** Settings of providers that need some. */
const settings: Readonly<Record<string, string>> = {
  "azure-api-version": "v1",
  "azure-resource-name": "res",
  "azure-deployment-id": "some-model",
  "oracle-compartment-id": "ocid1.compartment.oc1..fake",
  "oracle-region": "us-chicago-1",
  "aws-region": "us-east-1",
};

const chatOf = (provider: Provider): OperationAdapter<"chat"> | undefined =>
  provider.bind((name) => settings[name] ?? null).operations.chat;

const messages = [{ role: "user", content: "Hello" }];

/** Hosts of Claude, which know `adaptive`, and the provider that repeats the request. */
const knowAdaptive = new Set([
  "anthropic",
  "bedrock",
  "bedrock-mantle",
  "claude-platform-aws",
  "databricks",
  "vertex-ai",
  "azure-ai",
  "echo",
]);
/** Providers that stream chunks in another form. Models of OpenAI number their calls. */
const streamOthers = new Set([
  "anthropic",
  "azure-openai",
  "bedrock",
  "bytez",
  "claude-platform-aws",
  "cohere",
  "cortex",
  "echo",
  "google",
  "oracle",
  "vertex-ai",
]);

const options = (dropped: string[], extra: Partial<ConversionOptions> = {}): ConversionOptions => ({
  strict: true,
  drop: (member) => dropped.push(member),
  ...extra,
});

const thinking = { type: "adaptive", display: "summarized" };

for (const provider of builtInProviders) {
  const chat = knowAdaptive.has(provider.slug) ? undefined : chatOf(provider);
  if (!chat?.toUpstream) continue;
  const { toUpstream } = chat;
  test(`${provider.slug} is not asked to think in a form that only Claude knows`, () => {
    for (const extra of [{ reasoning_effort: "high" }, {}]) {
      const request = { model: "some-model", messages, thinking, ...extra };
      const body = JSON.stringify(toUpstream(request, options([], { strict: false, isConverted: true })));
      assert.doesNotMatch(body, /adaptive|summarized/);
    }
  });
}

const call = (id: string, p: string): object => ({
  tool_calls: [{ index: 0, id, type: "function", function: { name: "read", arguments: JSON.stringify({ p }) } }],
});
const chunks = [call("call_a", "a"), call("call_b", "b"), {}].map((delta, place) => ({
  id: "c",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: place === 2 ? "tool_calls" : null }],
}));

interface SeenCall {
  index: number;
  function: { arguments: string };
}
interface Seen {
  choices?: { delta?: { tool_calls?: SeenCall[] } }[];
}

/** The chunks as a client receives them. */
function received(chat: OperationAdapter<"chat">, extra: Partial<ConversionOptions>): Seen[] {
  const tools = [{ type: "function", function: { name: "read", parameters: { type: "object" } } }];
  const request = { model: "some-model", messages, tools, stream: true };
  const given = options([], extra);
  const mapper = chat.streamMapper?.(request, given);
  if (mapper) return chunks.flatMap((chunk) => mapper.map({ event: "", data: JSON.stringify(chunk) }) as Seen[]); // chunks
  const corrector = chat.chunkCorrector?.(request, given);
  return chunks.flatMap((chunk) => {
    const concerns = corrector?.concerns(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`));
    const made = concerns ? corrector?.correct(chunk) : chunk;
    return made ? [made as Seen] : []; // a chunk
  });
}

for (const provider of [...builtInProviders, undeclared]) {
  const chat = streamOthers.has(provider.slug) ? undefined : chatOf(provider);
  if (!chat) continue;
  // OpenAI's own stream is forwarded as it is
  const extra = provider.slug === "openai" ? { hasCustomHost: true } : {};
  test(`two calls that ${provider.slug} streams under one index stay two calls in chats`, () => {
    for (const strict of [true, false]) {
      const choices = received(chat, { ...extra, strict }).flatMap((chunk) => chunk.choices ?? []);
      const calls: SeenCall[] = choices.flatMap(({ delta }) => delta?.tool_calls ?? []);
      assert.deepEqual(
        calls.map(({ index, function: made }) => [index, JSON.parse(made.arguments)]),
        [
          [0, { p: "a" }],
          [1, { p: "b" }],
        ],
      );
    }
  });
}
