// What names of models cost: processor time of a small chat that names its model by an alias, in a workspace with 100 of
// them and with facts of the operator, over that of the same chat by `@slug/model` without aliases and facts. Both gateways
// run in one process, without network, in turn; more rounds follow while the limit lies within the noise. Ends with 1 where the ratio is above the limit.
// Usage: node scripts/run.mjs bun bench/aliases.ts [--rounds 40] [--most 200]

import process from "node:process";
import { parseArgs } from "node:util";
import { createGateway, type GatewayOptions } from "../mod.ts";
import { isOpen, middleOf } from "./measure.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "40" }, most: { type: "string", default: "200" } },
});
/** Turns before the first round, for each side. */
const warmUpTurns = 8;
/** Requests of one turn: the log writes batches of 64 rows, and none waits for more. */
const turnRequests = 640;
const settleMs = 60;
const aliases = 100;
/** Most processor time with them, relative to that without. */
const limit = 1.02;
const workspaceKey = "bench-workspace-key-000000";

const answer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "A short answer." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 },
});

/** Sends requests one after the other; resolves with the processor time of each, in microseconds. */
type Measure = (requests: number) => Promise<number>;

/** Starts a gateway in this process, with a stored provider and so many aliases of its model. */
async function startMeasuring(model: string, count: number, options: GatewayOptions): Promise<Measure> {
  const gateway = createGateway({
    ...options,
    bootstrap: { workspaceKey },
    transport: {
      send: () => Promise.resolve(new Response(answer, { headers: { "content-type": "application/json" } })),
    },
    warn: () => {},
    log: () => {},
  });
  await gateway.start();
  const headers = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
  const post = async (path: string, body: object): Promise<void> => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await gateway.fetch(new Request(`http://gateway.bench/v1${path}`, init));
    const text = await response.text();
    if (response.status !== 200) throw new Error(`Cannot measure: ${path} answered ${text}`);
  };
  await post("/integrations", { name: "main", slug: "main", ai_provider_id: "openai", key: "fake-key" });
  for (let number = 0; number < count; number++) {
    await post("/model-aliases", { name: `name-${number}`, target: { model: "@main/gpt-4o-mini" } });
  }
  const body = { model, messages: [{ role: "user", content: "Hello" }] };
  return async (requests) => {
    const startedAt = process.cpuUsage();
    for (let sent = 0; sent < requests; sent++) await post("/chat/completions", body);
    // its log rows are written now
    await new Promise((resume) => setTimeout(resume, settleMs));
    const { user, system } = process.cpuUsage(startedAt);
    return (user + system) / requests;
  };
}

const facts: GatewayOptions = {
  modelFacts: { openai: { rows: [{ match: ["gpt-4o-mini*"], facts: { contextWindow: 128_000 } }] } },
};
const plain = await startMeasuring("@main/gpt-4o-mini", 0, {});
const named = await startMeasuring(`name-${aliases - 1}`, aliases, facts);
for (let turn = 0; turn < warmUpTurns; turn++) for (const measure of [plain, named]) await measure(turnRequests);
const ratios: number[] = [];
const isUndecided = () => ratios.length < Number(values.most) && isOpen(middleOf(ratios), limit);
for (let round = 0; round < Number(values.rounds) || isUndecided(); round++) {
  const found = new Map<Measure, number>();
  const order = round % 2 === 0 ? [plain, named] : [named, plain];
  for (const measure of order) found.set(measure, await measure(turnRequests));
  ratios.push((found.get(named) ?? 0) / (found.get(plain) ?? 1));
}
const { ratio, from, to } = middleOf(ratios);
const percent = (value: number) => ((value - 1) * 100).toFixed(1);
const line = `an alias with facts: CPU per request, 95 % interval ${percent(from)} to ${percent(to)} %`;
judge({ line, figure: (ratio - 1) * 100, most: 2, unit: "% more", digits: 1 });
process.exit();
