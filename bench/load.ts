import { cpus } from "node:os";
import {
  cpuMicroseconds,
  machineCpuMicroseconds,
  mean,
  median,
  ownCpuMicroseconds,
  rssMegabytes,
  type ThreadTimes,
  threadTimes,
} from "./measure.ts";
import { keys, type Running, wait } from "./processes.ts";
import type { SentRequests } from "./rows.ts";
import type { Scenario } from "./scenarios.ts";
import { countFailures, runWrk, type WrkResult, type WrkTarget, writeWrkScript } from "./wrk.ts";

/** The two proxies that are compared. */
export const sides = ["bare", "gateway"] as const;
/** One of the two proxies. */
export type Side = (typeof sides)[number];

/** What runs while scenarios are measured. */
export interface Stage {
  upstream: Running;
  bare: Running;
  gateway: Running;
  /** Where wrk's scripts go. */
  folder: string;
  /** What the gateway was sent so far. */
  sent: SentRequests;
}

/** How long and how often a scenario is measured. */
export interface LoadOptions {
  rounds: number;
  seconds: number;
  warmupSeconds: number;
}

/** One run against one proxy. */
export interface Measurement extends WrkResult {
  /** CPU time of the proxy's process for each request, what it does after the answer included. */
  cpuMicroseconds: number;
  rssMegabytes: number;
  /** Share of the machine's CPU time that went to programs outside the benchmark, 0 to 1. */
  othersShare: number;
}

/** Medians of a proxy's runs. */
export interface Summary {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMicroseconds: number;
  rssMegabytes: number;
}

/** One pair of runs, one right after the other. */
export type Round = Record<Side, Measurement> & {
  /** The plain request's pair, where the scenario is compared with one. */
  plain?: Record<Side, Measurement>;
};

/** What was found for a scenario. */
export interface ScenarioResult {
  name: string;
  title: string;
  connections: number;
  requestBytes: number;
  rounds: Round[];
  bare: Summary;
  gateway: Summary;
  /** Median of the rounds' ratios of requests per second, gateway to bare. */
  ratio: number;
  /** Median of the rounds' ratios of p99, gateway to bare. */
  p99Ratio: number;
  /** Mean share of the machine that programs outside the benchmark used, 0 to 1. */
  othersShare: number;
  /** Bad statuses and socket errors, warm-up included. */
  failures: number;
  /** Median of the rounds' quotients of both ratios: with what the scenario adds, and without. */
  costRatio?: number;
}

/** Time the gateway gets after a run to write its last rows, so that it costs the other side nothing. */
const settleMs = 400;

/** Slug of the stored provider. */
const storedSlug = "bench";

/** The upstream's base address in a scenario. */
const addressOf = ({ base }: Scenario, { upstream }: Stage) => `http://127.0.0.1:${upstream.port}${base}`;

/** The request both proxies get: same address, same headers, but for what a stored provider holds. */
export function targetOf(scenario: Scenario, side: Side, stage: Stage): WrkTarget {
  const { base, path, body, connections, headers, isStored } = scenario;
  const origin = `http://127.0.0.1:${stage[side].port}`;
  const provider: Record<string, string> =
    isStored && side === "gateway"
      ? { "x-gateway-provider": `@${storedSlug}` }
      : {
          authorization: `Bearer ${keys.provider}`,
          "x-gateway-provider": "openai",
          "x-gateway-custom-host": addressOf(scenario, stage),
        };
  return {
    url: side === "bare" ? `${origin}${base}${path}` : `${origin}/v1${path}`,
    connections,
    headers: { "content-type": "application/json", "x-gateway-api-key": keys.workspace, ...provider, ...headers },
    body,
  };
}

async function create(path: string, body: object, stage: Stage): Promise<Record<string, unknown>> {
  const response = await fetch(`http://127.0.0.1:${stage.gateway.port}/v1${path}`, {
    method: "POST",
    headers: { "x-gateway-api-key": keys.workspace, "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`Cannot measure: ${path} answered ${response.status} ${await response.text()}`);
  const created: Record<string, unknown> = JSON.parse(await response.text());
  return created;
}

/** Puts into the gateway what a scenario's requests name. */
async function store(scenario: Scenario, stage: Stage): Promise<Scenario> {
  if (scenario.isStored) await storeProvider(scenario, stage);
  if (scenario.savedConfig === undefined) return scenario;
  const { slug } = await create("/configs", { name: "bench", config: scenario.savedConfig }, stage);
  return { ...scenario, headers: { ...scenario.headers, "x-gateway-config": String(slug) } };
}

/** Makes the gateway's stored provider of the upstream. */
async function storeProvider(scenario: Scenario, stage: Stage): Promise<void> {
  const integration = { name: storedSlug, slug: `${storedSlug}-integration`, create_default_provider: false };
  const target = { ai_provider_id: "openai", key: keys.provider };
  const configurations = { custom_host: addressOf(scenario, stage) };
  await create("/integrations", { ...integration, ...target, configurations }, stage);
  await create("/providers", { name: storedSlug, slug: storedSlug, integration_id: integration.slug }, stage);
}

/** Sends a request once and checks that the answer is whole. */
async function probe({ url, headers, body }: WrkTarget, expect: string, side: Side): Promise<void> {
  const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) });
  const text = await response.text();
  if (response.status === 200 && text.includes(expect)) return;
  throw new Error(`Cannot measure: ${side} answered ${response.status} ${text.slice(0, 500)}`);
}

/** One target and the script that sends it. */
export interface Shooter {
  target: WrkTarget;
  script: string;
}

/** Checks a side and gets its script ready. */
export async function prepare(scenario: Scenario, side: Side, stage: Stage): Promise<Shooter> {
  const target = targetOf(scenario, side, stage);
  await probe(target, scenario.expect, side);
  if (side === "gateway") stage.sent.completed++;
  return { target, script: writeWrkScript(stage.folder, `${scenario.name}-${side}`, target) };
}

/** CPU time so far of everything outside the benchmark. */
function othersMicroseconds({ upstream, bare, gateway }: Stage): number {
  const ours = [upstream, bare, gateway].reduce((sum, { pid }) => sum + cpuMicroseconds(pid), ownCpuMicroseconds());
  return machineCpuMicroseconds() - ours;
}

/** Runs wrk once and reads what the proxy's process used for it. */
export async function shoot({ target, script }: Shooter, side: Side, stage: Stage, seconds: number) {
  const { pid } = stage[side];
  const startedAt = performance.now();
  const [cpuBefore, othersBefore] = [cpuMicroseconds(pid), othersMicroseconds(stage)];
  const result = await runWrk(target, script, seconds);
  const megabytes = rssMegabytes(pid);
  await wait(settleMs);
  const used = cpuMicroseconds(pid) - cpuBefore;
  const available = (performance.now() - startedAt) * 1_000 * cpus().length;
  const othersShare = Math.max(0, othersMicroseconds(stage) - othersBefore) / available;
  if (side === "gateway") {
    stage.sent.completed += result.requests - result.badStatuses;
    stage.sent.abandoned += target.connections + result.badStatuses;
  }
  const measurement: Measurement = {
    ...result,
    cpuMicroseconds: used / Math.max(1, result.requests),
    rssMegabytes: megabytes,
    othersShare,
  };
  return measurement;
}

/** Runs wrk once against the gateway and reads what each kind of its threads used for a request: finer than `shoot`. */
export async function shootThreads({ target, script }: Shooter, { gateway: { pid }, sent }: Stage, seconds: number) {
  const before = threadTimes(pid);
  const result = await runWrk(target, script, seconds);
  await wait(settleMs);
  sent.completed += result.requests - result.badStatuses;
  sent.abandoned += target.connections + result.badStatuses;
  return { ...result, times: timesPerRequest(pid, before, result.requests) };
}

/**
 * Sends requests at a rate, each when it is due whatever the answers take, and reads what each kind of the gateway's threads
 * used for one.
 */
export async function sendAtRate(
  { target: { url, headers, body } }: Shooter,
  { gateway: { pid }, sent }: Pick<Stage, "gateway" | "sent">,
  { perSecond, seconds }: { perSecond: number; seconds: number },
) {
  const before = threadTimes(pid);
  let failures = 0;
  const send = async () => {
    const response = await fetch(url, { method: "POST", headers, body });
    await response.arrayBuffer();
    if (!response.ok) failures++;
  };
  const running: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let passed = 0; passed < seconds; passed = (performance.now() - startedAt) / 1_000) {
    while (running.length < passed * perSecond) running.push(send());
    await wait(1);
  }
  await Promise.all(running);
  await wait(settleMs);
  sent.completed += running.length - failures;
  sent.abandoned += failures;
  return { requests: running.length, failures, times: timesPerRequest(pid, before, running.length) };
}

/** What the threads of a process have used for each request since a time. */
function timesPerRequest(pid: number, before: ThreadTimes, requests: number): ThreadTimes {
  const after = threadTimes(pid);
  const each = (name: keyof ThreadTimes) => (after[name] - before[name]) / Math.max(1, requests);
  return { all: each("all"), answering: each("answering"), workers: each("workers") };
}

/** How often it is looked whether the threads have ended their work, and how long one may take to be idle. */
const idleCheckMs = 30;
const idleLimitMs = 5_000;
/** A process that did less in `idleCheckMs` has ended its work. */
const idleMicroseconds = 300;

/** Waits until a process has nothing more to do. */
async function untilIdle(pid: number): Promise<ThreadTimes> {
  let times = threadTimes(pid);
  for (let waited = 0; waited < idleLimitMs; waited += idleCheckMs) {
    await wait(idleCheckMs);
    const next = threadTimes(pid);
    const used = next.all - times.all;
    times = next;
    if (used < idleMicroseconds) break;
  }
  return times;
}

/**
 * Sends so many requests to the gateway and reads what it used for each, with all that follows the responses. Short turns
 * of several sides meet the same disturbances by other programs.
 *
 * @param besides What else happens in this turn, at the same time: the turn lasts until it is done.
 */
export async function sendBurst(
  { target }: Shooter,
  { gateway: { pid }, sent }: Pick<Stage, "gateway" | "sent">,
  count: number,
  besides?: () => Promise<void>,
) {
  const { url, headers, body, connections } = target;
  const before = await untilIdle(pid);
  let [left, failures] = [count, 0];
  const sendAll = async () => {
    while (left-- > 0) {
      const response = await fetch(url, { method: "POST", headers, body });
      await response.arrayBuffer();
      if (!response.ok) failures++;
    }
  };
  await Promise.all([...Array.from({ length: connections }, sendAll), besides?.()]);
  // the last rows wait a quarter of a second for others
  await wait(settleMs);
  const after = await untilIdle(pid);
  sent.completed += count - failures;
  sent.abandoned += failures;
  const each = (name: keyof ThreadTimes) => (after[name] - before[name]) / count;
  const times: ThreadTimes = { all: each("all"), answering: each("answering"), workers: each("workers") };
  return { microseconds: times.all, times, failures };
}

function summarise(runs: readonly Measurement[]): Summary {
  const middle = (pick: (run: Measurement) => number) => median(runs.map(pick));
  return {
    requestsPerSecond: middle((run) => run.requestsPerSecond),
    p50Ms: middle((run) => run.p50Ms),
    p99Ms: middle((run) => run.p99Ms),
    cpuMicroseconds: middle((run) => run.cpuMicroseconds),
    rssMegabytes: middle((run) => run.rssMegabytes),
  };
}

/** Runs both sides once, one right after the other. */
async function shootPair(shooters: Record<Side, Shooter>, order: readonly Side[], stage: Stage, seconds: number) {
  const found: Partial<Record<Side, Measurement>> = {};
  for (const side of order) found[side] = await shoot(shooters[side], side, stage, seconds);
  const { bare, gateway } = found;
  if (!bare || !gateway) throw new Error("Cannot measure: a side was left out");
  return { bare, gateway };
}

async function prepareSides(scenario: Scenario, stage: Stage): Promise<Record<Side, Shooter>> {
  return { bare: await prepare(scenario, "bare", stage), gateway: await prepare(scenario, "gateway", stage) };
}

const ratioOf = ({ bare, gateway }: Record<Side, Measurement>) => gateway.requestsPerSecond / bare.requestsPerSecond;

/** What the rounds say of the cost of what a scenario adds. */
function costOf(rounds: readonly Round[]): Pick<ScenarioResult, "costRatio"> {
  const costs = rounds.flatMap((round) => (round.plain ? [ratioOf(round) / ratioOf(round.plain)] : []));
  return costs.length === 0 ? {} : { costRatio: median(costs) };
}

/** Measures a scenario: both sides warmed up, then in turn, each side first in every other round. */
export async function runScenario(scenario: Scenario, stage: Stage, options: LoadOptions): Promise<ScenarioResult> {
  const shooters = await prepareSides(await store(scenario, stage), stage);
  const plain = scenario.plain && (await prepareSides(scenario.plain, stage));
  const warmUps: Record<Side, Measurement>[] = [];
  for (const one of plain ? [shooters, plain] : [shooters]) {
    warmUps.push(await shootPair(one, sides, stage, options.warmupSeconds));
  }
  const rounds: Round[] = [];
  for (let number = 0; number < options.rounds; number++) {
    const order = number % 2 === 0 ? sides : sides.toReversed();
    const before = plain && number % 2 === 0 ? await shootPair(plain, order, stage, options.seconds) : undefined;
    const round: Round = await shootPair(shooters, order, stage, options.seconds);
    const without = plain && (before ?? (await shootPair(plain, order, stage, options.seconds)));
    rounds.push(without ? { ...round, plain: without } : round);
  }
  const { name, title, connections, body } = scenario;
  const pairs = [...warmUps, ...rounds, ...rounds.flatMap((round) => (round.plain ? [round.plain] : []))];
  return {
    name,
    title,
    connections,
    requestBytes: new TextEncoder().encode(body).length,
    rounds,
    failures: pairs.reduce((sum, { bare, gateway }) => sum + countFailures(bare) + countFailures(gateway), 0),
    bare: summarise(rounds.map((round) => round.bare)),
    gateway: summarise(rounds.map((round) => round.gateway)),
    ratio: median(rounds.map(ratioOf)),
    othersShare: mean(rounds.flatMap(({ bare, gateway }) => [bare.othersShare, gateway.othersShare])),
    p99Ratio: median(rounds.map(({ bare, gateway }) => gateway.p99Ms / bare.p99Ms)),
    ...costOf(rounds),
  };
}
