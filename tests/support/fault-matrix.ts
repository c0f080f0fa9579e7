import { type Fault, faults, isCountable, success } from "./faults.ts";

/** `retry` of a config. */
export interface RetryRow {
  name: string;
  attempts: number;
  codes: readonly number[];
  respects: boolean;
  /** As it is written. */
  written: object | undefined;
}

/** Codes a call is tried again for when a config names none. */
const usualCodes = [429, 500, 502, 503, 504, 529];
const ownCodes = [400, 408, 502];

const retries: readonly RetryRow[] = [
  { name: "no retry", attempts: 0, codes: [], respects: false, written: undefined },
  { name: "2 retries", attempts: 2, codes: usualCodes, respects: false, written: { attempts: 2 } },
  {
    name: "2 retries for own codes",
    attempts: 2,
    codes: ownCodes,
    respects: false,
    written: { attempts: 2, on_status_codes: ownCodes },
  },
  {
    name: "2 retries after the wait asked for",
    attempts: 2,
    codes: usualCodes,
    respects: true,
    written: { attempts: 2, use_retry_after_headers: true },
  },
];

/** What is tried, written down by hand for each strategy: which targets, in which order. `name`: that of the target. */
export type Shape =
  /** The target at a place in the config, and the upstream it calls. `own`: retries it sets itself instead of those above. */
  | { label: string; upstream: number; name?: string; own?: number }
  | { codes?: readonly number[]; then: readonly Shape[] };

/** A config made of targets, each by the number of its upstream. */
export interface StrategyRow {
  name: string;
  /** Upstreams that fail; the others answer well. */
  faulty: readonly number[];
  shape: Shape;
  config(target: (upstream: number, more?: object) => object): object;
}

const label = (...path: number[]) => ["config", ...path.map((index) => `targets[${index}]`)].join(".");
const leaf = (upstream: number, ...path: number[]) => ({ label: label(...path), upstream });

/** The strategies of the matrix. Chance gives 0: a load balancer takes its first target with weight. */
const strategies: readonly StrategyRow[] = [
  { name: "no strategy", faulty: [0], shape: leaf(0), config: (target) => target(0) },
  {
    name: "single",
    faulty: [0],
    shape: leaf(0, 0),
    config: (target) => ({ strategy: { mode: "single" }, targets: [target(0), target(1)] }),
  },
  {
    name: "fallback",
    faulty: [0, 1],
    shape: { then: [leaf(0, 0), leaf(1, 1), leaf(2, 2)] },
    config: (target) => ({ strategy: { mode: "fallback" }, targets: [target(0), target(1), target(2)] }),
  },
  {
    name: "fallback for some codes",
    faulty: [0, 1],
    shape: { codes: [401, 429, 502], then: [leaf(0, 0), leaf(1, 1)] },
    config: (target) => ({
      strategy: { mode: "fallback", on_status_codes: [401, 429, 502] },
      targets: [target(0), target(1)],
    }),
  },
  {
    name: "loadbalance",
    faulty: [1],
    shape: leaf(1, 1),
    config: (target) => ({
      strategy: { mode: "loadbalance" },
      targets: [target(0, { weight: 0 }), target(1, { weight: 0.1 }), target(2, { weight: 5 })],
    }),
  },
  {
    name: "conditional",
    faulty: [1],
    shape: { ...leaf(1, 1), name: "it" },
    config: (target) => ({
      strategy: {
        mode: "conditional",
        default: "other",
        conditions: [
          { query: { "metadata.tier": "gold" }, then: "other" },
          {
            query: { $and: [{ "params.model": { $regex: "^m" } }, { "url.pathname": "/v1/chat/completions" }] },
            then: "it",
          },
        ],
      },
      targets: [target(0, { name: "other" }), target(1, { name: "it" })],
    }),
  },
  {
    name: "nested",
    faulty: [0, 1, 2],
    shape: {
      then: [{ codes: [429, 500], then: [leaf(0, 0, 0), { ...leaf(1, 0, 1), own: 0 }] }, leaf(2, 1, 0, 1), leaf(3, 2)],
    },
    config: (target) => ({
      strategy: { mode: "fallback" },
      targets: [
        {
          strategy: { mode: "fallback", on_status_codes: [429, 500] },
          targets: [target(0), target(1, { retry: { attempts: 0 } })],
        },
        {
          strategy: {
            mode: "conditional",
            conditions: [{ query: { "metadata.tier": "free" }, then: "any" }],
            default: "any",
          },
          targets: [
            { name: "any", strategy: { mode: "loadbalance" }, targets: [target(3, { weight: 0 }), target(2)] },
            target(3, { name: "never" }),
          ],
        },
        target(3),
      ],
    }),
  },
];

/** Most upstreams a config of the matrix has. */
export const upstreamsOfCell = 4;

/** One case of the matrix. */
export interface Cell {
  name: string;
  fault: Fault;
  strategy: StrategyRow;
  retry: RetryRow;
  streamed: boolean;
  /** The faulty upstreams fail the first time only. */
  recovers: boolean;
}

/** Every case. */
export const cells: readonly Cell[] = [success, ...faults.filter(isCountable)].flatMap((fault) =>
  [false, true].flatMap((streamed) =>
    strategies.flatMap((strategy) =>
      retries.flatMap((retry) =>
        [false, true].flatMap((recovers): Cell[] => {
          // a call in time could be late on a busy machine
          if (recovers && (retry.attempts === 0 || fault.stalls || fault === success)) return [];
          const words = [fault.name, streamed ? "streamed" : "whole", strategy.name, retry.name];
          return [
            { name: [...words, recovers ? "once" : "always"].join(", "), fault, strategy, retry, streamed, recovers },
          ];
        }),
      ),
    ),
  ),
);

/** How a target fared. */
export interface Tried {
  label: string;
  /** Name of the target, if it has one. */
  name?: string;
  status: number;
  /** Value of `x-gateway-retry-attempt-count`. */
  retries: number;
  /** Retries that were made, as the log row counts them. */
  made: number;
}

/** What the rules say of a case. */
export interface Expectation {
  /** Targets in the order they were tried; the last one answers. */
  tried: Tried[];
  last: Tried;
  /** Calls each upstream gets. */
  calls: number[];
  /** The fault that is answered. */
  answered: Fault;
}

/** What the rules say of a case. */
export function expectationOf({ fault, strategy, retry, streamed, recovers }: Cell): Expectation {
  const tried: Tried[] = [];
  const calls = new Array<number>(upstreamsOfCell).fill(0);
  let answered = success;

  const tryTarget = ({ label: place, name, upstream, own }: Extract<Shape, { label: string }>): number => {
    const failing = strategy.faulty.includes(upstream) ? fault : success;
    const counts = (one: Fault) => (streamed ? one.stream : one.whole);
    const most = own ?? retry.attempts;
    const isRetried = most > 0 && retry.codes.includes(counts(failing));
    let made = 1;
    let count = 0;
    answered = failing;
    if (isRetried && retry.respects && failing.asksTooLong) count = -1;
    else if (isRetried && recovers) {
      made = 2;
      count = 1;
      answered = success;
    } else if (isRetried) {
      made = 1 + most;
      count = -1;
    }
    calls[upstream] = (calls[upstream] ?? 0) + made;
    tried.push({ label: place, status: counts(answered), retries: count, made: made - 1, ...(name && { name }) });
    return counts(answered);
  };
  const walk = (shape: Shape): number => {
    if ("label" in shape) return tryTarget(shape);
    let status = 0;
    for (const next of shape.then) {
      status = walk(next);
      const goesOn = shape.codes ? shape.codes.includes(status) : status < 200 || status > 299;
      if (!goesOn) break;
    }
    return status;
  };
  walk(strategy.shape);
  const last = tried.at(-1);
  if (!last) throw new Error("Nothing was tried");
  return { tried, last, calls, answered };
}
