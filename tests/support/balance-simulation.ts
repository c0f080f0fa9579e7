import { MeasuredCall, verdictOf } from "../../src/routing/balance/measured-call.ts";
import { createMeasures } from "../../src/routing/balance/measures.ts";
import type { ConfigNode } from "../../src/routing/config.ts";
import { listAttempts, planAttempts } from "../../src/routing/plan.ts";
import { createRandom } from "./gateway.ts";
import { balanceInput, planInput, toConfig } from "./routing.ts";

/** A target of the simulation. Times in milliseconds. */
interface SimulatedTarget {
  /** To the first token, at the median. */
  firstMs: number;
  /** Between tokens. */
  tokenMs: number;
  /** Share of calls that fail, quickly. */
  failures: number;
  /** Calls at a time above which all of them become slower. */
  capacity: number;
}

/** When a target fails every call. Seconds. */
interface Outage {
  target: number;
  from: number;
  to: number;
}

/** What is simulated. */
interface Simulation {
  /** Fields of the strategy besides its mode. */
  strategy: object;
  seed: number;
  seconds: number;
  requestsPerSecond: number;
  outage?: Outage;
  /** Calls at a time that slow a target down. Default: 16. */
  capacity?: number;
}

/** A finished call. Times in milliseconds since the start. */
interface SimulatedCall {
  target: number;
  startedAt: number;
  endedAt: number;
  isFailed: boolean;
}

/** A standard normal number. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/**
 * Twenty targets: fourteen usual ones, of which the last is almost half as fast as the first, three slow ones and three very
 * slow ones. Every fourth fails some of its calls, and the second one half of them.
 *
 * @param capacity Calls at a time that each serves without becoming slower.
 */
export function simulatedTargets(capacity = 16): SimulatedTarget[] {
  return Array.from({ length: 20 }, (_, index) => {
    const slowness = index >= 17 ? 5 : index >= 14 ? 3 : 1 + index / 14;
    const failures = index === 1 ? 0.5 : index % 4 === 0 ? 0.05 : 0.002;
    return { firstMs: 250 * slowness, tokenMs: 8 * slowness, failures, capacity };
  });
}

/** Calls that run, by when they end. */
class Calendar {
  readonly #heap: { at: number; run: () => void }[] = [];

  get next(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  add(at: number, run: () => void): void {
    const index = this.#heap.findIndex((one) => one.at > at);
    this.#heap.splice(index === -1 ? this.#heap.length : index, 0, { at, run });
  }

  runNext(): void {
    this.#heap.shift()?.run();
  }
}

/** One simulation: streams that arrive at random, are planned as by the gateway, and take as long as their target needs. */
class Run {
  readonly calls: SimulatedCall[] = [];
  readonly #simulation: Simulation;
  readonly #targets: readonly SimulatedTarget[];
  readonly #running: number[];
  readonly #config: ConfigNode;
  readonly #measures = createMeasures();
  readonly #calendar = new Calendar();
  /** Of the world, so that each strategy meets the same requests. */
  readonly #world: () => number;
  /** Of the gateway. */
  readonly #random: () => number;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
    this.#targets = simulatedTargets(simulation.capacity);
    this.#running = this.#targets.map(() => 0);
    this.#world = createRandom(simulation.seed);
    this.#random = createRandom(simulation.seed + 1);
    const targets = this.#targets.map((_, index) => ({ provider: "ollama", name: `target-${index}` }));
    this.#config = toConfig({ strategy: { mode: "loadbalance", ...simulation.strategy }, targets }, true);
  }

  run(): SimulatedCall[] {
    const { seconds, requestsPerSecond } = this.#simulation;
    for (let now = 0; now < seconds * 1_000; now += (-Math.log(1 - this.#world()) * 1_000) / requestsPerSecond) {
      while (this.#calendar.next <= now) this.#calendar.runNext();
      this.#begin(now);
    }
    while (this.#calendar.next < Number.POSITIVE_INFINITY) this.#calendar.runNext();
    return this.calls;
  }

  #begin(now: number): void {
    const input = balanceInput({ now, random: this.#random, isStreamed: true }, this.#measures);
    const plan = planAttempts(this.#config, planInput({ random: this.#random, balanceInput: () => input }));
    const [attempt] = listAttempts(plan.root);
    const index = Number(attempt?.node.name?.replace("target-", ""));
    const [noise, tokenNoise, chance] = [normal(this.#world), normal(this.#world), this.#world()];
    const target = this.#targets[index];
    if (!target) throw new RangeError("The plan names no target");
    const call = attempt?.measured && new MeasuredCall(attempt.measured, now);
    this.#running[index] = (this.#running[index] ?? 0) + 1;
    const crowding = Math.max(1, (this.#running[index] ?? 0) / target.capacity);
    const tokens = Math.max(2, Math.round(150 * Math.exp(0.5 * tokenNoise)));
    const firstMs = target.firstMs * Math.exp(0.25 * noise) * crowding;
    const isFailed = this.#isOut(index, now) || chance < target.failures;
    const answeredAt = now + (isFailed ? 50 : firstMs);
    const endedAt = isFailed ? answeredAt : answeredAt + tokens * target.tokenMs * crowding;
    if (!isFailed) this.#calendar.add(answeredAt, () => call?.answered(answeredAt));
    this.#calendar.add(endedAt, () => {
      this.#running[index] = (this.#running[index] ?? 0) - 1;
      this.calls.push({ target: index, startedAt: now, endedAt, isFailed });
      call?.end({ verdict: verdictOf(isFailed ? 503 : 200), endedAt, isStreamed: true, outputTokens: tokens });
    });
  }

  #isOut(index: number, now: number): boolean {
    const { outage } = this.#simulation;
    return outage?.target === index && now >= outage.from * 1_000 && now < outage.to * 1_000;
  }
}

/** All calls of a simulation, in the order in which they ended. The same seed gives the same calls. */
export function simulate(simulation: Simulation): SimulatedCall[] {
  return new Run(simulation).run();
}

/** Milliseconds that 95 of 100 successful calls took at most. */
export function p95(calls: readonly SimulatedCall[]): number {
  const times = calls
    .filter(({ isFailed }) => !isFailed)
    .map(({ startedAt, endedAt }) => endedAt - startedAt)
    .sort((one, other) => one - other);
  return times[Math.floor(times.length * 0.95)] ?? Number.NaN;
}

/** Share of the calls that began within these seconds and went to a target. */
export function shareOf(
  calls: readonly SimulatedCall[],
  target: number,
  [from, to]: readonly [number, number],
): number {
  const within = calls.filter(({ startedAt }) => startedAt >= from * 1_000 && startedAt < to * 1_000);
  return within.filter((call) => call.target === target).length / within.length;
}
