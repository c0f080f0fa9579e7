// Run by `adversarial.test.ts` as a separate process, on Bun: prints one line of JSON for each case.
//   probe.ts loop all|sampled rows|config   the longest time each case holds the request loop
//   probe.ts memory NAME                    the memory one case of `memory.ts` adds
import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setImmediate } from "node:timers";
import { createGateway, type Gateway } from "../../src/gateway.ts";
import type { Transport } from "../../src/lib/outbound.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { adminKey, masterKeys, workspaceKey } from "../support/gateway.ts";
import { type Case, listCases } from "./cases.ts";
import { memoryCases } from "./memory.ts";

const answer = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  type: "message",
  role: "assistant",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  stop_sequence: null,
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason: "STOP" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, input_tokens: 1, output_tokens: 1 },
});

/** An upstream that takes anything and answers at once, without a network. */
function createUpstream(make: () => string): Transport {
  return {
    async send(_url, { body }) {
      if (body instanceof ReadableStream) for await (const _piece of body);
      return new Response(make(), { headers: { "content-type": "application/json" } });
    },
  };
}

const database = join(tmpdir(), `gateway-adversarial-${process.pid}.db`);

async function startGateway(make: () => string): Promise<Gateway> {
  const gateway = createGateway({
    database: `file:${database}`,
    masterKeys,
    bootstrap: { adminKey, workspaceKey },
    transport: createUpstream(make),
    createMac: nodeMac,
    createLogWriter: createLogThread,
    warn: () => {},
  });
  await gateway.start();
  return gateway;
}

async function makeScimToken({ fetch }: Gateway): Promise<string> {
  const response = await fetch(
    new Request("http://gateway.test/v1/admin/scim/tokens", {
      method: "POST",
      headers: { "x-gateway-api-key": adminKey, "content-type": "application/json" },
      body: '{"name":"Adversarial"}',
    }),
  );
  const { token }: { token: string } = JSON.parse(await response.text());
  return token;
}

function toRequest({ method, path, key, headers }: Case, body: ReturnType<Case["body"]>): Request {
  const sent = new Headers({ ...body?.headers, ...headers });
  if (key === "scim") sent.set("authorization", `Bearer ${scimToken}`);
  else sent.set("x-gateway-api-key", key === "admin" ? adminKey : workspaceKey);
  if (body) sent.set("content-length", String(body.bytes.length));
  const init: RequestInit = { method, headers: sent };
  if (body) init.body = body.bytes as BodyInit;
  return new Request(`http://gateway.test${path}`, init);
}

const threadFile = `/proc/${process.pid}/task/${process.pid}/schedstat`;
const hasThreadTime = existsSync(threadFile);

/**
 * Milliseconds this thread has worked, where the system reports them: other programs on a busy machine do not count. Else
 * wall clock time.
 */
function workedMs(): number {
  if (!hasThreadTime) return performance.now();
  return Number(readFileSync(threadFile, "utf8").split(" ", 1)[0]) / 1e6;
}

/** Milliseconds one piece of work takes. */
function time(work: () => unknown): number {
  const startedAt = workedMs();
  try {
    work();
  } catch {
    // what cannot be parsed took its time all the same
  }
  return workedMs() - startedAt;
}

/** The longest time between two turns of the event loop while something runs. */
async function holdOf(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = workedMs();
  let isOver = false;
  const note = () => {
    const now = workedMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const ticked = new Promise<void>((resolve) => {
    const tick = () => {
      note();
      if (isOver) resolve();
      else setImmediate(tick);
    };
    setImmediate(tick);
  });
  await run();
  isOver = true;
  await ticked;
  return longest;
}

/** Attempts until the figure is small enough, so that a busy machine does not decide. */
const attempts = 6;
/** Figures below this are not measured again, and after three attempts figures below the second. */
const smallMs = 60;
const fineMs = 90;

async function measureLoop(gateway: Gateway, one: Case) {
  const body = one.body();
  let hold = Number.POSITIVE_INFINITY;
  let json = Number.POSITIVE_INFINITY;
  let status = 0;
  for (let count = 0; count < attempts; count++) {
    const { json: text } = body ?? {};
    if (text !== undefined)
      json = Math.min(
        json,
        time(() => JSON.stringify(JSON.parse(text))),
      );
    else json = 0;
    const request = toRequest(one, body);
    const held = await holdOf(async () => {
      const response = await gateway.fetch(request);
      ({ status } = response);
      await response.body?.cancel();
    });
    hold = Math.min(hold, held);
    if (hold - json < (count < 2 ? smallMs : fineMs)) break;
  }
  const isUnexpected = one.isRefused !== undefined && one.isRefused !== (status === 400);
  const bytes = body?.bytes.length ?? 0;
  return { name: one.name, status, isUnexpected, holdMs: Math.round(hold), jsonMs: Math.round(json), bytes };
}

const print = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
const [, , kind, name, group] = process.argv;
const memoryCase = kind === "memory" ? memoryCases.find((one) => one.name === name) : undefined;
const gateway = await startGateway(() => memoryCase?.answer?.() ?? answer);
const scimToken = await makeScimToken(gateway);
if (kind === "loop") {
  const isConfig = group === "config";
  const cases = listCases(name === "all").filter((one) => one.name.startsWith("config: ") === isConfig);
  for (const one of cases) print(await measureLoop(gateway, one));
} else if (memoryCase) {
  const bodies = memoryCase.bodies();
  // all code that is needed is there before memory is looked at
  await gateway.fetch(toRequest(memoryCase.warm, memoryCase.warm.body())).then((one) => one.text());
  const { gc } = Bun as unknown as { gc(force: boolean): void }; // the types of the gateway name what it uses
  gc(true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 5);
  let statuses: number[] = [];
  const hold = await holdOf(async () => {
    statuses = await Promise.all(
      bodies.map(async (body) => {
        const response = await gateway.fetch(toRequest(memoryCase.warm, body));
        peak = Math.max(peak, process.memoryUsage.rss());
        await response.body?.cancel();
        return response.status;
      }),
    );
  });
  clearInterval(timer);
  print({ name, addedBytes: peak - before, holdMs: Math.round(hold), statuses });
}
await gateway.close();
for (const suffix of ["", "-wal", "-shm"]) rmSync(`${database}${suffix}`, { force: true });
process.exit(0);
