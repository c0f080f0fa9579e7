// What guardrails cost: processor time of a request with them over that of the same request without, in one process and
// without network. How the engine optimises code differs from process to process, so several processes measure in turns,
// and more follow while the limit lies within the noise. Ends with 1 where a scenario costs more than its limit.
// Usage: node scripts/run.mjs bun bench/guardrails.ts [--with TEXT] [--processes 7] [--most 21] [--rounds 20]
// With `--with text` only scenarios whose name contains the text are measured.

import { execFileSync } from "node:child_process";
import process from "node:process";
import { parseArgs } from "node:util";
import { createGateway } from "../mod.ts";
import { isOpen, median, middleOf } from "./measure.ts";
import { judge } from "./verdict.ts";

const { values } = parseArgs({
  options: {
    with: { type: "string", default: "" },
    processes: { type: "string", default: "7" },
    most: { type: "string", default: "21" },
    rounds: { type: "string", default: "20" },
    // given to the processes that measure
    scenario: { type: "string" },
  },
});
const roundCount = Number(values.rounds);
/** Requests before the first round, for each side. */
const warmUpRequests = 4_000;
const turnRequests = 320;
/** Rows of the log wait so long at most, so that they are written within the turn. */
const logFlushMs = 10;
const settleMs = 20;
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

/** What one process measured of a scenario. */
interface Measured {
  /** Microseconds of a request without guardrails. */
  readonly plain: number;
  /** Processor time with guardrails over that without. */
  readonly ratio: number;
}

/** Sends requests one after the other; resolves with the processor time of each, in microseconds. */
type Measure = (config: object, isStream: boolean, requests: number) => Promise<number>;

/** Starts a gateway in this process. */
async function startMeasuring(): Promise<Measure> {
  const gateway = createGateway({
    bootstrap: { workspaceKey },
    logFlushMs,
    transport: { send: (_, init) => Promise.resolve(answerCall(init)) },
    warn: () => {},
    log: () => {},
  });
  await gateway.start();
  return async (config, isStream, requests) => {
    const headers = {
      "x-gateway-api-key": workspaceKey,
      "content-type": "application/json",
      "x-gateway-config": JSON.stringify({ provider: "openai", api_key: "bench", ...config }),
    };
    const messages = [{ role: "user", content: isStream ? "Hello" : prompt }];
    const body = JSON.stringify(isStream ? { model: "m", messages, stream: true } : { model: "m", messages });
    const startedAt = process.cpuUsage();
    for (let sent = 0; sent < requests; sent++) {
      const request = new Request("http://gateway.bench/v1/chat/completions", { method: "POST", headers, body });
      const response = await gateway.fetch(request);
      const text = await response.text();
      if (response.status !== 200 || (isStream && !text.endsWith("[DONE]\n\n"))) {
        throw new Error(`Cannot measure: ${text}`);
      }
    }
    // its log rows are written now
    await new Promise((resume) => setTimeout(resume, settleMs));
    const { user, system } = process.cpuUsage(startedAt);
    return (user + system) / requests;
  };
}

/** Measures a scenario and the same requests without guardrails in turn, in this process. */
async function measureHere({ stream, config }: Scenario): Promise<Measured> {
  const measure = await startMeasuring();
  const sides = { plain: {}, guarded: config };
  for (const side of Object.values(sides)) await measure(side, stream, warmUpRequests);
  const rounds: { plain: number; guarded: number }[] = [];
  while (rounds.length < roundCount) {
    const round = { plain: 0, guarded: 0 };
    const order = rounds.length % 2 === 0 ? (["plain", "guarded"] as const) : (["guarded", "plain"] as const);
    for (const side of order) round[side] = await measure(sides[side], stream, turnRequests);
    rounds.push(round);
  }
  const ratio = median(rounds.map(({ plain, guarded }) => guarded / plain));
  return { plain: median(rounds.map(({ plain }) => plain)), ratio };
}

/** Measures a scenario in a separate process. */
function measureApart(index: number): Measured {
  const args = [import.meta.filename, "--scenario", String(index), "--rounds", String(roundCount)];
  const measured: Measured = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
  return measured;
}

/** Measures a scenario in several processes, and prints whether its limit holds. */
function compare({ name, limit }: Scenario, index: number): void {
  const measured: Measured[] = [];
  const middle = () => middleOf(measured.map(({ ratio }) => ratio));
  const isDecided = () => limit === undefined || !isOpen(middle(), 1 + limit / 100);
  while (measured.length < Number(values.processes) || (measured.length < Number(values.most) && !isDecided())) {
    measured.push(measureApart(index));
  }
  const { ratio, from, to } = middle();
  const percent = (value: number) => ((value - 1) * 100).toFixed(1);
  const plain = median(measured.map((one) => one.plain)).toFixed(0);
  const interval = `95 % interval ${percent(from)} to ${percent(to)} %, ${measured.length} processes`;
  const line = `${name}: CPU per request beyond ${plain} us without, ${interval}`;
  if (limit === undefined) console.log(`${line}: ${percent(ratio)} %`);
  else judge({ line, figure: (ratio - 1) * 100, most: limit, unit: "%", digits: 1 });
}

if (values.scenario === undefined) {
  for (const [index, scenario] of scenarios.entries())
    if (scenario.name.includes(values.with)) compare(scenario, index);
} else {
  const scenario = scenarios[Number(values.scenario)];
  if (!scenario) throw new TypeError(`Cannot measure: scenario ${values.scenario} is not there`);
  console.log(JSON.stringify(await measureHere(scenario)));
  process.exit();
}
