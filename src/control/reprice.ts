import type { ControlStores } from "../db/stores/control.ts";
import type { CounterCorrection, PricedBatch, RepricingStore, RequestPeriod } from "../db/stores/repricing.ts";
import { firstIdOf, timeOfId } from "../lib/ids.ts";
import { parseJson } from "../lib/json.ts";
import { readCharged } from "../logs/charged.ts";
import { withAllCounts } from "../logs/usage.ts";
import { toCents, toNanos } from "../pricing/cost.ts";
import { toFallbackTiers, withFallback } from "../pricing/fallback-price.ts";
import { createPriceList, type PriceList } from "../pricing/own-prices.ts";
import { findPriceTiers, type PriceTiers } from "../pricing/prices.ts";
import { costOfUsage } from "../pricing/request-cost.ts";
import { collectBatch, type LimitCounter, type LogDetails } from "../schemas/logs.ts";
import { unpricedModelsOf } from "./settings.ts";

/** Which requests are priced again. */
interface RepriceOptions extends RequestPeriod {
  /** Only requests that asked a provider for this model. */
  readonly model?: string | undefined;
  /** Nothing is changed. */
  readonly dryRun: boolean;
}

interface RepriceParts {
  readonly store: RepricingStore;
  readonly stores: Pick<ControlStores, "integrations" | "integrationModels" | "organisations">;
  /** Unix milliseconds. */
  now(): number;
}

/** Why a row keeps its cost. */
const skipReasons = ["not_priced", "discarded", "without_price", "integration_gone", "earlier_version"] as const;
type SkipReason = (typeof skipReasons)[number];

/** What was done, or would be. Amounts are nano-dollars. */
interface Tally {
  rows: number;
  repriced: number;
  unchanged: number;
  readonly skipped: Record<SkipReason, number>;
  /** Cost of the re-priced rows before and after. */
  former: bigint;
  cost: bigint;
  /** Counters that follow. */
  readonly counters: Set<string>;
}

function createTally(): Tally {
  const skipped = { not_priced: 0, discarded: 0, without_price: 0, integration_gone: 0, earlier_version: 0 };
  return { rows: 0, repriced: 0, unchanged: 0, skipped, former: 0n, cost: 0n, counters: new Set() };
}

function addTally(sum: Tally, one: Tally): void {
  sum.rows += one.rows;
  sum.repriced += one.repriced;
  sum.unchanged += one.unchanged;
  for (const reason of skipReasons) sum.skipped[reason] += one.skipped[reason];
  sum.former += one.former;
  sum.cost += one.cost;
  for (const counter of one.counters) sum.counters.add(counter);
}

/** Today's prices, read once. */
class PriceBook {
  readonly #stores: RepriceParts["stores"];
  readonly #lists = new Map<string, Promise<PriceList | undefined>>();
  readonly #fallbacks = new Map<string, Promise<PriceTiers | undefined>>();

  constructor(stores: RepriceParts["stores"]) {
    this.#stores = stores;
  }

  /** The list with the prices of a row; undefined if the integration that it names is gone. */
  listOf({ organisation_id: organisationId, integration_id: id, provider }: LogDetails) {
    if (id === undefined) return provider === null ? undefined : (model: string) => findPriceTiers(provider, model);
    const key = JSON.stringify([organisationId, id]);
    const known = this.#lists.get(key) ?? this.#readIntegration(organisationId, id);
    this.#lists.set(key, known);
    return known;
  }

  async #readIntegration(organisationId: string, id: string): Promise<PriceList | undefined> {
    const tenant = { organisationId, workspaceId: null };
    const { integrations, integrationModels } = this.#stores;
    const integration = await integrations.find(tenant, { id });
    if (!integration) return undefined;
    const models = await integrationModels.all(tenant, { where: { integrationId: id } });
    return createPriceList({
      provider: integration.aiProviderId,
      adjustments: integration.pricingAdjustments,
      models: new Map(models.map((model) => [model.slug, model])),
    });
  }

  /** The price of an organisation for models without one. */
  fallbackOf(organisationId: string): Promise<PriceTiers | undefined> {
    const known = this.#fallbacks.get(organisationId) ?? this.#readFallback(organisationId);
    this.#fallbacks.set(organisationId, known);
    return known;
  }

  async #readFallback(organisationId: string): Promise<PriceTiers | undefined> {
    const organisation = await this.#stores.organisations.get(organisationId);
    if (!organisation) return undefined;
    const { mode, fallbackPrice } = unpricedModelsOf(organisation);
    return mode === "fallback" && fallbackPrice ? toFallbackTiers(fallbackPrice) : undefined;
  }
}

/** A row as it was stored: those of earlier versions lack some fields. */
type StoredRow = Omit<LogDetails, "priced"> & Partial<Pick<LogDetails, "priced">>;

/** The row at today's prices; the same object where its cost does not change. */
async function repriceRow(row: StoredRow, book: PriceBook): Promise<StoredRow | SkipReason> {
  if (row.priced === undefined) return "earlier_version";
  const usage = withAllCounts(row.usage);
  // requests that cost nothing, sums of several prices, and costs that the provider reported
  const isSum = row.operation === collectBatch || (row.priced && row.price_source === undefined);
  const isReported = row.price_source === "provider";
  if (isSum || isReported || usage === null) return "not_priced";
  if (row.discarded_cost !== undefined) return "discarded";
  const list = await book.listOf({ ...row, priced: row.priced });
  if (!list) return "integration_gone";
  const isWithoutPrice = !row.priced || row.price_source === "fallback";
  const fallback = isWithoutPrice ? await book.fallbackOf(row.organisation_id) : undefined;
  const found = costOfUsage(
    { model: row.model, answeredModel: row.answered_model ?? null, usage },
    fallback ? withFallback(list, fallback) : list,
  );
  if (!found) return "without_price";
  const { source, isOfAnswer } = found;
  const cost = toCents(found.nanos);
  if (cost === row.cost) return row;
  const { answered_model: answered, ...others } = row;
  return {
    ...others,
    ...(answered !== undefined && (isOfAnswer || source === "fallback") && { answered_model: answered }),
    cost,
    priced: true,
    price_source: source,
    former_cost: row.cost,
  };
}

/** What the rows of a batch become. */
interface RepricedBatch {
  details: string;
  changes: CounterCorrection[];
  tally: Tally;
}

/** What rows change in each counter whose window lasts. */
class CounterChanges {
  readonly #changes: CounterCorrection[] = [];
  readonly #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  /** @param endedAt When the request of the row ended, in Unix milliseconds. */
  add(counters: readonly LimitCounter[], used: number, endedAt: number): void {
    for (const counter of counters) {
      const { windowEnd } = counter;
      if (used !== 0 && (windowEnd === null || windowEnd > this.#now))
        this.#changes.push({ ...counter, used, endedAt });
    }
  }

  list(): CounterCorrection[] {
    return this.#changes;
  }
}

/** Rows of a stored batch. Rows that do not parse were not written by this program and are left out. */
function readRows(details: string): StoredRow[] {
  const value: unknown = parseJson(details);
  // a list is what this program wrote
  return Array.isArray(value) ? (value as StoredRow[]) : [];
}

/** When the request of a row ended, in Unix milliseconds. */
const endOf = ({ id, duration_ms }: StoredRow): number => timeOfId(id) + duration_ms;

async function repriceBatch(
  { organisationId, details, charged }: PricedBatch,
  { from, to, model }: RepriceOptions,
  { book, now }: { book: PriceBook; now: number },
): Promise<RepricedBatch> {
  const counters = readCharged(charged);
  const changes = new CounterChanges(now);
  const tally = createTally();
  const [first, last] = [firstIdOf(from), firstIdOf(to)];
  const rows: StoredRow[] = [];
  for (const [index, row] of readRows(details).entries()) {
    const isMeant = row.id >= first && row.id < last && (model === undefined || row.model === model);
    const priced = isMeant ? await repriceRow(row, book) : row;
    rows.push(typeof priced === "string" ? row : priced);
    if (!isMeant) continue;
    tally.rows++;
    if (typeof priced === "string") tally.skipped[priced]++;
    else if (priced === row) tally.unchanged++;
    else {
      const [before, after] = [toNanos(row.cost ?? 0), toNanos(priced.cost ?? 0)];
      tally.repriced++;
      tally.former += BigInt(before);
      tally.cost += BigInt(after);
      changes.add(counters[index] ?? [], after - before, endOf(row));
    }
  }
  const list = changes.list();
  for (const { limitId, bucket, windowStart } of list) {
    tally.counters.add(JSON.stringify([organisationId, limitId, bucket, windowStart]));
  }
  return { details: JSON.stringify(rows), changes: list, tally };
}

/** Most readings of one batch: another process may change it in between. */
const maxReadings = 5;

/** Re-prices one batch. Undefined if it is gone by now. */
async function applyToBatch(
  read: PricedBatch,
  options: RepriceOptions,
  { store, now, book }: RepriceParts & { book: PriceBook },
): Promise<Tally | undefined> {
  let batch: PricedBatch | undefined = read;
  for (let readings = 0; batch && readings < maxReadings; readings++) {
    const time = now();
    const { details, changes, tally } = await repriceBatch(batch, options, { book, now: time });
    if (tally.repriced === 0 || options.dryRun) return tally;
    if (await store.replace(batch, { details, changes, now: time })) return tally;
    batch = await store.find(read.seq);
  }
  if (batch) throw new Error("Cannot price log rows again: another process changes the same rows");
  return undefined;
}

/** Nano-dollars of any size as US cents. */
function sumToCents(nanos: bigint): number {
  return toCents(Number(nanos));
}

/**
 * Computes the cost of stored requests again, at today's prices. A row keeps its former cost in `former_cost`, and the
 * counters of limits on money whose window lasts change by the difference. Each batch of rows and its counters change in
 * one transaction: a process that is killed and started again changes nothing twice.
 *
 * @returns A summary as JSON value. Amounts are US cents of the rows that were priced again.
 */
export async function repriceLogs(options: RepriceOptions, parts: RepriceParts) {
  const book = new PriceBook(parts.stores);
  const sum = createTally();
  for (let seq = 0; ; ) {
    const batches = await parts.store.read(seq, options);
    for (const batch of batches) {
      const tally = await applyToBatch(batch, options, { ...parts, book });
      if (tally) addTally(sum, tally);
      ({ seq } = batch);
    }
    if (batches.length === 0) break;
  }
  return {
    from: new Date(options.from).toISOString(),
    to: new Date(options.to).toISOString(),
    model: options.model ?? null,
    dry_run: options.dryRun,
    rows: sum.rows,
    repriced: sum.repriced,
    unchanged: sum.unchanged,
    skipped: sum.skipped,
    former_cost: sumToCents(sum.former),
    cost: sumToCents(sum.cost),
    difference: sumToCents(sum.cost - sum.former),
    cost_currency: "USD",
    counters: sum.counters.size,
  };
}
