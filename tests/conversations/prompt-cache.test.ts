// Agent sessions of clients that mark nothing, at emulators that cache the prefixes of prompts.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isObject } from "../../src/lib/json.ts";
import { createEmulatedWorld, type EmulatedWorld } from "../emulators/emulator.ts";
import { providers } from "../emulators/mod.ts";
import { createTestGateway, type TestGateway, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { createChatClient } from "./chat-client.ts";
import { type Client, type Members, objectsOf, type Setup } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { createMessagesClient } from "./messages-client.ts";
import { createResponsesClient } from "./responses-client.ts";

let gateway: TestGateway;
let world: EmulatedWorld;
before(async () => {
  world = createEmulatedWorld(providers.flatMap(({ emulators }) => emulators));
  gateway = await createTestGateway({ transport: world.transport });
});
after(() => gateway.close());

/** Rounds of a session of an agent, and of one that only shows where marks stand. */
const many = 20;
const few = 4;
/** Sessions that were held. */
let sessions = 0;
const path = { type: "object", properties: { path: { type: "string" } } };

const setupOf = (place: string): Setup => ({
  instructions: `You work on the code of ${place}. ${"Read before you write. ".repeat(400)}`,
  tools: [
    { name: "write", description: "Writes a file.", schema: path },
    { name: "read", description: "Reads a file.", schema: path },
  ],
  effort: undefined,
  temperature: undefined,
  streams: true,
  maxTokens: 4_000,
});

const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  responses: createResponsesClient,
  gemini: createGeminiClient,
};

interface Session {
  provider: string;
  model: string;
  config: object | undefined;
  rounds: number;
  /** What the client sends in place of its body. */
  change?: (body: Members, round: number) => Members;
}

async function hold(
  client: Client,
  { provider, model, config, rounds, change = (body) => body }: Session,
): Promise<void> {
  sessions++;
  const served = providers.find(({ slug }) => slug === provider);
  for (let round = 0; round < rounds; round++) {
    const said = {
      kind: "call",
      name: "read",
      description: "Reads a file.",
      arguments: { path: `file-${round}` },
    } as const;
    world.script.splice(0, world.script.length, { said: [said] });
    const outcomes = round === 0 ? [] : [{ text: `line ${round} `.repeat(60), isError: false, hasImage: false }];
    const step = { outcomes, text: round === 0 ? "Mend the failing test." : "", hasImage: false, instruction: "" };
    const response = await gateway.fetch(client.path(model), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": workspaceKey,
        "x-gateway-provider": provider,
        "x-gateway-trace-id": `session-${sessions}`,
        authorization: "Bearer fake-provider-key",
        ...(config && { "x-gateway-config": JSON.stringify(config) }),
        ...served?.headers,
        ...client.headers,
      },
      body: JSON.stringify(change(client.ask(step, model), round)),
    });
    assert.equal(response.status, 200, world.refusals.at(-1)?.message);
    await client.hear(response);
  }
}

/** Rows of the last session, oldest first. */
async function rowsOf(rounds: number): Promise<Members[]> {
  const rows = await waitForLogs(gateway, `trace_id=session-${sessions}&limit=${rounds}`, rounds);
  return rows.map((row): Members => ({ ...row })).reverse();
}

const sum = (rows: readonly Members[], name: string): number =>
  rows.reduce((all, { usage }) => all + (isObject(usage) ? Number(usage[name]) : 0), 0);

const countOf = (body: Members, mark: string): number => JSON.stringify(body).split(mark).length - 1;

const sent = (since: number): Members[] => world.requests.slice(since).map(({ request }) => request.body);

const claude = "claude-sonnet-4-5";

for (const [dialect, createClient] of Object.entries(clients)) {
  test(`a session of ${dialect} at Claude reads most of its input from the cache with prompt_cache`, async () => {
    const start = world.requests.length;
    const config = { prompt_cache: true };
    await hold(createClient(setupOf(dialect)), { provider: "anthropic", model: claude, config, rounds: many });
    const rows = await rowsOf(many);
    const part = sum(rows, "cached_tokens") / sum(rows, "input_tokens");
    assert.ok(part >= 0.8, `${part} of the input`);
    for (const body of sent(start)) assert.ok(countOf(body, '"cache_control":{') <= 4);
    const saved = rows.map(({ prompt_cache_saved_cost: cents }) => Number(cents));
    assert.ok((saved[0] ?? 0) < 0, "writing costs more than reading nothing");
    assert.ok(saved.slice(1).every((cents) => cents > 0));
  });
}

test("a session without prompt_cache is not marked, and reads nothing from the cache", async () => {
  const start = world.requests.length;
  const session = { provider: "anthropic", model: claude, config: undefined, rounds: few };
  await hold(createChatClient(setupOf("a company")), session);
  const rows = await rowsOf(few);
  assert.equal(sum(rows, "cached_tokens"), 0);
  assert.ok(rows.every((row) => row.prompt_cache_saved_cost === undefined));
  for (const body of sent(start)) assert.equal(countOf(body, "cache_control"), 0);
});

test("a session whose tools come in another order each time reads from the cache", async () => {
  const change = (body: Members, round: number): Members => ({
    ...body,
    tools: round % 2 === 0 ? body.tools : objectsOf(body.tools).reverse(),
  });
  const config = { prompt_cache: { ttl: "1h" } };
  const session = { provider: "anthropic", model: claude, config, rounds: few, change };
  await hold(createChatClient(setupOf("a library")), session);
  const rows = await rowsOf(few);
  assert.ok(rows.slice(1).every(({ usage }) => isObject(usage) && Number(usage.cached_tokens) > 0));
});

const mark = { cache_control: { type: "ephemeral" } };
for (const [place, change] of [
  ["the request", (body: Members) => ({ ...body, ...mark })],
  ["a tool", (body: Members) => ({ ...body, tools: objectsOf(body.tools).map((tool) => ({ ...tool, ...mark })) })],
  ["the system prompt", (body: Members) => ({ ...body, system: [{ type: "text", text: "Hello", ...mark }] })],
  [
    "a block of a result",
    (body: Members) => ({
      ...body,
      messages: objectsOf(body.messages).map((message, at) => ({
        ...message,
        content: objectsOf(message.content).map((block) =>
          at === 2 && block.type === "tool_result"
            ? { ...block, content: [{ type: "text", text: "Found", ...mark }] }
            : block,
        ),
      })),
    }),
  ],
] as const) {
  test(`a client that marks ${place} is left alone`, async () => {
    const start = world.requests.length;
    const own: Members[] = [];
    const remember = (body: Members): Members => {
      const changed = change(body);
      own.push(changed);
      return changed;
    };
    const session = { provider: "anthropic", model: claude, config: { prompt_cache: true }, rounds: few };
    await hold(createMessagesClient(setupOf(place)), { ...session, change: remember });
    for (const [round, body] of sent(start).entries()) {
      const marked = own[round] ?? {};
      // a result of the first request is yet to come
      if (place === "a block of a result" && round === 0) continue;
      assert.deepEqual(body, marked);
    }
  });
}

for (const [provider, model, createClient, name] of [
  ["bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", createChatClient, '{"cachePoint":'],
  ["bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", createMessagesClient, '"cache_control":{'],
  ["bedrock", "amazon.nova-pro-v1:0", createChatClient, '{"cachePoint":'],
  ["vertex-ai", "anthropic.claude-sonnet-4-6", createChatClient, '"cache_control":{'],
  ["vertex-ai", "anthropic.claude-sonnet-4-6", createMessagesClient, '"cache_control":{'],
] as const) {
  test(`${provider} gets marks by prompt_cache for ${model} from ${createClient.name}`, async () => {
    const start = world.requests.length;
    await hold(createClient(setupOf(model)), { provider, model, config: { prompt_cache: true }, rounds: few });
    const counts = sent(start).map((body) => countOf(body, name));
    assert.equal(counts.length, few);
    const isNova = model.startsWith("amazon");
    // Nova takes no mark behind tools and results
    assert.deepEqual([...new Set(counts)], isNova ? [2, 1] : [3, 4]);
  });
}
