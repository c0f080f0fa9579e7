// What guardrails cost: processor time of a request with them over that of the same request without, in one process.
// `bun bench/guardrails.ts [requests] [scenario]`: requests in each round (500), and which of the scenarios (all). With
// few requests the engine has not optimised the code yet. Ends with 1 where a scenario costs more than its limit.

import process from "node:process";
import { createGateway } from "../mod.ts";

const requests = Number(process.argv[2] ?? 500);
const only = process.argv[3];
const warmUpRounds = 6;
const roundCount = 24;
const settleMs = 150;
const events = 100;
const encoder = new TextEncoder();

/** Text with the words and signs prompts have, of about 4 KB. */
const prompt = Array.from(
  { length: 60 },
  (_, index) => `${index}. The order service answered 200 in ${index * 7} ms; "retried": no.`,
).join("\n");

const chunk = (content: string) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
const last = `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\n`;
const pieces = [
  ...Array.from({ length: events - 2 }, (_, index) => chunk(` word${index}`)),
  last,
  "data: [DONE]\n\n",
].map((text) => encoder.encode(text));
const answer = JSON.stringify({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [
    { index: 0, message: { role: "assistant", content: "A short answer of the model." }, finish_reason: "stop" },
  ],
  usage: { prompt_tokens: 1_000, completion_tokens: 7, total_tokens: 1_007 },
});

/** An upstream that answers at once and writes the events of a stream one by one. */
function answerCall(request: { body?: unknown }): Response {
  const isStream = typeof request.body === "string" && request.body.includes('"stream":true');
  if (!isStream) return new Response(answer, { headers: { "content-type": "application/json" } });
  let next = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[next++];
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const regex = (rule: string) => ({ "default.regexMatch": { rule, not: true } });
const before = [
  regex("sk-[a-z0-9]{24}"),
  regex("[a-z.]{1,30}@[a-z]{1,20}\\.com"),
  regex("\\b\\d{4} \\d{4} \\d{4} \\d{4}\\b"),
];

/** A configuration, and most of what it may cost more than none, in percent. */
interface Scenario {
  name: string;
  stream: boolean;
  config: object;
  limit?: number;
}

const scenarios: readonly Scenario[] = [
  { name: "one input hook", stream: false, config: { input_guardrails: before.slice(0, 1) } },
  {
    name: "three regex checks before and one after, 4 KB prompt",
    stream: false,
    config: { input_guardrails: before, output_guardrails: [regex("sk-[a-z0-9]{24}")] },
    limit: 25,
  },
  {
    name: "100 events, deny list on a window",
    stream: true,
    config: {
      output_guardrails: [
        { "default.contains": { words: ["kumquat", "the falcon lands"], operator: "none" }, deny: true },
      ],
    },
    limit: 35,
  },
  {
    name: "100 events, redaction of a pattern on a window",
    stream: true,
    config: { output_guardrails: [{ "default.regexReplace": { rule: "/[a-z.]{1,30}@[a-z]{1,20}\\.com/g" } }] },
    limit: 35,
  },
  {
    name: "100 events, reported after the end",
    stream: true,
    config: { output_guardrails: [{ ...before[0], stream_mode: "inform" }] },
  },
];

const workspaceKey = "bench-workspace-key-000000";
const gateway = createGateway({
  bootstrap: { workspaceKey },
  transport: { send: (_, init) => Promise.resolve(answerCall(init)) },
  warn: () => {},
  log: () => {},
});
await gateway.start();

/** Processor time of so many requests, in microseconds each. */
async function measure(config: object, stream: boolean): Promise<number> {
  const headers = {
    "x-gateway-api-key": workspaceKey,
    "content-type": "application/json",
    "x-gateway-config": JSON.stringify({ provider: "openai", api_key: "bench", ...config }),
  };
  const content = stream ? "Hello" : prompt;
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }], ...(stream && { stream }) });
  const startedAt = process.cpuUsage();
  for (let sent = 0; sent < requests; sent++) {
    const request = new Request("http://gateway.bench/v1/chat/completions", { method: "POST", headers, body });
    const response = await gateway.fetch(request);
    const text = await response.text();
    if (response.status !== 200 || (stream && !text.endsWith("[DONE]\n\n"))) throw new Error(`Cannot measure: ${text}`);
  }
  // its log rows are written now
  await new Promise((resume) => setTimeout(resume, settleMs));
  const { user, system } = process.cpuUsage(startedAt);
  return (user + system) / requests;
}

/** The middle value: other work on the machine disturbs some of the rounds. */
function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Measures a scenario and the same requests without guardrails in turn; returns whether its limit holds. */
async function compare({ name, stream, config, limit }: Scenario): Promise<boolean> {
  const plain: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < warmUpRounds + roundCount; round++) {
    const one = await measure({}, stream);
    const other = await measure(config, stream);
    if (round < warmUpRounds) continue;
    plain.push(one);
    ratios.push(other / one);
  }
  const more = Math.round((median(ratios) - 1) * 100);
  const holds = limit === undefined || more <= limit;
  const verdict = limit === undefined ? "" : `, at most ${limit} %: ${holds ? "holds" : "DOES NOT HOLD"}`;
  console.log(`${name}: ${median(plain).toFixed(0)} us without, ${more} % more${verdict}`);
  return holds;
}

let allHold = true;
for (const [number, scenario] of scenarios.entries()) {
  if (only !== undefined && Number(only) !== number) continue;
  allHold = (await compare(scenario)) && allHold;
}
await gateway.close();
process.exitCode = allHold ? 0 : 1;
