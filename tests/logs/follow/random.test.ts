import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readRowFilter } from "../../../src/admin/core/log-filter.ts";
import { type Database, openDatabase } from "../../../src/db/client.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { createFeedbackStore } from "../../../src/db/stores/feedback.ts";
import type { LogScope } from "../../../src/db/stores/log-scope.ts";
import { createLogTailStore } from "../../../src/db/stores/log-tail.ts";
import { createLogStore } from "../../../src/db/stores/logs.ts";
import { createIdFactory } from "../../../src/lib/ids.ts";
import { readCursor } from "../../../src/logs/follow/cursor.ts";
import { LogTail } from "../../../src/logs/follow/log-tail.ts";
import { type TailFilter, type TailPosition, wholeBatch } from "../../../src/logs/follow/page.ts";
import { packRecords } from "../../../src/logs/pack.ts";
import type { LogRecord } from "../../../src/logs/record.ts";
import { createRedactor, type RedactionSettings } from "../../../src/logs/redact.ts";
import { sealBatch } from "../../../src/logs/seal.ts";
import { masked } from "../../../src/logs/secret-members.ts";
import type { LogDetails } from "../../../src/schemas/logs.ts";
import { nodeMac } from "../../../src/serve/environment.ts";
import { createLogThread } from "../../../src/serve/log-thread.ts";
import { eventually } from "../../support/eventually.ts";
import { createRandom, createTemporaryFolder } from "../../support/gateway.ts";
import { type ChosenQuery, type Rating, randomQuery, randomRating, randomRow } from "../../support/log-queries.ts";
import { readTail, type TailReading } from "../../support/log-tail.ts";
import { rounds, sampleSeed } from "../../support/sample.ts";

const tenants = [
  ["o1", "w1"],
  ["o1", "w2"],
  ["o2", "w3"],
  ["o1", null],
] as const;
const scopes: readonly LogScope[] = [
  { organisationId: "o1", workspaceId: "w1" },
  { organisationId: "o1", workspaceId: "w2" },
  { organisationId: "o1", workspaceId: null },
  { organisationId: "o2", workspaceId: "w3" },
];
const redaction: RedactionSettings = {
  key: new Uint8Array(32),
  keyPrefix: "gk",
  sensitiveNames: [],
  secretMembers: [],
  aliasPrefixes: [],
};
const mac = nodeMac(new Uint8Array(32));
const credential = "team-credential-0123456789";
/** Has the form of a credential of a provider. */
const secret = `sk-${"a1B2c3D4".repeat(4)}`;

/** One who follows: what it wants, from where on, and what it has read. */
interface Watcher {
  readonly scope: LogScope;
  readonly query: ChosenQuery;
  readonly start: TailPosition;
  readonly reading: TailReading;
  readonly seen: string[];
  /** Resolves at the end of its stream. */
  readonly ended: Promise<void>;
  hasLeft: boolean;
}

/** A row with its position. */
interface PlacedRow extends TailPosition {
  readonly details: LogDetails;
}

const isBehind = (row: TailPosition, { seq, index }: TailPosition) =>
  row.seq > seq || (row.seq === seq && row.index > index);

/** Random rows, written by two processes, and those who follow them. */
class World {
  readonly random: () => number;
  readonly database: Database;
  readonly thread: ReturnType<typeof createLogThread>;
  readonly tail: LogTail;
  readonly ratings: Rating[] = [];
  readonly watchers: Watcher[] = [];
  readonly createId = createIdFactory(Date.now);
  /** Number of the newest batch when somebody began to follow. */
  #newest = 0;

  constructor(seed: number, { database, url }: { database: Database; url: string }, lookEveryMs: number) {
    this.random = createRandom(seed);
    this.database = database;
    this.thread = createLogThread({ url }, redaction, { metrics: null, otlp: null });
    const store = createLogTailStore(database);
    this.tail = new LogTail({
      readTail: this.thread.readTail,
      newest: async () => (this.#newest = await store.newest()),
      mac,
      lookEveryMs,
      warn: (message, error) => assert.fail(`${message}: ${error}`),
    });
  }

  readonly below = (count: number): number => Math.floor(this.random() * count);

  readonly pick = <Item>(items: readonly Item[]): Item => items[this.below(items.length)] as Item; // none of the lists is empty

  async rate(): Promise<void> {
    const rating = randomRating(this, scopes);
    const { organisationId, workspaceId } = rating;
    this.ratings.push(rating);
    const row = { ...rating, id: crypto.randomUUID(), apiKeyId: "k", metadata: {}, createdAt: 1, lastUpdatedAt: 1 };
    await createFeedbackStore(this.database).add({ organisationId, workspaceId }, [row]);
  }

  records(): LogRecord[] {
    return Array.from({ length: 1 + this.below(12) }, () => {
      const [organisation_id, workspace_id] = this.pick(tenants);
      const details = randomRow(this, { id: this.createId(), organisation_id, workspace_id });
      const kind = this.below(40);
      // both are masked when they are stored: one by its form, one because it was a credential of the request
      if (kind < 2) details.metadata.team = kind === 0 ? secret : credential;
      return { details, content: null, secrets: kind === 1 ? [credential] : [] };
    });
  }

  /** As the gateway writes what its queue holds. */
  async append(): Promise<void> {
    const records = this.records();
    const foreseen = this.tail.foresee(records);
    const isForeseen = await this.thread.append(records, foreseen);
    this.tail.wake(isForeseen ? foreseen : undefined);
  }

  /** As another process writes. */
  async appendElsewhere(): Promise<void> {
    const redactor = createRedactor({ ...redaction, mac });
    const packed = await packRecords(this.records(), redactor);
    await createLogStore(this.database).append(packed.map((batch) => sealBatch(batch, redactor)));
  }

  query(): ChosenQuery {
    const kind = this.below(8);
    if (kind === 0) return { text: "", isMet: () => true };
    if (kind > 1) return randomQuery(this, this.ratings);
    const value = this.pick([masked, masked, secret, credential]);
    return { text: `metadata.team=${encodeURIComponent(value)}`, isMet: ({ metadata }) => metadata.team === value };
  }

  /** Somebody follows: from now on, or from where another one was. */
  async follow(): Promise<void> {
    const known = this.below(4) === 0 ? this.watchers.at(-1) : undefined;
    const { scope, query } = known ?? { scope: this.pick(scopes), query: this.query() };
    const chosen = readRowFilter(new URLSearchParams(query.text));
    const filter: TailFilter = { ...chosen, ...scope, content: true, denied: [] };
    const after = known && (await readCursor(known.reading.lastId(), scope, mac));
    const reading = readTail(new Response(await this.tail.follow({ filter, after, check: async () => filter })));
    const start = after ?? { seq: this.#newest, index: wholeBatch };
    const seen: string[] = [];
    const read = async () => {
      for (let event = await reading.next(); event; event = await reading.next()) seen.push(JSON.parse(event.data).id);
    };
    this.watchers.push({ scope, query, start, reading, seen, ended: read(), hasLeft: false });
  }

  async leave(): Promise<void> {
    const leaving = this.pick(this.watchers);
    leaving.hasLeft = true;
    await leaving.reading.close();
  }

  /** Ids of the rows that somebody must have got, by all rows that are stored. */
  expected({ scope: { organisationId, workspaceId }, query, start }: Watcher, rows: readonly PlacedRow[]): string[] {
    const wanted = rows.filter((row) => {
      const { organisation_id, workspace_id } = row.details;
      const isOwn = organisation_id === organisationId && (workspaceId === null || workspace_id === workspaceId);
      return isOwn && isBehind(row, start) && query.isMet(row.details);
    });
    return wanted.map(({ details }) => details.id);
  }
}

async function readStored(database: Database): Promise<PlacedRow[]> {
  const { rows } = await database.read("SELECT seq, details FROM log_batches ORDER BY seq");
  return rows.flatMap(({ seq, details }) => {
    const list: LogDetails[] = JSON.parse(String(details));
    return list.map((row, index) => ({ seq: Number(seq), index, details: row }));
  });
}

/** One random step. */
async function step(world: World, hasOtherProcess: boolean): Promise<void> {
  const action = world.below(20);
  // time for a page to be read
  if (world.below(6) === 0) await new Promise((resolve) => setTimeout(resolve, 40));
  if (action < 4) await world.follow();
  else if (action === 4) await world.leave();
  else if (action < 8 && hasOtherProcess) await world.appendElsewhere();
  // a process has one write at a time; somebody may come or leave meanwhile
  else await Promise.all([world.append(), action < 10 ? world.follow() : undefined]);
}

async function compare(world: World): Promise<number> {
  const rows = await readStored(world.database);
  const watched = world.watchers.map((watcher) => ({ ...watcher, wanted: world.expected(watcher, rows) }));
  const isDone = async () => watched.every(({ seen, wanted, hasLeft }) => hasLeft || seen.length >= wanted.length);
  // what is missing is shown below
  await eventually("all rows at their followers", isDone, 5_000).catch(() => {});
  world.tail.close();
  for (const { seen, wanted, hasLeft, ended, query, scope } of watched) {
    await ended;
    const all = hasLeft ? wanted.slice(0, seen.length) : wanted;
    assert.deepEqual(seen, all, `${JSON.stringify(scope)} ${query.text}`);
  }
  return watched.reduce((sum, { seen }) => sum + seen.length, 0);
}

async function run(seed: number, lookEveryMs: number, hasOtherProcess: boolean): Promise<void> {
  const folder = createTemporaryFolder();
  const url = `file:${join(folder.path, "gateway.db")}`;
  const database = await openDatabase({ url });
  await migrate(database);
  const world = new World(seed, { database, url }, lookEveryMs);
  for (let rating = 0; rating < 10; rating++) await world.rate();
  await world.follow();
  for (let count = 0; count < 60; count++) await step(world, hasOtherProcess);
  assert.ok((await compare(world)) > 0, "nobody saw a row");
  await world.thread.close();
  await database.close();
  folder.remove();
}

for (let round = 0; round < rounds(6); round++) {
  const seed = sampleSeed * 1_000 + round;
  test(`followers with random filters get exactly the rows that a slow filter finds, of two processes (seed ${seed})`, () =>
    run(seed, 50, true));
  test(`rows of this process arrive without looking for those of others (seed ${seed})`, () =>
    run(seed, 3_600_000, false));
}
