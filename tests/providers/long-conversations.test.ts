import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoundProvider, ConversionOptions, OperationAdapter } from "../../src/providers/core/types.ts";
import { builtInProviders } from "../../src/providers/registry.ts";
import { readMessages as plainMessages } from "../../src/providers/shared/chat-messages.ts";
import { readMessages as shapedMessages } from "../../src/providers/shared/messages.ts";
import type { ChatRequest } from "../../src/schemas/chat.ts";

const count = 8_000;
/** A linear conversion takes about 20 ms, a quadratic one more than a second. */
const mostMs = 400;

const list = <Item>(make: (index: number) => Item, length = count) => Array.from({ length }, (_, index) => make(index));
const call = (index: number) => ({ id: `c${index}`, type: "function", function: { name: "f", arguments: "{}" } });
const result = (index: number) => ({ role: "tool", tool_call_id: `c${index}`, content: "{}" });
const user = { role: "user", content: "Hello" };
const ask = (messages: readonly object[]) => ({ model: "m", max_tokens: 9, messages }) as ChatRequest; // made here

/** Conversations that are long in one way each. */
const conversations: Readonly<Record<string, ChatRequest>> = {
  "users alone": ask(list(() => user)),
  "users and models in turn": ask(list((index) => ({ role: index % 2 ? "assistant" : "user", content: `${index}` }))),
  "system messages between others": ask(
    list((index) => ({ role: index % 2 ? "system" : "user", content: `${index}` })),
  ),
  "parts of one message": ask([{ role: "user", content: list((index) => ({ type: "text", text: `${index}` })) }]),
  "results of many calls at once": ask([
    user,
    { role: "assistant", content: null, tool_calls: list(call) },
    ...list(result),
  ]),
  "results without calls": ask([user, ...list(result)]),
  "results of one call after the other": ask([
    user,
    ...list(
      (index) => [{ role: "assistant", content: null, tool_calls: [call(index)] }, result(index)],
      count / 2,
    ).flat(),
  ]),
  "results and words of the user in turn": ask(list((index) => (index % 2 ? user : result(index)))),
  "reasoning of one message": ask([
    user,
    {
      role: "assistant",
      content: "x",
      content_blocks: list(() => ({ type: "thinking", thinking: "t", signature: "s" })),
    },
  ]),
};

const options: ConversionOptions = {
  strict: true,
  drop() {},
  now: () => 0,
  createId: () => "id",
} as unknown as ConversionOptions; // what conversions of requests use of it

/** The chat conversion of a provider; undefined without one, and for providers that need settings. */
function chatOf(bind: () => BoundProvider): OperationAdapter<"chat">["toUpstream"] | undefined {
  try {
    return bind().operations.chat?.toUpstream;
  } catch {
    return undefined;
  }
}

const anySetting = (name: string) =>
  /resource|account|host|region|deployment|workspace|project|name/.test(name) ? "abc" : null;

/** Each conversion once: many providers share one. */
const conversions = new Map(
  builtInProviders.flatMap((provider) =>
    [() => provider.bind(() => null), () => provider.bind(anySetting)].flatMap((bind) => {
      const convert = chatOf(bind);
      return convert ? [[convert, provider.slug] as const] : [];
    }),
  ),
);

/** Milliseconds of processor time the conversion takes, whatever comes of it. */
function timeOf(convert: () => unknown): number {
  const { user: before } = process.cpuUsage();
  try {
    convert();
  } catch {
    // a conversation it refuses took its time all the same
  }
  return (process.cpuUsage().user - before) / 1_000;
}

test("every provider with chats is looked at", () => assert.ok(conversions.size > 20, `${conversions.size}`));

for (const [name, request] of Object.entries(conversations)) {
  test(`conversions take long conversations in linear time: ${name}`, () => {
    const slow: string[] = [];
    for (const [convert, slug] of conversions) {
      const ms = Math.min(
        timeOf(() => convert(request, options)),
        timeOf(() => convert(request, options)),
      );
      if (ms > mostMs) slow.push(`${slug}: ${Math.round(ms)} ms`);
    }
    assert.deepEqual(slow, []);
  });
}

/** Most rounds of a comparison. */
const mostRounds = 40;

function wallTimeOf(work: () => unknown): number {
  const startedAt = performance.now();
  work();
  return performance.now() - startedAt;
}

for (const [name, readMessages] of Object.entries({ plainMessages, shapedMessages })) {
  test(`${name}: messages that are strings are read in less time than their JSON takes`, () => {
    const request = ask(list((index) => ({ role: index % 2 ? "assistant" : "user", content: `${index}` }), 60_000));
    const json = JSON.stringify(request);
    // other programs make one of the two longer: they are compared until a round without them
    const ratios: number[] = [];
    while (ratios.length < mostRounds && Math.min(...ratios) > 1) {
      const jsonMs = wallTimeOf(() => JSON.stringify(JSON.parse(json)));
      ratios.push(wallTimeOf(() => readMessages(request)) / jsonMs);
    }
    assert.ok(Math.min(...ratios) <= 1, `${ratios.join(", ")} of the time of the JSON`);
  });
}
