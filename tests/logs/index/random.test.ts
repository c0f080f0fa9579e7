import assert from "node:assert/strict";
import { test } from "node:test";
import { readLogFilter } from "../../../src/admin/core/log-filter.ts";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createFeedbackStore } from "../../../src/db/stores/feedback.ts";
import { createIndexStores } from "../../../src/db/stores/log-index.ts";
import type { LogScope } from "../../../src/db/stores/log-scope.ts";
import { createLogSealingStore } from "../../../src/db/stores/log-sealing.ts";
import { createLogTailStore } from "../../../src/db/stores/log-tail.ts";
import { createLogStore } from "../../../src/db/stores/logs.ts";
import { createIdFactory, firstIdOf } from "../../../src/lib/ids.ts";
import { readTailPage, type TailFilter } from "../../../src/logs/follow/page.ts";
import type { Condition } from "../../../src/logs/index/conditions.ts";
import { digestOfId, metadataField } from "../../../src/logs/index/fields.ts";
import { createIndexedLog } from "../../../src/logs/index/indexed-log.ts";
import { meetsTerms, testsOf } from "../../../src/logs/index/row-test.ts";
import { scanRows } from "../../../src/logs/index/scan-rows.ts";
import { LogSealer } from "../../../src/logs/index/sealer.ts";
import { FeedbackReader, feedbackTest } from "../../../src/logs/read/trace-feedback.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { createRandom } from "../../support/gateway.ts";
import { createLogReader } from "../../support/log-lists.ts";
import { type Rating, randomQuery, randomRating, randomRow } from "../../support/log-queries.ts";
import { rounds, sampleSeed } from "../../support/sample.ts";

/** A row as it is stored, with the number of its batch. */
interface StoredRow {
  seq: number;
  details: LogDetails;
}

const dayMs = 86_400_000;
const tenants = [
  ["o1", "w1"],
  ["o1", "w2"],
  ["o1", null],
  ["o2", "w3"],
] as const;
const scopes: readonly LogScope[] = [
  { organisationId: "o1", workspaceId: null },
  { organisationId: "o1", workspaceId: "w1" },
  { organisationId: "o1", workspaceId: "w2" },
  { organisationId: "o2", workspaceId: null },
  { organisationId: "o2", workspaceId: "w1" },
];

/** A condition, and the same on a row. */
interface Filter {
  condition: Condition;
  isMet(details: LogDetails): boolean;
}

/** Random rows and queries, the same for a seed. */
class World {
  readonly random: () => number;
  readonly ratings: Rating[] = [];
  now = Date.UTC(2026, 0, 1);
  readonly createId: () => string;
  readonly ids: string[] = [];

  constructor(seed: number) {
    this.random = createRandom(seed);
    this.createId = createIdFactory(() => this.now);
  }

  readonly below = (count: number): number => Math.floor(this.random() * count);

  readonly pick = <Item>(items: readonly Item[]): Item => items[this.below(items.length)] as Item; // none of the lists is empty

  /** Mostly a new id; sometimes one of long ago, as of a long stream, or one that exists. */
  id(): string {
    const kind = this.below(20);
    const known = this.ids.length > 0 ? this.pick(this.ids) : undefined;
    if (kind === 0 && known !== undefined) return known;
    this.now += this.below(60_000);
    const late = kind < 4 ? createIdFactory(() => this.now - this.below(20) * 600_000)() : this.createId();
    this.ids.push(late);
    return late;
  }

  details(organisationId: string, workspaceId: string | null): LogDetails {
    const row = randomRow(this, { id: this.id(), organisation_id: organisationId, workspace_id: workspaceId });
    // a few rows fill what is read together
    if (this.below(20) === 0) row.upstream_url = `https://host.test/${"x".repeat(40_000)}`;
    return row;
  }

  filter(): Filter {
    const text = (field: Condition["field"], value: string, of: (row: LogDetails) => unknown): Filter => ({
      condition: { field, oneOf: new Set([value]) } as Condition, // each of the fields has strings
      isMet: (row) => of(row) === value,
    });
    const [status, trace, cost, duration] = [this.pick([200, 429, 418]), `t${this.below(31)}`, 12.5, this.below(1_000)];
    const key = this.pick(["team", "Ünit", "a.b", "_user", `key-${this.below(200)}`, "absent"]);
    const value = this.pick([`${key} ${this.below(3)}`, "u1", "value 1"]);
    return this.pick<() => Filter>([
      () => text("model", this.pick(["m1", 'm"3', "m\0", "m"]), ({ model }) => model),
      () => text("provider", "echo", ({ provider }) => provider),
      () => text("user", "user 1", (row) => row.user_id),
      () => text("error", this.pick(["c", "x"]), ({ error }) => error && (error.code ?? error.type)),
      () => text(metadataField(key), value, ({ metadata }) => metadata[key]),
      () => ({
        condition: { field: "apiKey", oneOf: new Set(["k1", "k2", "k9"]) },
        isMet: (row) => ["k1", "k2", "k9"].includes(row.api_key_id),
      }),
      () => ({
        condition: { field: "model", isGiven: true },
        isMet: ({ model }) => model !== null,
      }),
      () => ({
        condition: { field: "trace", oneOf: new Set([digestOfId(trace)]) },
        isMet: (row) => row.trace_id === trace,
      }),
      () => ({
        condition: { field: "status", oneOf: new Set([status, 500]) },
        isMet: (row) => row.status === status || row.status === 500,
      }),
      () => ({ condition: { field: "stream", oneOf: new Set([1]) }, isMet: ({ stream }) => stream }),
      () => ({
        condition: { field: "cost", least: cost, most: 1e13 },
        isMet: (row) => row.cost !== null && row.cost >= cost,
      }),
      () => ({
        condition: { field: "duration", least: duration / 10, most: duration },
        isMet: (row) => row.duration_ms >= duration / 10 && row.duration_ms <= duration,
      }),
    ])();
  }
}

async function appendBatch(world: World, database: Database): Promise<void> {
  const [organisationId, workspaceId] = world.pick(tenants);
  const rows = Array.from({ length: 1 + world.below(12) }, () => world.details(organisationId, workspaceId));
  const ids = rows.map(({ id }) => id).sort();
  const [firstId = "", lastId = ""] = [ids[0], ids.at(-1)];
  const batch = { organisationId, workspaceId, firstId, lastId, counted: "", charged: "", content: "[]\n[]\n" };
  await createLogStore(database).append([{ ...batch, details: JSON.stringify(rows) }]);
}

/** A batch that another program damaged. */
async function damageBatch(world: World, database: Database): Promise<void> {
  await database.write([
    {
      sql: "UPDATE log_batches SET details = ? WHERE seq = (SELECT max(seq) FROM log_batches)",
      args: [world.pick(["", "[", "{}", "[1,null,{}]", '[{"id":7}]', '[{"id":"short"}]'])],
    },
  ]);
}

/** Changes the cost of the rows of a batch. */
async function changeBatch(world: World, database: Database): Promise<void> {
  const rows = await readStored(database);
  if (rows.length === 0) return;
  const { seq } = world.pick(rows);
  const changed = rows.filter((row) => row.seq === seq).map(({ details }) => ({ ...details, cost: 12.5 }));
  await database.write([
    { sql: "UPDATE log_batches SET details = ? WHERE seq = ?", args: [JSON.stringify(changed), seq] },
  ]);
}

/** All rows of the log, read without its index. */
async function readStored(database: Database): Promise<StoredRow[]> {
  const { rows } = await database.read("SELECT seq, details FROM log_batches ORDER BY seq");
  return rows.flatMap(({ seq, details }) => {
    try {
      const list: unknown = JSON.parse(String(details));
      const all = Array.isArray(list) ? (list as (LogDetails | null)[]) : [];
      return all.flatMap((row) => (row?.id?.length === 26 ? { seq: Number(seq), details: row } : []));
    } catch {
      return [];
    }
  });
}

function isOf({ organisationId, workspaceId }: LogScope, { details }: StoredRow): boolean {
  return details.organisation_id === organisationId && (workspaceId === null || details.workspace_id === workspaceId);
}

/** Ids of the rows that a query wants, newest first. */
function slowList(rows: readonly StoredRow[], scope: LogScope, filters: readonly Filter[]): string[] {
  const wanted = rows.filter((row) => isOf(scope, row) && filters.every(({ isMet }) => isMet(row.details)));
  return [...new Set(wanted.map(({ details }) => details.id))].sort().reverse();
}

/** Rows that are past their retention. */
class RemovedRows {
  /** Rows of batches that are gone, as they were last. */
  readonly rows: StoredRow[] = [];
  /** Smallest id that is shown, by organisation. */
  readonly #first = new Map<string, string>();

  /** Takes some steps of a removal, not always all. */
  async purge(world: World, database: Database, log: ReturnType<typeof createIndexedLog>): Promise<void> {
    const before = await readStored(database);
    const [rows, own] = [world.now - world.below(200) * 60_000, world.now - world.below(100) * 60_000];
    const organisations = world.below(2) === 0 ? [] : [{ organisationId: "o2", time: own }];
    const times = { rows, contents: rows, statistics: 0, organisations };
    const steps = world.pick([1, 2, 100]);
    for (let step = 0; step < steps && (await log.purge(times)); step++);
    const left = new Set((await readStored(database)).map(({ seq }) => seq));
    this.rows.push(...before.filter(({ seq }) => !left.has(seq)));
    this.#hide("o1", rows);
    this.#hide("o2", Math.max(rows, ...organisations.map(({ time }) => time)));
  }

  #hide(organisationId: string, time: number): void {
    const first = this.#first.get(organisationId) ?? "";
    this.#first.set(organisationId, [first, firstIdOf(time)].sort()[1] ?? "");
  }

  isShown({ details }: StoredRow): boolean {
    return details.id >= (this.#first.get(details.organisation_id) ?? "");
  }
}

/** Compares a random list of each reader with the slow one. */
async function compareLists(
  world: World,
  { stored, removed }: { stored: readonly StoredRow[]; removed: RemovedRows },
  readers: readonly ReturnType<typeof createLogReader>[],
): Promise<void> {
  const scope = world.pick(scopes);
  const filters = Array.from({ length: world.pick([0, 0, 1, 1, 2]) }, () => world.filter());
  const conditions = filters.map(({ condition }) => condition);
  const lower = world.below(3) > 0 ? "" : firstIdOf(world.now - world.below(100) * 60_000);
  const counted = [...stored, ...removed.rows].filter(({ details }) => details.id >= lower);
  const rows = counted.filter((row) => removed.isShown(row));
  const query = { lower, conditions, limit: world.pick([2, 7, 20, 60]) };
  for (const reader of readers) {
    assert.deepEqual(await reader.listAll(scope, query), slowList(rows, scope, filters));
    const scanned: number[] = [];
    const wanted = counted.filter((row) => isOf(scope, row) && filters.every(({ isMet }) => isMet(row.details)));
    const scan = { ...query, upper: "~", fields: ["cost", "duration"] } as const;
    await scanRows(reader.index, scope, scan, ({ length, numbers }) => {
      for (let place = 0; place < length; place++) {
        scanned.push((numbers("duration")[place] ?? 0) + (numbers("cost")[place] || 0));
      }
    });
    const sums = wanted.map(({ details: { duration_ms, cost } }) => duration_ms + (cost ?? 0));
    assert.deepEqual(scanned.sort(), sums.sort());
  }
}

/** Stores feedback of a trace. */
async function rate(world: World, database: Database): Promise<void> {
  const rating = randomRating(world, scopes);
  world.ratings.push(rating);
  const { organisationId, workspaceId } = rating;
  const row = { ...rating, id: crypto.randomUUID(), apiKeyId: "k", metadata: {}, createdAt: 1, lastUpdatedAt: 1 };
  await createFeedbackStore(database).add({ organisationId, workspaceId }, [row]);
}

/** Rows that the tail sends by a filter, of all that are stored. */
async function readFollowed(database: Database, filter: TailFilter): Promise<string[]> {
  const store = createLogTailStore(database);
  const ids: string[] = [];
  for (let [after, hasMore] = [{ seq: 0, index: 0xffff }, true]; hasMore; ) {
    const page = await readTailPage({ store }, { after, filters: [filter] });
    ids.push(...page.rows.map(({ text }) => JSON.parse(text).id));
    [after, hasMore] = [page.end, page.hasMore];
  }
  return [...new Set(ids)].sort().reverse();
}

/** Compares a random query of a list, and of the tail, with a scan over all rows. */
async function compareQueries(
  world: World,
  { stored, removed, database }: { stored: readonly StoredRow[]; removed: RemovedRows; database: Database },
  readers: readonly ReturnType<typeof createLogReader>[],
): Promise<number> {
  const scope = world.pick(scopes);
  const { text, isMet } = randomQuery(world, world.ratings);
  const { terms, conditions, lower, upper } = readLogFilter(new URLSearchParams(text), undefined);
  const rated = terms.rating
    ? [
        feedbackTest(
          await new FeedbackReader(createFeedbackStore(database), 0).read(scope.organisationId),
          terms.rating,
        ),
      ]
    : [];
  const filters = [{ condition: conditions[0] as Condition, isMet }]; // only the second member is used
  const query = { lower, conditions, tests: [...testsOf(terms), ...rated], limit: world.pick([2, 7, 60]) };
  const wanted = slowList(
    stored.filter((row) => removed.isShown(row)),
    scope,
    filters,
  );
  for (const reader of readers) assert.deepEqual(await reader.listAll(scope, query), wanted, text);
  for (const { details } of stored) if (isMet(details)) assert.ok(meetsTerms(details, terms), text);
  // the tail does not hide what is past its retention: it is written long before
  const followed = await readFollowed(database, {
    ...scope,
    lower,
    upper,
    conditions,
    terms,
    content: true,
    denied: [],
  });
  assert.deepEqual(followed, slowList(stored, scope, filters), text);
  return wanted.length;
}

for (let round = 0; round < rounds(8); round++) {
  const seed = sampleSeed * 1_000 + round;
  test(`lists and scans through the index are those of a slow filter over all rows (seed ${seed})`, async () => {
    const world = new World(seed);
    const database = await openDatabase({ url: ":memory:" });
    await migrate(database);
    const sealing = createLogSealingStore(database);
    let clock = Date.UTC(2026, 5, 1);
    const sealer = new LogSealer(sealing, () => clock);
    const log = createIndexedLog(createLogStore(database), createIndexStores(database), () => clock);
    const removed = new RemovedRows();
    // one that keeps nothing in memory, and one that keeps all
    const readers = [createLogReader(database, 0), createLogReader(database, 2 ** 26)];
    let found = 0;
    let isEmpty = true;
    for (let step = 0; step < 50; step++) {
      const action = world.below(20);
      if (action < 11) await appendBatch(world, database);
      else if (action < 15) await sealer.run(1);
      else if (action === 15) await damageBatch(world, database);
      else if (action < 18) await changeBatch(world, database);
      else if (action === 18) await removed.purge(world, database, log);
      else clock += world.below(2) * dayMs;
      // an index follows changes of rows when a segment is made anew
      while (await sealer.run(Number.POSITIVE_INFINITY));
      const stored = await readStored(database);
      for (let list = 0; list < 2; list++) await compareLists(world, { stored, removed }, readers);
      if (step % 3 === 0) await rate(world, database);
      if (step % 4 === 0) found += await compareQueries(world, { stored, removed, database }, readers);
      isEmpty = !stored.some((row) => removed.isShown(row));
    }
    for (let query = 0; query < 500 && found === 0 && !isEmpty; query++) {
      found += await compareQueries(world, { stored: await readStored(database), removed, database }, readers);
    }
    assert.ok(found > 0 || isEmpty, "no query found a row");
    await database.close();
  });
}
