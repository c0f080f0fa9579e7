// "Think" and "do not think" of clients in all dialects, in the form of each host.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Transport } from "../../src/lib/outbound.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { createChatClient } from "./chat-client.ts";
import type { Client, Members, Setup } from "./client.ts";
import { createGeminiClient } from "./gemini-client.ts";
import { createMessagesClient } from "./messages-client.ts";
import { createResponsesClient } from "./responses-client.ts";

let gateway: TestGateway;
let sent: Members | undefined;
before(async () => {
  const send: Transport["send"] = async (_url, { body }) => {
    sent = JSON.parse(String(body));
    return Response.json({ error: { message: "enough" } }, { status: 400 });
  };
  gateway = await createTestGateway({ transport: { send, sendChecked: send } });
});
after(() => gateway.close());

const clients: Readonly<Record<string, (setup: Setup) => Client>> = {
  chat: createChatClient,
  messages: createMessagesClient,
  responses: createResponsesClient,
  gemini: createGeminiClient,
};

const own = "https://models.example";
const isOff = { thinking: { type: "disabled" } };
const isOn = { thinking: { type: "enabled" } };

/** A host and a model, with what it receives for `off` and for `high`. */
interface Host {
  slug: string;
  model: string;
  host?: string;
  off: Members;
  high: Members;
  /** Dialects that the provider serves itself, or whose requests it gets unchanged. */
  skips?: readonly string[];
}

const hosts: readonly Host[] = [
  { slug: "deepseek", model: "deepseek-v4-pro", off: isOff, high: { ...isOn, reasoning_effort: "high" } },
  { slug: "z-ai", model: "glm-4.6", off: isOff, high: isOn },
  { slug: "z-ai", model: "glm-5.2", off: isOff, high: { ...isOn, reasoning_effort: "high" } },
  { slug: "zhipu", model: "glm-4.6", off: isOff, high: isOn },
  { slug: "moonshot", model: "kimi-k2.6", off: isOff, high: isOn },
  { slug: "moonshot", model: "kimi-k3", off: { reasoning_effort: "low" }, high: { reasoning_effort: "high" } },
  {
    slug: "moonshot",
    host: own,
    model: "kimi-k3",
    off: { reasoning_effort: "low" },
    high: { reasoning_effort: "high" },
  },
  { slug: "dashscope", model: "qwen3.5-plus", off: { enable_thinking: false }, high: { enable_thinking: true } },
  {
    slug: "openrouter",
    model: "anthropic/claude-sonnet-4.6",
    off: { reasoning: { enabled: false } },
    high: { reasoning: { effort: "high" } },
    skips: ["responses"],
  },
  {
    slug: "ollama",
    host: own,
    model: "qwen3:8b",
    off: { reasoning_effort: "none" },
    high: { reasoning_effort: "high" },
  },
  { slug: "ollama", host: own, model: "llama3.2", off: {}, high: {} },
  {
    slug: "openai",
    host: own,
    model: "Qwen/Qwen3-32B",
    off: { chat_template_kwargs: { enable_thinking: false } },
    high: { chat_template_kwargs: { enable_thinking: true }, reasoning_effort: "high" },
    skips: ["chat", "responses"],
  },
];

const members = [
  "thinking",
  "reasoning",
  "reasoning_effort",
  "enable_thinking",
  "chat_template_kwargs",
  "think",
  "output_config",
] as const;

/** What a request says about thinking. */
async function readSent(client: Client, { slug, model, host }: Host, body: Members): Promise<Members> {
  sent = undefined;
  const response = await gateway.fetch(client.path(model), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": workspaceKey,
      "x-gateway-provider": slug,
      authorization: "Bearer fake-provider-key",
      ...(host !== undefined && { "x-gateway-custom-host": host }),
      ...client.headers,
    },
    body: JSON.stringify(body),
  });
  await response.body?.cancel();
  return Object.fromEntries(members.flatMap((name) => (sent?.[name] === undefined ? [] : [[name, sent[name]]])));
}

/** OpenRouter's switch and its effort `none` say the same. */
function normalise(said: Members, off: Members): Members {
  return JSON.stringify(said) === '{"reasoning":{"effort":"none"}}' ? off : said;
}

const step = { outcomes: [], text: "Hello", hasImage: false, instruction: "" };

for (const one of hosts) {
  for (const [dialect, createClient] of Object.entries(clients)) {
    if (one.skips?.includes(dialect)) continue;
    const where = one.host === undefined ? one.slug : `${one.slug} at a custom host`;
    test(`"do not think" and an effort of ${dialect} clients reach ${one.model} of ${where}`, async () => {
      const setup = { instructions: "", tools: [], temperature: undefined, streams: true, maxTokens: 40_000 };
      const quiet = createClient({ ...setup, effort: "off" });
      assert.deepEqual(normalise(await readSent(quiet, one, quiet.ask(step, one.model)), one.off), one.off);
      const client = createClient({ ...setup, effort: "high" });
      const body = client.ask(step, one.model);
      // as agents ask current models
      const asked = dialect === "messages" ? adaptive(body) : body;
      assert.deepEqual(await readSent(client, one, asked), one.high);
    });
  }
}

function adaptive(body: Members): Members {
  return { ...body, thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" } };
}
