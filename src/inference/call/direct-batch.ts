import type { CallerContext, Services } from "../../context.ts";
import { fromBase64Url } from "../../lib/base64.ts";
import { unpackId, withTime } from "../../lib/ids.ts";
import { finiteNumber, isObject, stringOf } from "../../lib/json.ts";
import { dayMs } from "../../lib/periods.ts";
import { packRecords } from "../../logs/pack.ts";
import { sealBatch } from "../../logs/seal.ts";
import { addUsage, mostOfBatch, toLoggedUsage } from "../../logs/usage.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers } from "../../pricing/prices.ts";
import { costOfUsage } from "../../pricing/request-cost.ts";
import { collectBatch, type LoggedUsage } from "../../schemas/logs.ts";
import { addHookResults } from "../facts/hook-results.ts";
import { depthOf } from "../facts/log-privacy.ts";
import { costOfBatchLine } from "./cost.ts";
import { countUse } from "./limits.ts";
import { toDetails } from "./log-sink.ts";
import type { NamedProvider } from "./named-models.ts";
import { countsOfBody } from "./usage-units.ts";

type Members = Readonly<Record<string, unknown>>;

const finalStates: ReadonlySet<unknown> = new Set(["completed", "failed", "expired", "cancelled"]);
/** Members that say when a batch ended, in seconds. */
const endings = ["completed_at", "expired_at", "cancelled_at", "failed_at"] as const;

/** What the results of a batch used. */
interface BatchUse {
  readonly usage: LoggedUsage;
  /** Nano-dollars; null where something has no price. */
  readonly cost: number | null;
  readonly requests: number;
  readonly model: string | null;
}

/** When a batch ended that can still be counted, in Unix milliseconds: older ones may have been counted and forgotten. */
function endOf(batch: Members, now: number): number | undefined {
  if (!finalStates.has(batch.status)) return undefined;
  for (const name of endings) {
    const seconds = finiteNumber(batch[name]);
    const time = seconds === undefined ? Number.NaN : Math.floor(seconds) * 1_000;
    if (time > now - dayMs && time <= now + dayMs) return time;
  }
  return undefined;
}

/** Prices of what the request calls. */
function pricesOf({ log: { provider, prices } }: CallerContext): PriceList {
  return prices ?? ((name) => (provider === null ? undefined : findPriceTiers(provider, name)));
}

/** What a batch itself reports of its results (https://platform.openai.com/docs/api-reference/batch/object). */
function useOf(batch: Members, context: CallerContext): BatchUse | undefined {
  const usage = toLoggedUsage(batch.usage, mostOfBatch);
  if (!usage || usage.total_tokens === 0) return undefined;
  const model = stringOf(batch.model) ?? null;
  const cost = costOfUsage({ model, answeredModel: null, usage, batch: true, isSum: true }, pricesOf(context));
  const counts = isObject(batch.request_counts) ? batch.request_counts : {};
  const requests = (finiteNumber(counts.completed) ?? 0) + (finiteNumber(counts.failed) ?? 0);
  return { usage, cost: cost?.nanos ?? null, requests, model };
}

/** The response in a result line, as OpenAI or Anthropic write it. */
function answerIn(line: object): Members | undefined {
  const { response, result }: { response?: unknown; result?: unknown } = line;
  const answer = isObject(response) ? response.body : isObject(result) ? result.message : undefined;
  return isObject(answer) ? answer : undefined;
}

/** The sum over result lines. */
export class LineUse {
  readonly #context: CallerContext;
  #usage: LoggedUsage | null = null;
  #cost: number | null = 0;
  #requests = 0;
  #model: string | null = null;

  constructor(context: CallerContext) {
    this.#context = context;
  }

  add(line: object): void {
    this.#requests++;
    const answer = answerIn(line);
    const usage = answer ? countsOfBody(answer) : null;
    if (!answer || !usage) return;
    this.#usage = addUsage(this.#usage, usage);
    const model = stringOf(answer.model) ?? null;
    this.#model ??= model;
    const { log } = this.#context;
    const target = { provider: log.provider ?? "", model, answeredModel: null, prices: pricesOf(this.#context) };
    const cost = costOfBatchLine(answer, target);
    this.#cost = cost === undefined || this.#cost === null ? null : this.#cost + cost;
  }

  result(): BatchUse | undefined {
    const usage = this.#usage;
    return usage ? { usage, cost: this.#cost, requests: this.#requests, model: this.#model } : undefined;
  }
}

/** The id of the row of a batch: the same whenever it is counted, so that it is stored once. */
async function rowIdOf(id: string, endedAt: number, { principal, log, services }: CallerContext): Promise<string> {
  const { organisationId, workspaceId } = principal;
  const digest = await services.stateMac(JSON.stringify(["batch", organisationId, workspaceId, log.provider, id]));
  return withTime(unpackId(fromBase64Url(digest), 0), endedAt);
}

/** Batches that a gateway is counting, by the id of their row. */
const running = new WeakMap<Services, Set<string>>();

async function settle(rowId: string, use: BatchUse, provider: NamedProvider, context: CallerContext): Promise<void> {
  const { log, services, principal } = context;
  const { usage, cost, requests, model } = use;
  const priceSource = null;
  const part = { ...log, operation: collectBatch, model, requestedModel: model, usage, cost, priceSource, calls: [] };
  const counting = { ...context, log: { ...part, names: null, counted: [] } };
  const used = { requests, tokens: usage.total_tokens, cost: cost ?? 0 };
  if (await services.logStore.find(principal, rowId)) return;
  const { counted, undo } = await countUse({ provider }, used, counting);
  try {
    const ended = { context: counting, status: 200, responseHeaders: {}, endedAt: services.clock.monotonic() };
    const details = { ...toDetails(ended), id: rowId };
    addHookResults(details, log.hooks, (await depthOf(context)) === "all");
    const record = { details, content: null, counted, secrets: log.secrets };
    const packed = await packRecords([record], services.redactor);
    await services.logStore.append(packed.map((batch) => sealBatch(batch, services.redactor)));
  } catch (error) {
    await undo();
    throw error;
  }
}

/**
 * Counts a batch that its caller made directly at a provider, once, when it is seen to have ended: with its results, or
 * with what it reports of them. Never rejects: what fails is counted when the batch is seen again.
 *
 * @param batch As the provider shows it, in OpenAI's shape.
 */
export async function settleDirectBatch(
  batch: Members,
  provider: NamedProvider,
  context: CallerContext,
  results?: BatchUse,
): Promise<void> {
  const { connection, services } = context;
  const id = stringOf(batch.id);
  const endedAt = endOf(batch, services.steadyTime());
  // batches that the gateway runs at a provider are settled when they are collected
  if (connection.actingFor || id === undefined || endedAt === undefined) return;
  const use = results ?? useOf(batch, context);
  if (!use) return;
  const rowId = await rowIdOf(id, endedAt, context);
  const counting = running.get(services) ?? new Set();
  running.set(services, counting);
  if (counting.has(rowId)) return;
  counting.add(rowId);
  try {
    await settle(rowId, use, provider, context);
  } catch {
    // the database is away: the batch is counted when it is seen again
  } finally {
    counting.delete(rowId);
  }
}
