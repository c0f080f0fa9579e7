// What ways to choose and change a request cost: processor time of a small chat that uses one, over that of the same chat by
// `@slug/model`. Each has a gateway; all run in one process, without network, in turn. Names with facts have a limit:
// more rounds follow while it lies within the noise. Ends with 1 where it is not held.
// Usage: node scripts/run.mjs bun bench/features.ts [--rounds 12] [--most 120] [--only alias,queue]

import process from "node:process";
import { parseArgs } from "node:util";
import { createGateway, type GatewayOptions } from "../mod.ts";
import { isOpen, middleOf } from "./measure.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "12" },
    most: { type: "string", default: "120" },
    only: { type: "string" },
  },
});
/** Turns before the first round, for each gateway. */
const warmUpTurns = 16;
/** Requests of one turn, and turns of a round: what else the machine does meets the gateways of a round alike. */
const turnRequests = 160;
const turnsOfRound = 8;
/** Rows of the log wait so long at most, so that they are written within the turn. */
const logFlushMs = 10;
const settleMs = 30;
const aliases = 100;
const workspaceKey = "bench-workspace-key-000000";

const shared = { model: "gpt-4o-mini", usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 } };
const message = { role: "assistant", content: "A short answer." };
const ofOpenai = { id: "chatcmpl-1", object: "chat.completion", created: 1, ...shared };
/** Answers of hosts by the end of the path. */
const answers: Readonly<Record<string, string>> = {
  completions: JSON.stringify({ ...ofOpenai, choices: [{ index: 0, message, finish_reason: "stop" }] }),
  messages: JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-6",
    content: [{ type: "text", text: message.content }],
    stop_reason: "end_turn",
    usage: { input_tokens: 10, output_tokens: 4 },
  }),
};

type Post = (path: string, body: object) => Promise<void>;

interface Scenario {
  /** What is measured, in words. */
  line: string;
  /** The scenario that its time is divided by. Default: `plain`. */
  against?: string;
  /** Most processor time relative to it. Default: none. */
  limit?: number;
  options?: GatewayOptions;
  config?: object;
  model?: string;
  content?: string;
  /** Further members of the body. */
  more?: object;
  /** Stores what the requests need. */
  prepare?(post: Post): Promise<void>;
}

const target = (more: object = {}) => ({ provider: "@main", override_params: { model: "gpt-4o-mini" }, ...more });
const [first, second] = ["one", "two"].map((name) => target({ name }));
const pii = (restore: boolean) => [{ "gateway.pii": { redact: true, restore } }];

const scenarios: Readonly<Record<string, Scenario>> = {
  plain: { line: "@slug/model" },
  alias: {
    line: `one of ${aliases} aliases, with facts of the operator`,
    limit: 1.02,
    options: { modelFacts: { openai: { rows: [{ match: ["gpt-4o-mini*"], facts: { contextWindow: 128_000 } }] } } },
    model: `name-${aliases - 1}`,
    async prepare(post) {
      for (let number = 0; number < aliases; number++) {
        await post("/model-aliases", { name: `name-${number}`, target: { model: "@main/gpt-4o-mini" } });
      }
    },
  },
  config: { line: "a saved config with one target", config: target() },
  reasons: {
    line: "a fallback by kind of failure, whose first target answers",
    against: "config",
    config: { strategy: { mode: "fallback", on_error_codes: ["context_too_long", "empty"] }, targets: [first, second] },
  },
  balancing: {
    line: "a load balancer by latency over two targets",
    against: "config",
    config: { strategy: { mode: "loadbalance", choose: "lowest_latency" }, targets: [first, second] },
  },
  auto: {
    line: "auto with two tiers and one rule",
    against: "config",
    config: {
      strategy: { mode: "auto", rules: [{ query: { "request.tokens": { $gt: 50_000 } }, then: "two" }] },
      targets: [first, second],
    },
  },
  body: { line: "a second model in the body", more: { models: ["@main/gpt-4o"] } },
  search: {
    line: "a search of the web that the model does not ask for",
    against: "config",
    config: { ...target(), server_tools: { web_search: { model: "@find/auto" } } },
    more: { web_search_options: {} },
    async prepare(post) {
      await post("/integrations", { name: "find", slug: "find", ai_provider_id: "exa", key: "fake-key" });
    },
  },
  claude: { line: "a chat converted for Anthropic", model: "@claude/claude-sonnet-4-6" },
  caching: {
    line: "marks for the prompt cache of Anthropic",
    against: "claude",
    config: { provider: "@claude", override_params: { model: "claude-sonnet-4-6" }, prompt_cache: { ttl: "1h" } },
  },
  labels: {
    line: "labels asked of two targets",
    against: "config",
    config: {
      strategy: { mode: "fallback" },
      require_labels: { region: ["eu"] },
      targets: [target({ labels: { region: "us" } }), target({ labels: { region: "eu" } })],
    },
  },
  shadow: {
    line: "a tenth of requests copied to another target",
    against: "config",
    config: { ...target(), shadow: { target: target({ name: "copy" }), share: 0.1 } },
  },
  limited: {
    line: "a rate limit that nobody reaches",
    prepare: (post) => post("/policies/rate-limits", limit({})),
  },
  queue: {
    line: "the same limit with a queue",
    against: "limited",
    prepare: (post) => post("/policies/rate-limits", limit({ queue: { max_waiting: 100, max_wait_ms: 1_000 } })),
  },
  masking: {
    line: "an address masked for the provider",
    config: { ...target(), input_guardrails: pii(false) },
    content: "Write to jane@example.com",
  },
  restoring: {
    line: "the same, with the value restored in the answer",
    against: "masking",
    config: { ...target(), input_guardrails: pii(true) },
    content: "Write to jane@example.com",
  },
};

function limit(more: object): object {
  const conditions = [{ key: "workspace_id", value: "*" }];
  const group = [{ key: "api_key" }];
  return { name: "wide", conditions, group_by: group, type: "requests", unit: "rpm", value: 1_000_000_000, ...more };
}

/** Sends requests one after the other; resolves with the processor time of each, in microseconds. */
type Measure = (requests: number) => Promise<number>;

/** Starts the gateway of a scenario in this process. */
async function startMeasuring(scenario: Scenario): Promise<Measure> {
  const { options, prepare, config, model, content = "Hello", more } = scenario;
  const gateway = createGateway({
    ...options,
    bootstrap: { workspaceKey },
    logFlushMs,
    transport: {
      send(url) {
        const body = answers[new URL(url).pathname.split("/").at(-1) ?? ""];
        return Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
      },
    },
    warn: () => {},
    log: () => {},
  });
  await gateway.start();
  const headers: Record<string, string> = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
  const send = async (path: string, body: object): Promise<string> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await gateway.fetch(new Request(`http://gateway.bench/v1${path}`, init));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`Cannot measure: ${path} answered ${text}`);
    return text;
  };
  await send("/integrations", { name: "main", slug: "main", ai_provider_id: "openai", key: "fake-key" });
  await send("/integrations", { name: "claude", slug: "claude", ai_provider_id: "anthropic", key: "fake-key" });
  await prepare?.(async (path, body) => void (await send(path, body)));
  if (config) {
    const { slug }: { slug: string } = JSON.parse(await send("/configs", { name: "measured", config }));
    headers["x-gateway-config"] = slug;
  }
  const messages = [{ role: "user", content }];
  const body = { model: model ?? (config ? "asked" : "@main/gpt-4o-mini"), messages, ...more };
  return async (requests) => {
    const startedAt = process.cpuUsage();
    for (let sent = 0; sent < requests; sent++) await send("/chat/completions", body);
    // its log rows are written now
    await new Promise((resume) => setTimeout(resume, settleMs));
    const { user, system } = process.cpuUsage(startedAt);
    return (user + system) / requests;
  };
}

/** The scenarios that are asked for, and those that they are divided by. */
function chooseScenarios(): [string, Scenario][] {
  const names = values.only?.split(",");
  const wanted = new Set(names?.flatMap((name) => [name, scenarios[name]?.against ?? "plain"]));
  return Object.entries(scenarios).filter(([name]) => names === undefined || wanted.has(name));
}

const chosen = chooseScenarios();
const measures = new Map<string, Measure>();
for (const [name, scenario] of chosen) measures.set(name, await startMeasuring(scenario));
for (let turn = 0; turn < warmUpTurns; turn++) for (const measure of measures.values()) await measure(turnRequests);

const measured = chosen.filter(([name]) => name !== "plain");
const ratios = new Map<string, number[]>(measured.map(([name]) => [name, []]));

/** The turns of some gateways, in alternate order. */
async function runRound(round: number, asked: readonly (readonly [string, Scenario])[]): Promise<void> {
  const names = [...new Set(asked.flatMap(([name, { against = "plain" }]) => [against, name]))];
  const found = new Map<string, number>();
  for (let turn = 0; turn < turnsOfRound; turn++) {
    for (const name of (round + turn) % 2 === 0 ? names : names.toReversed()) {
      const time = (await measures.get(name)?.(turnRequests)) ?? Number.NaN;
      found.set(name, (found.get(name) ?? 0) + time);
    }
  }
  for (const [name, { against = "plain" }] of asked) {
    ratios.get(name)?.push((found.get(name) ?? Number.NaN) / (found.get(against) ?? Number.NaN));
  }
}

for (let round = 0; round < Number(values.rounds); round++) await runRound(round, measured);
for (const [name, scenario] of measured) {
  const own = ratios.get(name) ?? [];
  const { limit: bound, line, against = "plain" } = scenario;
  while (bound !== undefined && own.length < Number(values.most) && isOpen(middleOf(own), bound)) {
    await runRound(own.length, [[name, scenario]]);
  }
  const { ratio, from, to } = middleOf(own);
  const percent = (value: number) => ((value - 1) * 100).toFixed(1);
  const said = `${name}: ${line}, over ${against}: CPU per request, 95 % interval ${percent(from)} to ${percent(to)} %`;
  if (bound === undefined) console.log(`${said}: ${percent(ratio)} % more`);
  else
    judge({
      line: said,
      figure: (ratio - 1) * 100,
      most: Math.round((bound - 1) * 1_000) / 10,
      unit: "% more",
      digits: 1,
    });
}
process.exit();
