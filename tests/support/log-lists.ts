import type { Database } from "../../src/db/client.ts";
import { createIndexStores } from "../../src/db/stores/log-index.ts";
import type { LogScope } from "../../src/db/stores/log-scope.ts";
import { createLogSealingStore, type LogSealingStore } from "../../src/db/stores/log-sealing.ts";
import { createLogSegmentStore } from "../../src/db/stores/log-segments.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { findRows, type RowQuery } from "../../src/logs/index/find-rows.ts";
import { createIndexedLog } from "../../src/logs/index/indexed-log.ts";
import { LogIndex } from "../../src/logs/index/log-index.ts";
import { LogSealer } from "../../src/logs/index/sealer.ts";
import type { RetentionTimes } from "../../src/schemas/log-segments.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";

/** What a list asks for; by default all rows. */
export interface ListQuery extends Partial<RowQuery> {
  readonly limit: number;
}

/** Reads lists as `GET /v1/logs` does, from a new index. */
export function createLogReader(database: Database, cacheBytes = 2 ** 20) {
  const segments = createLogSegmentStore(database);
  const index = new LogIndex(segments, cacheBytes);
  const find = (scope: LogScope, { lower = "", upper = "~", conditions = [], tests = [], limit }: ListQuery) =>
    findRows(index, scope, { lower, upper, conditions, tests, limit });
  return {
    index,
    find,
    /** The newest rows, newest first. */
    async list(scope: LogScope, query: ListQuery): Promise<LogDetails[]> {
      const found = await find(scope, query);
      const rows = await segments.readRows(scope, found);
      return found.flatMap(({ id }) => rows.get(id) ?? []);
    },
    /** The ids of all rows, page by page. */
    async listAll(scope: LogScope, query: Omit<ListQuery, "upper">): Promise<string[]> {
      const ids: string[] = [];
      for (let upper = "~"; ; ) {
        const page = await find(scope, { ...query, upper });
        const rows = await segments.readRows(scope, page);
        ids.push(...page.flatMap(({ id }) => (rows.has(id) ? [id] : [])));
        const last = page.at(-1)?.id ?? "";
        if (page.length < query.limit) return ids;
        if (last >= upper) throw new Error("The list does not go further back");
        upper = last;
      }
    },
  };
}

/** Removes what is older than these times (Unix milliseconds; by default nothing), all that there is. */
export async function purge(database: Database, times: Partial<RetentionTimes>, now = Date.now): Promise<void> {
  const log = createIndexedLog(createLogStore(database), createIndexStores(database), now);
  const { rows = 0, contents = rows, statistics = 0, organisations = [] } = times;
  while (await log.purge({ rows, contents, statistics, organisations }));
}

/** Makes one segment of all batches that have none. */
export async function sealAll(
  database: Database,
  store: LogSealingStore = createLogSealingStore(database),
): Promise<void> {
  await new LogSealer(store, Date.now).run(1);
}
