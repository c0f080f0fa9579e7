import type { RedisClient } from "../../lib/redis.ts";
import type { Measures } from "./measures.ts";
import type { MovingAverage, SharedAverage } from "./moving-average.ts";
import type { SharedMeasure, TargetMeasure } from "./target-measure.ts";

/** Age at which what another process said is left out, in milliseconds. */
const freshMs = 5_000;
/** A target that was not used for this long is not exchanged, in milliseconds. */
const activeMs = 10_000;
/** Most targets that are exchanged at a time. */
const maxTargets = 1_000;

/** Stores what this process says of each target, and returns what others said lately. */
const exchangeScript = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local all = {}
for index, key in ipairs(KEYS) do
  local found = {}
  local said = redis.call('HGETALL', key)
  for place = 1, #said, 2 do
    local at, text = string.match(said[place + 1], '^(%d+) (.*)$')
    if not at or now - at > tonumber(ARGV[2]) then redis.call('HDEL', key, said[place])
    elseif said[place] ~= ARGV[1] then found[#found + 1] = text end
  end
  redis.call('HSET', key, ARGV[1], string.format('%d %s', now, ARGV[index + 2]))
  redis.call('PEXPIRE', key, ARGV[2])
  all[index] = found
end
return all`;

const averages = ["firstMs", "tokenMs", "wholeMs", "failures"] as const;

/** An average as text: its value, and what its samples count. */
function writeAverage(average: MovingAverage, now: number): string {
  return `${average.value ?? 0} ${average.samplesAt(now)}`;
}

/** What this process says of a target: numbers between spaces. */
function write(measure: TargetMeasure, now: number): string {
  const parts = averages.map((name) => writeAverage(measure[name], now));
  const ejectedForMs = Math.max(0, measure.ownEjectionUntil - now);
  return [measure.pending, Math.round(ejectedForMs), ...parts].join(" ");
}

/** The numbers that a process wrote; undefined where another version wrote something else. */
function readNumbers(text: unknown): number[] | undefined {
  const numbers = typeof text === "string" ? text.split(" ", 2 + 2 * averages.length + 1).map(Number) : [];
  const isWhole = numbers.length === 2 + 2 * averages.length;
  return isWhole && numbers.every((one) => Number.isFinite(one) && one >= 0) ? numbers : undefined;
}

function sumAverages(said: readonly (readonly number[])[], place: number): SharedAverage {
  const samples = said.reduce((sum, numbers) => sum + (numbers[place + 1] ?? 0), 0);
  const whole = said.reduce((sum, numbers) => sum + (numbers[place] ?? 0) * (numbers[place + 1] ?? 0), 0);
  return { value: samples === 0 ? 0 : whole / samples, samples };
}

/** What other processes said of a target, added up. */
function add(said: readonly (readonly number[])[], now: number): SharedMeasure {
  const [firstMs, tokenMs, wholeMs, failures] = [2, 4, 6, 8].map((place) => sumAverages(said, place));
  const none = { value: 0, samples: 0 };
  return {
    pending: said.reduce((sum, [pending = 0]) => sum + pending, 0),
    firstMs: firstMs ?? none,
    tokenMs: tokenMs ?? none,
    wholeMs: wholeMs ?? none,
    failures: failures ?? none,
    ejectedUntil: now + Math.max(0, ...said.map(([, forMs = 0]) => forMs)),
    at: now,
  };
}

/** What an exchange is made from. */
interface ExchangeOptions {
  readonly measures: Measures;
  /** Opens the connection; called when there is something to exchange. */
  readonly connect: () => Promise<RedisClient>;
  /** Digest of the names of targets, which hold tenants and hosts. */
  readonly digest: (text: string) => string | Promise<string>;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  /** Name of this process. */
  readonly id: string;
  readonly warn: (message: string, error: unknown) => void;
}

/** Exchanges what processes measure of their targets through Redis. Without Redis each process has its own measures. */
export class MeasureExchange {
  readonly #options: ExchangeOptions;
  readonly #names = new WeakMap<TargetMeasure, string>();
  #client: Promise<RedisClient> | undefined;
  #isRunning = false;
  #isFailing = false;
  #isClosed = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
  }

  /** Exchanges the measures of the targets in use. Never rejects; does nothing while the last exchange runs. */
  async run(): Promise<void> {
    if (this.#isRunning || this.#isClosed) return;
    const { measures, now, warn } = this.#options;
    const used = measures.usedSince(now() - activeMs).slice(0, maxTargets);
    if (used.length === 0) return;
    this.#isRunning = true;
    try {
      await this.#exchange(used);
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) warn("Cannot share measures of targets: each process balances by its own", error);
      this.#isFailing = true;
    } finally {
      this.#isRunning = false;
    }
  }

  async #exchange(used: readonly TargetMeasure[]): Promise<void> {
    const { connect, id, now } = this.#options;
    this.#client ??= connect();
    const client = await this.#client;
    const names = await Promise.all(used.map((measure) => this.#nameOf(measure)));
    const written = used.map((measure) => write(measure, now()));
    const answers = await client.run(exchangeScript, names, [id, freshMs, ...written]);
    if (!Array.isArray(answers)) return;
    for (const [index, measure] of used.entries()) {
      const said: unknown = answers[index];
      measure.shared = add(Array.isArray(said) ? said.flatMap((text) => [readNumbers(text) ?? []]) : [], now());
    }
  }

  async #nameOf(measure: TargetMeasure): Promise<string> {
    const name = this.#names.get(measure) ?? `gateway-balance:${await this.#options.digest(measure.key)}`;
    this.#names.set(measure, name);
    return name;
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.then((client) => client.close()).catch(() => {});
  }
}
