// node scripts/run.mjs node scripts/walks.ts [--list WALK]: how much of the source one request runs, counted with V8's
// precise coverage: files, functions and calls, until its response is read. The gateway and its database are in this
// process, and upstreams are functions. `--list` prints the functions of one walk, by file.

import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createGateway } from "../src/gateway.ts";
import type { TransportInit } from "../src/lib/outbound.ts";

const key = "an-obvious-fake-key";
const source = `${pathToFileURL(join(import.meta.dirname, "../src")).href}/`;

const chatAnswer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_760_000_000,
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello there." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 },
};

const claudeAnswer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-sonnet-4-5",
  content: [{ type: "text", text: "Hello there." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens: 3 },
};

/** A stream of eight events. */
function streamedAnswer(): string {
  const chunk = (delta: object, finish: string | null = null) => ({
    ...chatAnswer,
    object: "chat.completion.chunk",
    usage: null,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const words = ["Hello", " there", ", how", " are", " you?"].map((content) => chunk({ content }));
  const last = { ...chunk({}), choices: [], usage: chatAnswer.usage };
  const chunks = [chunk({ role: "assistant", content: "" }), ...words, chunk({}, "stop"), last];
  return `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")}data: [DONE]\n\n`;
}

/** The result of a message to the MCP server. */
function mcpResult(method: unknown): object {
  if (method === "tools/call") return { content: [{ type: "text", text: "hello" }] };
  if (method === "tools/list") return { tools: [{ name: "echo", inputSchema: { type: "object" } }] };
  return {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "walks", version: "1" },
  };
}

async function answerMcp({ body }: TransportInit): Promise<Response> {
  const { id, method }: { id?: unknown; method?: unknown } = JSON.parse(String(body ?? "{}"));
  if (id === undefined) return new Response(null, { status: 202 });
  return Response.json({ jsonrpc: "2.0", id, result: mcpResult(method) });
}

/** Every upstream. */
async function send(url: string, init: TransportInit): Promise<Response> {
  const { body } = init;
  if (url.includes("/mcp")) return answerMcp(init);
  if (url.includes("anthropic")) return Response.json(claudeAnswer);
  const isStreamed = typeof body === "string" && body.includes('"stream":true');
  if (!isStreamed) return Response.json(chatAnswer);
  return new Response(streamedAnswer(), { headers: { "content-type": "text/event-stream" } });
}

interface Walk {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

const openai = { "x-gateway-provider": "openai", authorization: "Bearer a-fake-credential" };
const chat = { model: "gpt-4o-mini", messages: [{ role: "user", content: "Say hello." }] };
const guarded = {
  provider: "openai",
  cache: { mode: "simple" },
  input_guardrails: [{ "default.contains": { words: ["forbidden"], operator: "none" }, deny: true }],
  output_guardrails: [{ "default.contains": { words: ["forbidden"], operator: "none" }, deny: true }],
};
/** Time in which the work that follows requests ends, such as that on their log rows, in milliseconds. */
const quietMs = 3_000;
/** Time between two countings, in milliseconds. */
const betweenMs = 50;
let turn = 0;
let limitedKey = "";

const walks: Readonly<Record<string, () => Walk>> = {
  chat: () => ({ path: "/v1/chat/completions", headers: openai, body: chat }),
  converted: () => ({
    path: "/v1/chat/completions",
    headers: { ...openai, "x-gateway-provider": "anthropic" },
    body: { ...chat, model: "claude-sonnet-4-5", max_tokens: 64 },
  }),
  streamed: () => ({ path: "/v1/chat/completions", headers: openai, body: { ...chat, stream: true } }),
  guarded: () => ({
    path: "/v1/chat/completions",
    headers: { ...openai, "x-gateway-api-key": limitedKey, "x-gateway-config": JSON.stringify(guarded) },
    body: { ...chat, messages: [{ role: "user", content: `Say hello, turn ${turn++}.` }], stream: true },
  }),
  tool: () => ({
    path: "/m/walks/mcp",
    headers: { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" },
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: {} } },
  }),
  config: () => ({ path: "/v1/configs", body: { name: `Walk ${turn++}`, config: { provider: "echo" } } }),
  logs: () => ({ method: "GET", path: "/v1/logs?limit=5&status=200" }),
};

const gateway = createGateway({
  database: ":memory:",
  bootstrap: { workspaceKey: key },
  trustedHosts: ["127.0.0.1"],
  transport: { send, sendChecked: send },
  log: () => {},
  warn: () => {},
});

/** Sends a request and reads its response. */
async function run({ method = "POST", path, headers, body }: Walk): Promise<string> {
  const response = await gateway.fetch(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { "x-gateway-api-key": key, "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}

/** Stores what walks need: a key with a rate limit, and an MCP server. */
async function prepare(): Promise<void> {
  const limits = { rate_limits: [{ type: "requests", unit: "rpm", value: 1_000_000 }] };
  const scopes = ["completions.write"];
  const made = await run({ path: "/v1/api-keys/workspace/service", body: { name: "Limited", scopes, ...limits } });
  limitedKey = JSON.parse(made).key;
  const url = "http://127.0.0.1:8000/mcp";
  await run({
    path: "/v1/mcp-integrations",
    body: { name: "Walks", slug: "walks-up", url, auth_type: "none", transport: "http" },
  });
  await run({ path: "/v1/mcp-servers", body: { name: "Walks", slug: "walks", mcp_integration_id: "walks-up" } });
}

/** Functions of the source that ran, with their calls, by file. */
type Counted = Map<string, Map<string, number>>;

async function takeCounts(session: Session): Promise<Counted> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const counted: Counted = new Map();
  for (const { url, functions } of result) {
    if (!url.startsWith(source)) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      // the function of the whole module runs when it is loaded
      if (!range || range.count === 0 || (functionName === "" && range.startOffset === 0)) continue;
      // V8 sets the fields of a class in a separate function; its constructor counts
      if (functionName === "<instance_members_initializer>") continue;
      const path = url.slice(source.length);
      const calls = counted.get(path) ?? new Map<string, number>();
      const name = functionName || "anonymous";
      calls.set(`${name}@${range.startOffset}`, range.count);
      counted.set(path, calls);
    }
  }
  return counted;
}

/** How often a walk is counted. */
const countings = 5;

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));

/** What waits until a request was counted: work by the clock, such as looking for changes of other nodes, is no part of it. */
const held: (() => void)[] = [];
let isCounting = false;

/** Makes a function that starts timers hold what is due while a request is counted that did not start it. */
function holding(start: (action: () => void, delayMs?: number) => NodeJS.Timeout) {
  return (action: () => void, delayMs?: number) => {
    const isOwn = isCounting;
    return start(() => {
      if (isCounting && !isOwn) held.push(action);
      else action();
    }, delayMs);
  };
}

/** The functions that ran both times, with the fewest calls. */
function ofBoth(one: Counted, other: Counted): Counted {
  const both: Counted = new Map();
  for (const [path, calls] of one) {
    const others = other.get(path);
    const shared = [...calls].flatMap(([name, number]): [string, number][] => {
      const again = others?.get(name);
      return again === undefined ? [] : [[name, Math.min(number, again)]];
    });
    if (shared.length > 0) both.set(path, new Map(shared));
  }
  return both;
}

/** What each request of a walk runs. */
async function count(session: Session, walk: () => Walk): Promise<Counted> {
  let counted: Counted | undefined;
  for (let round = 0; round < countings; round++) {
    await takeCounts(session);
    isCounting = true;
    await run(walk());
    isCounting = false;
    const now = await takeCounts(session);
    counted = counted ? ofBoth(counted, now) : now;
    for (const action of held.splice(0)) action();
    await pause(betweenMs);
  }
  return counted ?? new Map();
}

const { values } = parseArgs({ options: { list: { type: "string" } } });
globalThis.setTimeout = Object.assign(holding(setTimeout), setTimeout);
globalThis.setInterval = Object.assign(holding(setInterval), setInterval);
await gateway.start();
await prepare();
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
// what runs in the first requests alone does not count
for (const walk of Object.values(walks)) for (let round = 0; round < 10; round++) await run(walk());
await pause(quietMs);
for (const [name, walk] of Object.entries(walks)) {
  const counted = await count(session, walk);
  const functions = [...counted.values()].flatMap((calls) => [...calls.values()]);
  const calls = functions.reduce((sum, number) => sum + number, 0);
  if (values.list === undefined) {
    console.log(`${name}: ${counted.size} files, ${functions.length} functions, ${calls} calls`);
  } else if (values.list === name) {
    for (const [path, named] of [...counted].sort(([one], [other]) => (one < other ? -1 : 1))) {
      const names = [...named].map(
        ([place, number]) => `${place.replace(/@\d+$/, "")}${number > 1 ? ` x${number}` : ""}`,
      );
      console.log(`${path}: ${names.join(", ")}`);
    }
  }
}
await gateway.close();
