// bun bench/agent-session.ts [options]: what sessions of coding agents cost. Each client plays sessions of Claude Code or
// Codex, whose requests repeat the conversation and grow, and whose answers are streams of small events. The gateway has a
// key, a rate limit, a guardrail that looks for secrets, and the log of contents. The same turns go through the bare proxy.
//   --only LIST      forms, by the beginning of their names (claude-code,codex)
//   --clients N      clients at a time (1)
//   --turns N        turns of a session, from 20 KB to 600 KB (50)
//   --events N       pieces of text of an answer (300)
//   --rate N         events a second of each answer; 0: as fast as possible (0)
//   --rounds N       sessions of each client on each side (1)
//   --seconds N      time after which no session of another form or round begins (20)

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { createClient } from "@libsql/client";
import { type AgentForm, AgentSession, agentForms } from "./agent-forms.ts";
import { type Side, sides } from "./load.ts";
import { median, peakRssMegabytes, threadTimes } from "./measure.ts";
import {
  databaseFile,
  keys,
  type Running,
  removeFolder,
  runMain,
  startAgentUpstream,
  startBareProxy,
  startGateway,
  wait,
} from "./processes.ts";

/** What runs while sessions are played. */
interface Stage {
  upstream: Running;
  bare: Running;
  gateway: Running & { folder: string };
}

interface Options {
  clients: number;
  turns: number;
  rounds: number;
}

/** What one round of a form found on one side, for each turn. */
interface Played {
  /** CPU time in microseconds. */
  all: number;
  answering: number;
  workers: number;
  /** Milliseconds until the first byte of each answer. */
  firstMs: readonly number[];
  peakRssMegabytes: number;
  /** Bytes of the log that the database stores. */
  storedBytes: number;
  /** Bytes that the process wrote to files. */
  writtenBytes: number;
}

/** Time the gateway gets after a round to write its last rows. */
const settleMs = 1_500;
const jsonHeader = { "content-type": "application/json" };

const config = { input_guardrails: [{ "default.secrets": {}, deny: true }] };

function requestOf({ path, provider }: AgentForm, side: Side, { upstream, bare, gateway }: Stage) {
  const base = `http://127.0.0.1:${upstream.port}/v1`;
  const url = `http://127.0.0.1:${side === "bare" ? bare.port : gateway.port}/v1${path}`;
  const headers = {
    ...jsonHeader,
    authorization: `Bearer ${keys.provider}`,
    "anthropic-version": "2023-06-01",
    "x-gateway-api-key": keys.workspace,
    "x-gateway-provider": provider,
    "x-gateway-custom-host": base,
    "x-gateway-config": JSON.stringify(config),
  };
  return { url, headers };
}

/** Plays one session and returns the time until the first byte of each answer. */
async function playSession(form: AgentForm, side: Side, stage: Stage, { client, turns }: Client): Promise<number[]> {
  const { url, headers } = requestOf(form, side, stage);
  const session = new AgentSession(form, client, turns);
  const decoder = new TextDecoder();
  const times: number[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const body = session.next();
    const sentAt = performance.now();
    const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(60_000) });
    let [text, isFirst] = ["", true];
    for await (const piece of response.body ?? []) {
      if (isFirst) times.push(performance.now() - sentAt);
      isFirst = false;
      text += decoder.decode(piece, { stream: true });
    }
    // the bare proxy answers in the API that was asked for
    if (response.status !== 200 || !text.includes(form.end))
      throw new Error(`Cannot measure: ${form.name}, ${side} answered ${response.status} ${text.slice(-500)}`);
  }
  return times;
}

interface Client {
  client: number;
  turns: number;
}

/** Bytes of the log's rows and contents. */
async function storedBytes(file: string): Promise<number> {
  const client = createClient({ url: `file:${file}` });
  try {
    const { rows } = await client.execute(`SELECT (SELECT coalesce(sum(octet_length(details)), 0) FROM log_batches)
      + (SELECT coalesce(sum(octet_length(content)), 0) FROM log_bodies) AS bytes`);
    return Number(rows[0]?.bytes);
  } finally {
    client.close();
  }
}

/** Bytes that a process has written to files so far. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0);
}

/** Plays a session of each client at a time on one side. */
async function play(form: AgentForm, side: Side, stage: Stage, { clients, turns, round }: Round): Promise<Played> {
  const { pid } = stage[side];
  const file = databaseFile(stage.gateway.folder);
  const [before, written, stored] = [threadTimes(pid), writtenBytes(pid), await storedBytes(file)];
  const sessions = Array.from({ length: clients }, (_, client) => {
    return playSession(form, side, stage, { client: round * clients + client, turns });
  });
  const firstMs = (await Promise.all(sessions)).flat();
  await wait(settleMs);
  const after = threadTimes(pid);
  const count = clients * turns;
  return {
    all: (after.all - before.all) / count,
    answering: (after.answering - before.answering) / count,
    workers: (after.workers - before.workers) / count,
    firstMs,
    peakRssMegabytes: peakRssMegabytes(pid),
    storedBytes: ((await storedBytes(file)) - stored) / count,
    writtenBytes: (writtenBytes(pid) - written) / count,
  };
}

type Round = Pick<Options, "clients" | "turns"> & { round: number };

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const cells = (values: readonly (string | number)[]) => `| ${values.join(" | ")} |`;

function showRow({ title }: AgentForm, played: Record<Side, readonly Played[]>): string {
  const each = (side: Side, figure: (one: Played) => number) => median(played[side].map(figure));
  const both = (figure: (one: Played) => number, digits: number) =>
    sides.map((side) => each(side, figure).toFixed(digits)).join(" / ");
  const firsts = (share: number) =>
    sides
      .map((side) =>
        quantile(
          played[side].flatMap(({ firstMs }) => firstMs),
          share,
        ).toFixed(1),
      )
      .join(" / ");
  const ratios = played.gateway.map(({ all }, index) => all / (played.bare[index]?.all ?? Number.NaN));
  return cells([
    title,
    both(({ all }) => all / 1_000, 2),
    median(ratios).toFixed(2),
    each("gateway", ({ answering }) => answering / 1_000).toFixed(2),
    each("gateway", ({ workers }) => workers / 1_000).toFixed(2),
    (each("gateway", ({ storedBytes }) => storedBytes) / 1_000).toFixed(1),
    (each("gateway", ({ writtenBytes }) => writtenBytes) / 1_000).toFixed(1),
    both(({ peakRssMegabytes }) => peakRssMegabytes, 0),
    firsts(0.5),
    firsts(0.99),
  ]);
}

const columns = [
  "bare / gateway",
  "CPU ms/turn",
  "ratio",
  "answering ms",
  "workers ms",
  "stored KB/turn",
  "written KB/turn",
  "peak RSS MB",
  "first byte p50 ms",
  "first byte p99 ms",
];

async function limitRate({ gateway }: Stage): Promise<void> {
  const body = {
    workspace_id: "default",
    conditions: [{ key: "workspace_id", value: "*" }],
    group_by: [{ key: "api_key" }],
    type: "requests",
    unit: "rpm",
    value: 1e9,
  };
  const response = await fetch(`http://127.0.0.1:${gateway.port}/v1/policies/rate-limits`, {
    method: "POST",
    headers: { ...jsonHeader, "x-gateway-api-key": keys.admin },
    body: JSON.stringify(body),
  });
  if (!response.ok)
    throw new Error(`Cannot measure: the policy was answered ${response.status} ${await response.text()}`);
}

/** Plays all forms, each on both sides in turn. A new gateway for each form, so that none has another's memory. */
async function measureForm(form: AgentForm, upstream: Running, options: Options & { until: number }): Promise<void> {
  // clients that are as fast as possible make the loop late
  const gateway = await startGateway("bun", { SHED_LAG_MS: "0" });
  const stage: Stage = { upstream, bare: await startBareProxy(upstream.port), gateway };
  await limitRate(stage);
  const played: Record<Side, Played[]> = { bare: [], gateway: [] };
  const { clients, turns, rounds, until } = options;
  // the first turns of a process are slower: its code is compiled
  for (const side of sides) await play(form, side, stage, { clients: 1, turns: Math.min(5, turns), round: 1_000 });
  for (let round = 0; round < rounds && (round === 0 || performance.now() < until); round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) played[side].push(await play(form, side, stage, { clients, turns, round }));
  }
  console.log(showRow(form, played));
  await stage.gateway.stop();
  await stage.bare.stop();
  removeFolder(stage.gateway.folder);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: "string", default: "claude-code,codex" },
      clients: { type: "string", default: "1" },
      turns: { type: "string", default: "50" },
      events: { type: "string", default: "300" },
      rate: { type: "string", default: "0" },
      rounds: { type: "string", default: "1" },
      seconds: { type: "string", default: "20" },
    },
  });
  const [clients, turns, pieces, perSecond] = [values.clients, values.turns, values.events, values.rate].map(
    Number,
  ) as [number, number, number, number];
  const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
  const forms = agentForms.filter(({ name }) => values.only.split(",").some((start) => name.startsWith(start)));
  if (!(forms.length > 0 && clients >= 1 && turns >= 1 && pieces >= 1 && perSecond >= 0 && rounds >= 1 && seconds >= 1))
    throw new TypeError("Cannot measure: name forms, and at least 1 client, turn, event, round and second");
  const upstream = await startAgentUpstream({ pieces, perSecond });
  const until = performance.now() + seconds * 1_000;
  console.log(`${clients} clients, ${turns} turns from 20 KB to 600 KB, ${pieces} events each\n`);
  console.log(cells(columns));
  console.log(cells(columns.map((_, index) => (index === 0 ? "---" : "---:"))));
  for (const form of forms) {
    if (performance.now() < until) await measureForm(form, upstream, { clients, turns, rounds, until });
    else console.log(`Left out, as the time is over: ${form.title}`);
  }
  await upstream.stop();
}

await runMain(main);
