import type { ConfigNode } from "../config.ts";
import type { BalanceKind, BalanceSettings, EjectionSettings, HealthSettings } from "./settings.ts";
import type { TargetMeasure } from "./target-measure.ts";

/** What choosing by measure needs to know. */
export interface BalanceInput {
  /** Monotonic milliseconds. */
  readonly now: number;
  /** A number in [0, 1). */
  random(): number;
  measureOf(target: ConfigNode): TargetMeasure;
  /** US dollars of a million tokens, three of input for each of output; undefined where unknown. */
  priceOf(target: ConfigNode): number | undefined;
  /** Why a target is unhealthy; undefined for a healthy one. */
  healthProblemOf(target: ConfigNode, settings: HealthSettings): string | undefined;
  /** The request asks for a stream. */
  readonly isStreamed: boolean;
}

/** A target that gets no requests for a while. */
export interface LeftOut {
  readonly path: string;
  readonly why: string;
}

/** The chosen target. */
export interface Choice {
  readonly target: ConfigNode;
  readonly why: string;
}

/**
 * Most targets that are drawn by weight, of which the best is chosen: with equal weights, none gets more than so many times its
 * share. Never more than half of the targets are drawn, but two of two.
 */
const mostDrawn = 3;
/** Part of the choices that measure a target again that was not called for long. */
const exploring = 0.05;
/** A measure is old after this long, in milliseconds. */
const oldAfterMs = 10_000;
/** Calls that run at a target and make it count as twice as slow. With one, a call is expected to wait for those before it. */
const crowdOf = { least_busy: 1, lowest_latency: 8 };
/** Shortest time that counts, in milliseconds: less is noise, and nothing would make it longer. */
const leastMs = 1;
/** Tokens of a stream before any is known. */
const usualTokens = 200;
/** Failures count as this many calls that run, at a target that only fails: it answers quickly, and is not idle for that. */
const failureLoad = 8;
/** Least share of successes that is assumed. */
const leastSuccess = 0.05;
/** Share of failures from which on a price does not count. */
const mostFailures = 0.5;

/** Ejected targets of a group, as many as its percentage allows: those that stay away longest, and never all. */
function findEjected(
  targets: readonly ConfigNode[],
  { maxEjectedPercent }: EjectionSettings,
  { now, measureOf }: BalanceInput,
): LeftOut[] {
  const ejected = targets
    .map((target) => ({ target, until: measureOf(target).ejectedUntil(now) }))
    .filter(({ until }) => until > now)
    .sort((one, other) => other.until - one.until);
  const most = Math.min(Math.floor((targets.length * maxEjectedPercent) / 100), targets.length - 1);
  return ejected.slice(0, most).map(({ target, until }) => {
    const seconds = Math.ceil((until - now) / 1_000);
    return { path: target.path, why: `it failed several times in a row, and is ejected for another ${seconds} s` };
  });
}

/** Unhealthy targets; none if all are. */
function findUnhealthy(targets: readonly ConfigNode[], settings: HealthSettings, input: BalanceInput): LeftOut[] {
  const left = targets.flatMap((target) => {
    const problem = input.healthProblemOf(target, settings);
    return problem === undefined ? [] : [{ path: target.path, why: `its health check fails: ${problem}` }];
  });
  return left.length === targets.length ? [] : left;
}

/**
 * The targets that requests may go to: those that are healthy and not ejected. Also notes which ones are away, so that they start slowly
 * when they are back.
 *
 * @param closed Those of them whose circuits are closed; without any, circuits are ignored.
 */
export function presentTargets(
  { targets, closed }: { targets: readonly ConfigNode[]; closed: readonly ConfigNode[] },
  { ejection, health }: BalanceSettings,
  input: BalanceInput,
): { present: readonly ConfigNode[]; left: readonly LeftOut[] } {
  const without = (from: readonly ConfigNode[], left: readonly LeftOut[]) =>
    left.length === 0 ? from : from.filter(({ path }) => !left.some((one) => one.path === path));
  const unhealthy = health ? findUnhealthy(closed, health, input) : [];
  const healthy = without(closed, unhealthy);
  const ejected = ejection ? findEjected(healthy, ejection, input) : [];
  const present = without(healthy, ejected);
  for (const target of targets) input.measureOf(target).look(!present.includes(target), input.now);
  return { present, left: [...unhealthy, ...ejected] };
}

/** A target, its measure, and the weight with which it is drawn now. */
interface Candidate {
  readonly target: ConfigNode;
  readonly measure: TargetMeasure;
  /** Part of its share that it gets. */
  readonly share: number;
  readonly weight: number;
}

function draw(candidates: readonly Candidate[], random: () => number): Candidate | undefined {
  let rest = random() * candidates.reduce((sum, { weight }) => sum + weight, 0);
  for (const candidate of candidates) {
    rest -= candidate.weight;
    if (rest < 0) return candidate;
  }
  return candidates.at(-1);
}

/** The candidate with the least value; of equal ones the first. */
function leastOf(candidates: readonly Candidate[], rate: (one: Candidate) => number): Candidate | undefined {
  let least: { one: Candidate; value: number } | undefined;
  for (const one of candidates) {
    const value = rate(one);
    if (!least || value < least.value) least = { one, value };
  }
  return least?.one;
}

/** One choice among the targets of a load balancer. */
class Chooser {
  readonly #candidates: readonly Candidate[];
  readonly #input: BalanceInput;
  readonly #kind: BalanceKind;

  constructor(targets: readonly ConfigNode[], { choose, slowStartMs }: BalanceSettings, input: BalanceInput) {
    this.#input = input;
    this.#kind = choose;
    this.#candidates = targets.map((target) => {
      const measure = input.measureOf(target);
      const share = measure.shareAt(input.now, slowStartMs);
      return { target, measure, share, weight: target.weight * share };
    });
  }

  choose(): Choice {
    const [only] = this.#candidates;
    if (!only) throw new RangeError("Cannot choose: there are no targets");
    if (this.#kind === "lowest_cost") return this.#byPrice();
    if (this.#kind === "weight" || this.#candidates.length === 1) {
      const { target } = draw(this.#candidates, this.#input.random) ?? only;
      return { target, why: `drawn by weight among ${this.#candidates.length} targets` };
    }
    const half = Math.floor(this.#candidates.length / 2);
    const drawn = this.#draw(Math.max(2, Math.min(half, mostDrawn)));
    return this.#kind === "least_busy" ? this.#byLoad(drawn, only) : this.#byLatency(drawn, only);
  }

  /** Some of the targets, drawn by weight. */
  #draw(count: number): Candidate[] {
    const rest = [...this.#candidates];
    const drawn: Candidate[] = [];
    while (drawn.length < count) {
      const next = draw(rest, this.#input.random);
      if (!next) break;
      drawn.push(next);
      rest.splice(rest.indexOf(next), 1);
    }
    return drawn;
  }

  #byLoad(drawn: readonly Candidate[], only: Candidate): Choice {
    const { now } = this.#input;
    const latencies = this.#latencies();
    const timeOf = (one: Candidate) => this.#slowness(one, latencies.of(one), crowdOf.least_busy) / one.target.weight;
    const { target, measure } = leastOf(drawn, timeOf) ?? only;
    const calls = measure.pendingAt(now);
    return { target, why: `least busy of ${drawn.length} drawn by weight: ${calls} running calls` };
  }

  #byLatency(drawn: readonly Candidate[], only: Candidate): Choice {
    const { now, random } = this.#input;
    const latencies = this.#latencies();
    const isIdle = ({ measure }: Pick<Candidate, "measure">) => measure.pendingAt(now) === 0;
    const unknown = drawn.find((one) => one.measure.isUntriedAt(now) && isIdle(one));
    if (unknown) return { target: unknown.target, why: "not measured yet" };
    const old = drawn.find((one) => now - one.measure.measuredAt > oldAfterMs && isIdle(one));
    if (old && random() < exploring) return { target: old.target, why: "measured again, its latency is old" };
    const timeOf = (one: Candidate) => this.#slowness(one, latencies.of(one), crowdOf.lowest_latency);
    const chosen = leastOf(drawn, timeOf) ?? only;
    const times = drawn.map((one) => `${Math.round(latencies.of(one))} ms at ${one.target.path}`);
    return { target: chosen.target, why: `lowest latency of ${drawn.length} drawn by weight: ${times.join(", ")}` };
  }

  /** What the targets are expected to take; the mean where nothing is known. Streams are compared at the same number of tokens. */
  #latencies() {
    const { now, isStreamed } = this.#input;
    const counts = this.#candidates.flatMap(({ measure }) => measure.tokens.value ?? []);
    const tokens = counts.length === 0 ? usualTokens : counts.reduce((sum, count) => sum + count, 0) / counts.length;
    const measured = ({ measure }: Candidate) => measure.latencyAt(now, { isStreamed, tokens });
    const known = this.#candidates.flatMap((one) => measured(one) ?? []);
    const mean = known.length === 0 ? 1 : known.reduce((sum, time) => sum + time, 0) / known.length;
    return { of: (one: Candidate) => measured(one) ?? mean };
  }

  /** Latency, more for a target that is crowded, fails, or has just come back. */
  #slowness({ measure, share }: Candidate, latency: number, crowd: number): number {
    const { now } = this.#input;
    const failure = measure.failureAt(now);
    const load = measure.pendingAt(now) + failureLoad * failure;
    return (Math.max(latency, leastMs) * (1 + load / crowd)) / (share * Math.max(1 - failure, leastSuccess) ** 2);
  }

  /** The cheapest of those that work; of equal ones, one by weight. Targets without a price come last. */
  #byPrice(): Choice {
    const { now, random, priceOf } = this.#input;
    const working = this.#candidates.filter(({ measure }) => measure.failureAt(now) < mostFailures);
    const priced = (working.length === 0 ? this.#candidates : working).map((one) => {
      return { one, price: priceOf(one.target) ?? Number.POSITIVE_INFINITY };
    });
    const least = Math.min(...priced.map(({ price }) => price));
    const cheapest = priced.filter(({ price }) => price === least).map(({ one }) => one);
    const chosen = draw(cheapest, random);
    if (!chosen) throw new RangeError("Cannot choose: there are no targets");
    const known = `lowest cost: $${Number(least.toPrecision(4))} per million tokens`;
    const unknown = `no target has a price: drawn by weight among ${cheapest.length} targets`;
    return { target: chosen.target, why: least === Number.POSITIVE_INFINITY ? unknown : known };
  }
}

/** Chooses one of the targets by what is measured of them. */
export function chooseTarget(targets: readonly ConfigNode[], settings: BalanceSettings, input: BalanceInput): Choice {
  return new Chooser(targets, settings, input).choose();
}
